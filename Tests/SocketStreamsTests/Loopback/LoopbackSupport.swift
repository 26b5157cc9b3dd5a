// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Helpers of the tests on real sockets: what a pair's clients heard, connected pairs, blocking use, what the system
// knows of sockets and of this process. No assertions.
import Glibc
import SocketStreams

/// One of a pair's two streams.
enum Side: Sendable { case input, output }

/// What the clients of a pair's two streams heard, and what came in.
final class PairLog: Sendable {
  private let heard = Shared<[(side: Side, event: StreamEvent)]>([])
  private let received = Shared<[UInt8]>([])
  private let strayed = Shared(0)

  /// Calls that came on another thread than the base's.
  var strayCount: Int { strayed.value }
  /// The bytes that the read client took.
  var bytes: [UInt8] { received.value }
  /// Every event, in order.
  var all: [StreamEvent] { heard.value.map(\.event) }

  /// The events of one stream, in order.
  func events(_ side: Side) -> [StreamEvent] { heard.value.filter { $0.side == side }.map(\.event) }

  /// Waits until a stream has heard `event`.
  func hears(_ event: StreamEvent, _ side: Side, within seconds: Double = 5) -> Bool {
    eventually(within: seconds) { events(side).contains(event) }
  }

  /// Makes this the client of both streams, and schedules them.
  /// - Parameter reading: Whether the read client takes what it is told of.
  func watch(
    _ pair: StreamPair, on base: EventBase? = nil, reading: Bool = true,
    input: (@Sendable (ReadStream, StreamEvent) -> Void)? = nil,
    output: (@Sendable (WriteStream, StreamEvent) -> Void)? = nil
  ) {
    watch(pair.input, on: base, reading: reading, then: input)
    watch(pair.output, on: base, then: output)
  }

  func watch(
    _ stream: ReadStream, on base: EventBase? = nil, reading: Bool = true, events: StreamEvents = .all,
    then body: (@Sendable (ReadStream, StreamEvent) -> Void)? = nil
  ) {
    stream.setClient(events) { [self, weak base] stream, event in
      note(.input, event, base)
      if reading, event == .hasBytesAvailable { take(from: stream) }
      body?(stream, event)
    }
    if let base { stream.schedule(on: base) }
  }

  func watch(
    _ stream: WriteStream, on base: EventBase? = nil, events: StreamEvents = .all,
    then body: (@Sendable (WriteStream, StreamEvent) -> Void)? = nil
  ) {
    stream.setClient(events) { [self, weak base] stream, event in
      note(.output, event, base)
      body?(stream, event)
    }
    if let base { stream.schedule(on: base) }
  }

  /// Takes what is there.
  func take(from stream: ReadStream) {
    stream.withAvailableBytes { bytes in
      bytes.withUnsafeBytes { memory in received.with { $0 += memory } }
      return bytes.byteCount
    }
  }

  private func note(_ side: Side, _ event: StreamEvent, _ base: EventBase?) {
    heard.with { $0.append((side, event)) }
    if base?.isCurrent == false { strayed.with { $0 += 1 } }
  }
}

/// Passes of a loop: after it, everything that was due on the base when this was called has been done.
func pass(_ base: EventBase, times: Int = 3) {
  for _ in 0..<times {
    let passed = Gate()
    base.execute { passed.open() }
    _ = passed.wait(seconds: 5)
  }
}

/// An open pair over TCP, and its plain peer.
struct TCPLink {
  let pair: StreamPair
  let peer: RawSocket

  init(_ options: ConnectionOptions = ConnectionOptions()) throws {
    let listener = try RawListener()
    pair = StreamPair(address: listener.address, options: options)
    pair.open()
    guard let peer = listener.accept(seconds: 5) else { throw RawFailure("accept") }
    self.peer = peer
    guard pair.output.waitUntilReady(timeout: .seconds(5)), pair.output.status == .open else {
      throw RawFailure("open")
    }
  }

  /// Small kernel buffers, so that little is needed to fill them.
  static func narrow(_ change: (inout ConnectionOptions) -> Void = { _ in }) throws -> TCPLink {
    var options = ConnectionOptions()
    options.sendBufferSize = 8_192
    options.receiveBufferSize = 8_192
    change(&options)
    return try TCPLink(options)
  }
}

/// Two plain sockets connected over TCP: one for a pair to borrow, and its peer.
struct RawLink {
  let own: RawSocket
  let peer: RawSocket

  init() throws {
    let listener = try RawListener()
    guard let own = RawSocket(connectingTo: listener), let peer = listener.accept() else {
      throw RawFailure("connect")
    }
    self.own = own
    self.peer = peer
  }
}

extension RawSocket {
  /// Connects to 127.0.0.1 on the listener's port, and waits for it; `nil` if that fails.
  convenience init?(connectingTo listener: Listener) {
    guard let port = listener.localAddress.port else { return nil }
    self.init(connectingTo: port)
  }

  /// Connects to a port of 127.0.0.1, and waits for it; `nil` if that fails.
  convenience init?(connectingTo port: UInt16) {
    self.init(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var native = sockaddr_in()
    native.sin_family = sa_family_t(AF_INET)
    native.sin_port = port.bigEndian
    native.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &native) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { return nil }
  }
}

