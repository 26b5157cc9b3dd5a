// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the main thread does while a command runs: it prints. An actor on the main thread's loop, so that the compiler
// keeps the network's thread away from the console.

import SocketStreams

/// Prints what the network's thread tells.
actor Printer {
  /// Where received bytes go.
  enum Sink {
    /// They are not shown.
    case nowhere
    /// Standard output, as text after a prefix.
    case text(UTF8Decoder, prefix: String)
    case file(OutputFile)
  }

  /// The main thread's loop.
  nonisolated let base: EventBase
  private let console: Console
  private var sink: Sink
  private var progress: Progress
  private var meter = RateMeter(start: .zero)
  private var endsWithNewline = true
  private var hasText = false
  private let started = ContinuousClock.now
  /// Why printing stopped.
  private(set) var outputFailure: OutputFailure?
  /// The same as a failure of the command; `nil` also if only the reader has gone.
  var failure: Failure? {
    if case .failed(let code) = outputFailure { .file(code, sinkName, during: .write) } else { nil }
  }
  /// Called once when printing stops: nobody needs more bytes.
  private var outputFailed: (@Sendable () -> Void)?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(_ base: EventBase, console: sending Console, sink: sending Sink, progress: Progress) {
    self.base = base
    self.console = console
    if case .file(let file) = sink { sinkName = file.name } else { sinkName = "standard output" }
    self.sink = sink
    self.progress = progress
  }

  /// Has the main thread do `body` soon, in order.
  nonisolated func tell(_ body: @escaping @Sendable (isolated Printer) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  /// What messages call the place where received bytes go.
  nonisolated let sinkName: String

  /// Has `body` called when printing stops; `nil` lets go of what an earlier one holds.
  func whenOutputFails(_ body: (@Sendable () -> Void)?) { outputFailed = body }

  /// Time since the command began.
  var elapsed: Duration { ContinuousClock.now - started }

  // MARK: - Printing

  func note(_ text: String) { console.note(text) }

  func error(_ text: String) { console.error(text) }

  func eraseProgress() { console.eraseProgress() }

  /// Writes a text that is data.
  func write(_ text: String) { output { () throws(OutputFailure) in try console.write(text) } }

  /// Writes bytes that were received.
  func received(_ bytes: [UInt8]) {
    switch sink {
    case .nowhere: break
    case .file(let file): output { () throws(OutputFailure) in try file.write(bytes) }
    case .text(var decoder, let prefix):
      let text = Array(decoder.decode(bytes).utf8)
      sink = .text(decoder, prefix: prefix)
      show(text, prefix)
    }
  }

  /// Ends what received bytes go to: the last piece of a character, the last line, the file.
  func endOutput(succeeded: Bool) {
    switch sink {
    case .nowhere: break
    case .file(let file):
      output { () throws(OutputFailure) in try file.finish(keep: succeeded) }
    case .text(var decoder, let prefix):
      show(Array(decoder.finish().utf8), prefix)
      if !endsWithNewline { write("\n") }
    }
    sink = .nowhere
  }

  private func show(_ text: [UInt8], _ prefix: String) {
    guard let last = text.last else { return }
    let start = hasText ? [] : Array(prefix.utf8)
    hasText = true
    endsWithNewline = last == UInt8(ascii: "\n")
    output { () throws(OutputFailure) in try console.write(start + text) }
  }

  private func output(_ body: () throws(OutputFailure) -> Void) {
    guard outputFailure == nil else { return }
    do {
      try body()
    } catch {
      outputFailure = error
      outputFailed?()
    }
  }

  // MARK: - Progress

  /// Counts `count` bytes more as transferred.
  func advance(_ count: Int) { progress.done += count }

  /// Draws the progress line from now on, ten times a second, from the loop's timer and never from the data path.
  func drawProgress() {
    guard console.showsProgress else { return }
    // The loop ends with the command, and its timers with it.
    base.schedule(after: .milliseconds(100), repeating: true) { [weak self] in
      self?.assumeIsolated { $0.redraw() }
    }
  }

  private func redraw() {
    progress.elapsed = elapsed
    meter.add(progress.done, at: progress.elapsed)
    progress.rate = meter.rate
    console.show(progress)
  }
}
