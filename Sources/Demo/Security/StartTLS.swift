// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// STARTTLS: carries out on a pair what PlainDialogue.swift decides, secures it, and then lets its clients hear. An actor on
// the network's loop.

import SocketStreams

/// One connection that begins in plain.
actor StartTLS {
  typealias Client = @Sendable (StreamEvent) -> Void

  /// What errors name as the operation.
  private static let operation = Phase.startTLS.rawValue
  private static let pieceSize = 4_096

  private nonisolated let base: EventBase
  private let pair: StreamPair
  private let security: Security
  private let input: Client
  private let output: Client

  private var dialogue: PlainDialogue
  private var unsent: [UInt8] = []
  /// What is going on until the clients hear.
  private(set) var phase = Phase.connect
  private var isOver = false
  /// Why the connection is not secured.
  private(set) var failure: StreamError?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - input, output: The clients. They hear every event of the streams, but for those before the pair is secured; or
  ///     an error, once, of the input.
  init(
    _ pair: StreamPair, _ dialogue: PlainDialogue, _ security: Security, on base: EventBase,
    input: @escaping Client, output: @escaping Client
  ) {
    self.pair = pair
    self.dialogue = dialogue
    self.security = security
    self.base = base
    self.input = input
    self.output = output
  }

  /// What was said in plain, a line an element.
  var transcript: [String] { dialogue.transcript }

  /// Opens the pair.
  func begin() {
    // That it was opened waits for the clients to come.
    pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { [self] _, event in
      assumeIsolated { $0.inputEvent(event) }
    }
    pair.output.setClient([.canAcceptBytes, .errorOccurred]) { [self] _, event in
      assumeIsolated { $0.outputEvent(event) }
    }
    pair.schedule(on: base)
    pair.open()
  }

  /// The first event but an error says that the pair is open.
  private func connected() {
    guard phase == .connect else { return }
    phase = .startTLS
    take(dialogue.start())
  }

  private func inputEvent(_ event: StreamEvent) {
    guard !isOver else { return }
    switch event {
    case .hasBytesAvailable:
      connected()
      read()
    case .endEncountered:
      connected()
      take(dialogue.ended())
    case .errorOccurred: stop(pair.input.error)
    case .openCompleted, .canAcceptBytes: break
    }
  }

  private func outputEvent(_ event: StreamEvent) {
    guard !isOver else { return }
    switch event {
    case .canAcceptBytes:
      connected()
      write()
    case .errorOccurred: stop(pair.output.error)
    case .openCompleted, .hasBytesAvailable, .endEncountered: break
    }
  }

  private func read() {
    do {
      var piece = [UInt8](repeating: 0, count: Self.pieceSize)
      var memory = piece.mutableSpan
      var bytes = unsafe memory.mutableBytes
      guard let count = try pair.input.read(into: &bytes), count > 0 else { return }
      take(dialogue.received(Array(piece[..<count])))
    } catch {
      stop(error)
    }
  }

  private func write() {
    do {
      while !unsent.isEmpty, let count = try pair.output.write(unsent) { unsent.removeFirst(count) }
    } catch {
      stop(error)
    }
  }

  private func take(_ step: PlainDialogue.Step) {
    guard !isOver else { return }
    switch step {
    case .send(let bytes):
      unsent += bytes
      if pair.output.canAcceptBytes { write() }
    case .read: break
    case .secure: secure()
    case .fail(let reason): stop(.tls(.protocolError, Self.operation, detail: reason))
    }
  }

  private func secure() {
    do {
      try security.secure(pair)
    } catch {
      return stop(error)
    }
    isOver = true
    let (input, output) = (input, output)
    pair.input.setClient(.all) { _, event in input(event) }
    pair.output.setClient(.all) { _, event in output(event) }
  }

  private func stop(_ error: StreamError?) {
    guard !isOver else { return }
    isOver = true
    failure = error ?? .misuse(.notOpen, Self.operation)
    input(.errorOccurred)
  }
}
