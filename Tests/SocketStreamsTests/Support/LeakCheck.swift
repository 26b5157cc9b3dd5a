// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What must be left at the end of a test: no descriptor, no registration, no object. Descriptors are known by what they
// refer to, not by number or count, since tests of one process run beside each other.
import Glibc
import SocketStreams
import Testing

/// Collects what a test uses, and expects at its end that all of it has gone.
///
/// ```swift
/// let leaks = LeakCheck()
/// leaks.watch(pair: pair)
/// …
/// leaks.expectNone()
/// ```
final class LeakCheck: @unchecked Sendable {
  // A test uses it from one thread.
  private var descriptors: [OpenDescriptor] = []
  private var clients: [CClient] = []
  private var objects: [(name: String, isAlive: () -> Bool)] = []

  /// The file or socket behind `fd` must be closed.
  func watch(descriptor fd: Int32) { if let open = OpenDescriptor(fd) { descriptors.append(open) } }

  /// The socket behind a pair must be closed; both streams must go.
  func watch(pair: StreamPair) {
    if let fd = pair.input.property(.socketNativeHandle) { watch(descriptor: fd) }
    watch(object: pair.input)
    watch(object: pair.output)
  }

  /// Retains and releases must be equal.
  func watch(client: CClient) { clients.append(client) }

  /// The object must have been freed.
  func watch(object: AnyObject) {
    objects.append((String(describing: type(of: object)), { [weak object] in object != nil }))
  }

  func expectNone(within seconds: Double = 5, _ location: SourceLocation = #_sourceLocation) {
    let isClean = eventually(within: seconds) { leftovers.isEmpty }
    #expect(isClean, "left after \(seconds) s: \(leftovers)", sourceLocation: location)
  }

  private var leftovers: [String] {
    descriptors.filter(\.isOpen).map(\.description)
      + clients.filter { !$0.isBalanced }.map { "client \($0.retains) retains, \($0.releases) releases" }
      + objects.filter { $0.isAlive() }.map(\.name)
  }
}

/// What a descriptor refers to, whatever its number: `socket:[1234]`.
struct OpenDescriptor: CustomStringConvertible {
  let description: String

  init?(_ fd: Int32) {
    guard let text = OpenDescriptor.target(fd) else { return nil }
    description = text
  }

  /// Whether any descriptor of the process refers to it.
  var isOpen: Bool {
    let all: Set<Int32> = openDescriptors()
    return all.contains { OpenDescriptor.target($0) == description }
  }

  private static func target(_ fd: Int32) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let count = readlink("/proc/self/fd/\(fd)", &text, text.count)
    return count > 0 ? String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }
}

/// A C client: a context whose calls are counted and logged, and a callback that records.
///
/// It is kept for the life of the process, so that a call too late is a failed expectation and not a crash.
final class CClient: @unchecked Sendable {
  // `calls` is guarded by `Shared`; the rest does not change after a client is set.
  enum Call: Equatable, Sendable {
    case retain
    /// With the pointer that `retain` returned, or without `retain` the context's own.
    case release(_ isReturned: Bool)
    case event(StreamEvent, isReturned: Bool)
    case eventReturned
    case describe
  }

  /// What info pointers point to: the one that was handed in, or the one that `retain` returned.
  private final class Token {
    unowned let client: CClient
    let isReturned: Bool
    init(_ client: CClient, isReturned: Bool) {
      self.client = client
      self.isReturned = isReturned
    }
  }

  private static let all = Shared<[CClient]>([])

  private let log = Shared<[Call]>([])
  private var given: Token?
  private var returned: Token?
  let recorder: EventRecorder
  /// Called in `retain`, `release` and `copyDescription`: must find no lock held.
  var insideContextCall: @Sendable () -> Void = {}
  /// Called in the callback, after recording.
  var insideReadCallback: @Sendable (ReadStream, StreamEvent) -> Void = { _, _ in }
  var insideWriteCallback: @Sendable (WriteStream, StreamEvent) -> Void = { _, _ in }

  init(_ recorder: EventRecorder = EventRecorder()) {
    self.recorder = recorder
    given = Token(self, isReturned: false)
    returned = Token(self, isReturned: true)
    CClient.all.with { $0.append(self) }
  }

  var calls: [Call] { log.value }
  var retains: Int { calls.count { $0 == .retain } }
  var releases: Int { calls.count { if case .release = $0 { true } else { false } } }
  var isBalanced: Bool { retains == releases }

  /// A context with this client's `info` and its counted functions.
  func context(returnsOther: Bool = true, hasRetain: Bool = true) -> StreamClientContext {
    var context = StreamClientContext(info: Unmanaged.passUnretained(given!).toOpaque())
    if hasRetain {
      context.retain = returnsOther ? CClient.retainOther : CClient.retainSame
      context.release = CClient.release
    }
    context.copyDescription = CClient.describe
    return context
  }

  func attach(to stream: ReadStream, _ mask: StreamEvents = .all) {
    stream.setClient(mask, callback: CClient.readCallback, context: context())
  }

  func attach(to stream: WriteStream, _ mask: StreamEvents = .all) {
    stream.setClient(mask, callback: CClient.writeCallback, context: context())
  }

  static let readCallback: StreamClientCallback = { stream, event, info in
    let stream = ReadStream.fromOpaque(stream)
    guard let event = StreamEvent(rawValue: event), let info else { return }
    let token = Unmanaged<Token>.fromOpaque(info).takeUnretainedValue()
    token.client.log(.event(event, isReturned: token.isReturned))
    token.client.recorder.record(.read, event, stream.status)
    token.client.insideReadCallback(stream, event)
    token.client.log(.eventReturned)
  }

  static let writeCallback: StreamClientCallback = { stream, event, info in
    let stream = WriteStream.fromOpaque(stream)
    guard let event = StreamEvent(rawValue: event), let info else { return }
    let token = Unmanaged<Token>.fromOpaque(info).takeUnretainedValue()
    token.client.log(.event(event, isReturned: token.isReturned))
    token.client.recorder.record(.write, event, stream.status)
    token.client.insideWriteCallback(stream, event)
    token.client.log(.eventReturned)
  }

  private func log(_ call: Call) { log.with { $0.append(call) } }

  private static func token(_ info: UnsafeMutableRawPointer?) -> Token {
    Unmanaged<Token>.fromOpaque(info!).takeUnretainedValue()
  }

  private static let retainOther: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    let client = CClient.token($0).client
    client.log(.retain)
    client.insideContextCall()
    return Unmanaged.passUnretained(client.returned!).toOpaque()
  }

  private static let retainSame: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    let client = CClient.token($0).client
    client.log(.retain)
    client.insideContextCall()
    return $0
  }

  private static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
    let token = CClient.token($0)
    token.client.log(.release(token.isReturned))
    token.client.insideContextCall()
  }

  private static let describe: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CChar>? = {
    CClient.token($0).client.log(.describe)
    CClient.token($0).client.insideContextCall()
    return strdup("a counted client")
  }
}
