// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does a line cost that a FramedReader brings? One allocation is the line itself.

import SocketStreams

/// `@unchecked Sendable`: used on the thread that runs the base only.
final class FramedLines: Benchmark, @unchecked Sendable {
  static let name = "framed-lines"
  static let operation = "a line of some 40 B from a FramedReader, 4 KiB at a time, each asked for by the one before"
  private let base: EventBase
  private let pair = StreamPair.bound()
  private var text: [UInt8] = []
  private var reader: FramedReader?
  private var wanted = 0
  private var lineCount = 0

  init() throws {
    base = try EventBase()
    // Lines of 33 to 47 bytes.
    while text.count < 4_050 {
      text += [UInt8](repeating: 0x61, count: 32 + text.count % 15) + [0x0A]
    }
    reader = FramedReader(pair.input, on: base) { [unowned self] _, event in
      if case .frame = event { took() }
    }
    pair.open()
  }

  deinit { pair.close() }

  func run(_ count: Int) throws {
    (wanted, lineCount) = (count, 0)
    reader?.read(.line())
    send()
    base.run()
    // What follows the last line is not of the next run.
    _ = reader?.takeBuffered()
  }

  private func took() {
    lineCount += 1
    guard lineCount < wanted else { return base.stop() }
    if reader?.bufferedByteCount == 0 { send() }
    reader?.read(.line())
  }

  private func send() { _ = try? pair.output.write(text) }
}
