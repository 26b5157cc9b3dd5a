// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program in the style of the MQTT libraries: Foundation's two streams, scheduled on a background thread's run loop, with
// the client as their delegate. If it wants TLS, it asks for it after it has opened them.

import Foundation
import SocketStreamsCoreFoundation

/// A connection to a broker.
///
/// `@unchecked Sendable`: after ``connect()`` everything that changes is touched by the client's thread only.
final class MQTTClient: NSObject, StreamDelegate, @unchecked Sendable {
  enum Message: Equatable, Sendable {
    /// Whether the streams took the TLS level, and what they say the level is.
    case secured([Bool], levels: [String?])
    case connected(code: UInt8)
    case subscribed(id: UInt16, quality: UInt8)
    case published(id: UInt16)
    case received(topic: String, payload: [UInt8])
    case pong
    /// The connection is over: without an error, or with one's domain and code.
    case disconnected(domain: String?, code: Int?)
  }

  let messages = Mailbox<Message>()
  /// Events that came on another thread than the client's.
  private(set) var strayEvents = 0

  private let host: String
  private let port: UInt16
  private let id: String
  private let level: StreamSocketSecurityLevel
  private var input: InputStream?
  private var output: OutputStream?
  private var thread: Thread?
  private var loop: CFRunLoop?
  private let loopIsThere = DispatchSemaphore(value: 0)
  private let threadHasEnded = DispatchSemaphore(value: 0)
  private var received: [UInt8] = []
  private var unsent: [UInt8] = []

  init(host: String, port: UInt16, id: String, level: StreamSocketSecurityLevel = .none) {
    self.host = host
    self.port = port
    self.id = id
    self.level = level
  }

  // MARK: - Calls, from any thread

  func connect() {
    let thread = Thread { [self] in
      self.thread = Thread.current
      loop = CFRunLoopGetCurrent()
      loopIsThere.signal()
      openStreams()
      while input != nil, RunLoop.current.run(mode: .default, before: .distantFuture) {}
      // It keeps its block, and so this object.
      self.thread = nil
      threadHasEnded.signal()
    }
    thread.name = id
    thread.start()
    loopIsThere.wait()
  }

  func subscribe(_ topic: String, quality: UInt8, id: UInt16) {
    send(.subscribe(topic, quality: quality, id: id))
  }
  func publish(_ topic: String, _ payload: [UInt8], id: UInt16? = nil) {
    send(.publish(topic, payload, id: id))
  }
  func ping() { send(.init(kind: .ping)) }
  func disconnect() { send(.init(kind: .disconnect)) }

  /// Waits until the thread has left its loop.
  func waitForEnd(seconds: Double = 10) -> Bool { threadHasEnded.wait(timeout: .now() + seconds) == .success }

  private func send(_ packet: MQTTPacket) {
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { self.write(packet) }
    CFRunLoopWakeUp(loop)
  }

  // MARK: - On the client's thread

  private func openStreams() {
    Stream.getStreamsToHost(withName: host, port: Int(port), inputStream: &input, outputStream: &output)
    guard let input, let output else { return }
    for stream in [input, output] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .current, forMode: .default)
      stream.open()
    }
    let taken = [input, output].map { (stream: Stream) in
      stream.setProperty(level as AnyObject, forKey: .socketSecurityLevelKey)
    }
    let levels = [input, output].map { (stream: Stream) in
      stream.property(forKey: .socketSecurityLevelKey) as? String
    }
    messages.put(.secured(taken, levels: levels))
    write(.connect(id: id))
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    if Thread.current !== thread { strayEvents += 1 }
    switch event {
    case .hasBytesAvailable: readBytes()
    case .hasSpaceAvailable: writeUnsent()
    case .errorOccurred: close(stream.streamError as NSError?)
    case .endEncountered: close(nil)
    default: break
    }
  }

  private func readBytes() {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while let input, input.hasBytesAvailable {
      let count = input.read(&piece, maxLength: piece.count)
      // The end and a failure have events of their own.
      guard count > 0 else { break }
      received += piece[..<count]
    }
    while let packet = MQTTPacket.take(from: &received) { handle(packet) }
  }

  private func handle(_ packet: MQTTPacket) {
    switch packet.kind {
    case .connectAnswer: messages.put(.connected(code: packet.body.last ?? .max))
    case .subscribeAnswer: messages.put(.subscribed(id: packet.id, quality: packet.body.last ?? .max))
    case .publishAnswer: messages.put(.published(id: packet.id))
    case .pong: messages.put(.pong)
    case .publish:
      guard let message = packet.message else { return }
      if let id = message.id { write(.publishAnswer(id: id)) }
      messages.put(.received(topic: message.topic, payload: message.payload))
    case .connect, .subscribe, .ping, .disconnect: break
    }
  }

  private func write(_ packet: MQTTPacket) {
    unsent += packet.encoded
    writeUnsent()
  }

  private func writeUnsent() {
    while let output, !unsent.isEmpty, output.hasSpaceAvailable {
      let count = output.write(unsent, maxLength: unsent.count)
      guard count > 0 else { return }
      unsent.removeFirst(count)
    }
  }

  private func close(_ error: NSError?) {
    guard let input, let output else { return }
    (self.input, self.output) = (nil, nil)
    for stream in [input, output] as [Stream] {
      stream.close()
      stream.remove(from: .current, forMode: .default)
      stream.delegate = nil
    }
    messages.put(.disconnected(domain: error?.domain, code: error?.code))
  }
}