extension RawListener {
  var address: SocketAddress { SocketAddress(ip: family == AF_INET6 ? "::1" : "127.0.0.1", port: port)! }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

// MARK: - Blocking use

/// Reads to the end, waiting as needed; `nil` if that takes too long.
func readToEnd(_ stream: ReadStream, seconds: Int = 10) throws -> [UInt8]? {
  var bytes: [UInt8] = []
  while stream.waitUntilReady(timeout: .seconds(seconds)) {
    guard let piece = try stream.read(upTo: 65_536) else { continue }
    if piece.count == 0 { return bytes }
    piece.withBytes { span in span.withUnsafeBytes { bytes += $0 } }
  }
  return nil
}

/// Reads `count` bytes, waiting as needed; fewer if the end comes or it takes too long.
func read(_ count: Int, from stream: ReadStream, seconds: Int = 10) throws -> [UInt8] {
  var bytes: [UInt8] = []
  while bytes.count < count, stream.waitUntilReady(timeout: .seconds(seconds)) {
    guard let piece = try stream.read(upTo: count - bytes.count) else { continue }
    if piece.count == 0 { break }
    piece.withBytes { span in span.withUnsafeBytes { bytes += $0 } }
  }
  return bytes
}

/// Writes all, waiting as needed.
/// - Returns: How many bytes were taken.
func writeAll(_ bytes: [UInt8], to stream: WriteStream, seconds: Int = 10) throws -> Int {
  var offset = 0
  while offset < bytes.count {
    if let taken = try stream.write(bytes.span.bytes.extracting(offset..<bytes.count)) {
      offset += taken
    } else if !stream.waitUntilReady(timeout: .seconds(seconds)) {
      break
    }
  }
  return offset
}

/// Writes zeros until nothing more is taken, again and again while some are taken within `seconds`: the kernel moves
/// what it has on to the peer's side meanwhile.
/// - Returns: How many bytes were taken.
func fill(_ stream: WriteStream, patience seconds: Double = 0.2) throws -> Int {
  let piece = [UInt8](repeating: 0, count: 65_536)
  var count = 0
  var failure: (any Error)?
  func push() -> Bool {
    do {
      let taken = try stream.write(piece)
      count += taken ?? 0
      return taken != nil
    } catch {
      failure = error
      return false
    }
  }
  while failure == nil, eventually(within: seconds, push) {}
  if let failure { throw failure }
  return count
}

/// Sends zeros without waiting until the kernel takes no more, again and again while some are taken within `seconds`.
func fill(_ socket: RawSocket, patience seconds: Double = 0.2) -> Int {
  let piece = [UInt8](repeating: 0, count: 65_536)
  var count = 0
  func push() -> Bool {
    let sent = send(socket.fd, piece, piece.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    count += max(sent, 0)
    return sent > 0
  }
  while eventually(within: seconds, push) {}
  return count
}

/// Bytes that show when one is lost, repeated or moved.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

// MARK: - The system

/// The descriptors that the process has open.
func processDescriptors() -> Set<Int32> {
  // Looked up one by one: a directory that is listed is a descriptor too.
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  return Set((0..<Int32(min(limit.rlim_cur, 4_096))).filter { fcntl($0, F_GETFD) >= 0 })
}

/// How many sockets the process has open. The runtime's threads make descriptors of other kinds when they need them.
func openSocketCount() -> Int {
  processDescriptors().count { fd in
    var status = stat()
    return fstat(fd, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }
}

/// The same, once it has not changed for a while.
func settledSocketCount() -> Int {
  var (count, same) = (-1, 0)
  _ = eventually(within: 5) {
    let now = openSocketCount()
    same = now == count ? same + 1 : 0
    count = now
    return same == 50
  }
  return count
}

/// One socket, whatever number its descriptor has.
struct SocketIdentity: Equatable {
  private let device: UInt
  private let node: UInt

  /// `nil` if `fd` is not open.
  init?(_ fd: Int32) {
    var status = stat()
    guard fstat(fd, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    node = UInt(status.st_ino)
  }

  /// Whether the process has it open.
  var isOpen: Bool {
    let descriptors = processDescriptors()
    return descriptors.contains { SocketIdentity($0) == self }
  }
}

/// Whether a descriptor blocks.
func isBlocking(_ fd: Int32) -> Bool { fcntl(fd, F_GETFL) & O_NONBLOCK == 0 }

/// Whether a descriptor is closed by `exec`.
func closesOnExec(_ fd: Int32) -> Bool { fcntl(fd, F_GETFD) & FD_CLOEXEC != 0 }

/// How many bytes wait to be received.
func waitingBytes(_ fd: Int32) -> Int {
  var memory = [UInt8](repeating: 0, count: 65_536)
  return max(0, recv(fd, &memory, memory.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)))
}

/// What of this process is in memory, in bytes.
func residentBytes() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var text = [CChar](repeating: 0, count: 128)
  guard fgets(&text, 128, file) != nil else { return 0 }
  let fields = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
    separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
}

/// The processor time that the calling thread has used, in seconds.
func threadTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The processor time that a base's thread uses while `seconds` pass.
func loopTime(of base: EventBase, over seconds: Double) -> Double {
  let begin = base.sync { threadTime() }
  // The stretch that is looked at, not a wait for something.
  usleep(UInt32(seconds * 1e6))
  return base.sync { threadTime() } - begin
}

/// Whether the process would be ended by SIGPIPE, as a new one is.
func makeBrokenPipeSignalDeadly() {
  signal(SIGPIPE, SIG_DFL)
  var set = sigset_t()
  sigemptyset(&set)
  sigaddset(&set, SIGPIPE)
  pthread_sigmask(SIG_UNBLOCK, &set, nil)
}

// A test uses it from one thread at a time.
extension BlackHole: @unchecked Sendable {}
