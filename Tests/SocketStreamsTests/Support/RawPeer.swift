// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The other side of loopback tests: plain blocking sockets that share no code with the library, so that a fault of the
// library cannot hide itself. No assertions; every wait has a limit.

import Glibc

/// A plain connected socket. Closes when dropped.
final class RawSocket: @unchecked Sendable {
  // Sendable: a test uses it from one thread at a time.
  private(set) var fd: Int32

  init(owning fd: Int32) { self.fd = fd }

  /// Connects and waits for it; `nil` if that fails.
  init?(connectingTo listener: RawListener) {
    fd = socket(listener.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let outcome = listener.withNative { connect(fd, $0, $1) }
    guard outcome == 0 else {
      close()
      return nil
    }
  }

  deinit { close() }

  /// Sends all, waiting as needed.
  /// - Returns: 0 or an `errno`.
  @discardableResult
  func send(_ bytes: some Sequence<UInt8>) -> Int32 {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent < 0 {
        if errno == EINTR { continue }
        return errno
      }
      rest = rest.dropFirst(sent)
    }
    return 0
  }

  /// Receives `count` bytes, or fewer when the end, an error or the time limit comes first.
  func receive(_ count: Int, seconds: Int = 10) -> [UInt8] { receive(atMost: count, seconds: seconds).bytes }

  /// Receives until the end of the stream.
  /// - Returns: `nil` if an error or the time limit came first.
  func receiveAll(seconds: Int = 10) -> [UInt8]? {
    let (bytes, code) = receive(atMost: .max, seconds: seconds)
    return code == 0 ? bytes : nil
  }

  /// Waits for the peer's next act with nothing to read: 0 for the end, an `errno` otherwise, `nil` if bytes came.
  func receiveEnd(seconds: Int = 10) -> Int32? {
    let (bytes, code) = receive(atMost: 1, seconds: seconds)
    return bytes.isEmpty ? code : nil
  }

  /// The numeric address and port of this end, `127.0.0.1:80` or `[::1]:80`; `nil` for a path.
  var localName: String? { numericName(fd, getsockname) }

  /// The numeric address and port of the other end.
  var peerName: String? { numericName(fd, getpeername) }

  /// The peer reads what was sent, then the end.
  func shutdownWrite() { _ = shutdown(fd, Int32(SHUT_WR)) }

  /// Closes with a reset.
  func reset() {
    var now = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  func close() {
    if fd >= 0 { _ = Glibc.close(fd) }
    fd = -1
  }

  /// Gives the descriptor away unclosed.
  func release() -> Int32 {
    defer { fd = -1 }
    return fd
  }

  private func receive(atMost limit: Int, seconds: Int) -> (bytes: [UInt8], code: Int32) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    _ = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < limit {
      let received = recv(fd, &room, min(room.count, limit - bytes.count), 0)
      if received == 0 { return (bytes, 0) }
      if received < 0 {
        if errno == EINTR { continue }
        return (bytes, errno)
      }
      bytes += room.prefix(received)
    }
    return (bytes, 0)
  }
}

/// A plain listening socket on a port that the kernel chose, or on a path. Closes when dropped.
final class RawListener: @unchecked Sendable {
  // Sendable: a test uses it from one thread at a time.
  private(set) var fd: Int32
  private var storage = sockaddr_storage()
  private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  /// `AF_INET`, `AF_INET6` or `AF_UNIX`.
  let family: Int32

  /// Listens on a numeric IPv4 or IPv6 address.
  /// - Parameter port: 0 lets the kernel choose; another listener's port is for the same port on another address.
  init(address: String = "127.0.0.1", port: UInt16 = 0, backlog: Int32 = 128) throws {
    (fd, family) = try boundSocket(address, port, reuse: true)
    try finish(backlog)
  }

  /// Listens on a path in the file system.
  init(unixPath path: String, backlog: Int32 = 128) throws {
    family = AF_UNIX
    fd = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw RawFailure("socket") }
    var native = sockaddr_un()
    native.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &native.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &native) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(fd, $0, socklen_t(2 + path.utf8.count + 1))
      }
    }
    guard bound == 0 else { throw RawFailure("bind") }
    try finish(backlog)
  }

  deinit { close() }

  /// The port that it listens on; 0 for a path.
  var port: UInt16 { family == AF_UNIX ? 0 : (try? boundPort(fd)) ?? 0 }

  /// The next connection; `nil` if none comes in time.
  func accept(seconds: Int = 10) -> RawSocket? {
    var entry = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, Int32(seconds * 1000)) == 1 else { return nil }
    let accepted = Glibc.accept(fd, nil, nil)
    guard accepted >= 0 else { return nil }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    return RawSocket(owning: accepted)
  }

  func close() {
    if fd >= 0 { _ = Glibc.close(fd) }
    fd = -1
  }

  /// Gives the descriptor away unclosed.
  func release() -> Int32 {
    defer { fd = -1 }
    return fd
  }

  func withNative<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  private func finish(_ backlog: Int32) throws {
    guard listen(fd, backlog) == 0 else { throw RawFailure("listen") }
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
    }
    guard named == 0 else { throw RawFailure("getsockname") }
  }
}

/// A port on which nobody listens: connecting to it is refused. The port stays taken while this lives.
final class RefusedPort: Sendable {
  private let holder: RawSocket
  let port: UInt16

  /// - Parameter isShared: Lets other sockets that say so too bind to the port.
  init(address: String = "127.0.0.1", port: UInt16 = 0, isShared: Bool = false) throws {
    // Bound but not listening. A port of a listener that was closed could be given to another test meanwhile.
    let fd = try boundSocket(address, port, reuse: isShared).fd
    holder = RawSocket(owning: fd)
    self.port = try boundPort(fd)
  }
}

/// A listener that lets no further connection through: its queue is full, and the next SYN is dropped.
final class BlackHole {
  private let listener: RawListener
  private let waiting: RawSocket

  /// On an address: attempts get no answer.
  convenience init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
    try self.init(RawListener(address: address, port: port, backlog: 0))
  }

  /// On a path: attempts are told to try again.
  convenience init(unixPath: String) throws {
    try self.init(RawListener(unixPath: unixPath, backlog: 0))
  }

  private init(_ listener: RawListener) throws {
    guard let first = RawSocket(connectingTo: listener) else { throw RawFailure("connect") }
    self.listener = listener
    waiting = first
  }

  var port: UInt16 { listener.port }

  /// Makes room: the next attempt gets through.
  func open() -> RawSocket? { listener.accept() }
}

/// Makes several sockets on one port: the first lets the kernel choose it, and tries again with another one if somebody
/// has it on the others' addresses.
func onOnePort<Sockets>(_ make: () throws -> Sockets) throws -> Sockets {
  for _ in 0..<20 {
    if let sockets = try? make() { return sockets }
  }
  return try make()
}

/// A fresh directory for sockets, removed with what is in it.
final class SocketDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/ss-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw RawFailure("mkdtemp") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    for name in directoryEntries(path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  /// A path in it, of exactly `length` bytes if given.
  func file(_ name: String = "s", length: Int? = nil) -> String {
    let start = "\(path)/\(name)"
    return start + String(repeating: "x", count: max(0, (length ?? 0) - start.utf8.count))
  }
}

/// What went wrong on the plain side.
struct RawFailure: Error, CustomStringConvertible {
  let description: String
  init(_ call: String) { description = "\(call): errno \(errno)" }
}

/// The descriptors of a kind that the process has open at this moment, and what each is: `"7 socket:[123]"`.
///
/// Other tests open and close sockets meanwhile, so compare in a process of its own: an exit test. Even there the
/// runtime's threads make a timer, an epoll or an eventfd descriptor when they need one.
/// - Parameter kind: How the kernel's name begins: `socket:`, `anon_inode:[eventpoll]`, `anon_inode:[eventfd]`, `/`.
func openSockets(_ kind: String = "socket:") -> Set<String> {
  var found: Set<String> = []
  var room = [CChar](repeating: 0, count: 256)
  for name in directoryEntries("/proc/self/fd") {
    let count = readlink("/proc/self/fd/\(name)", &room, room.count)
    guard count > 0 else { continue }
    let link = text(Array(room.prefix(count)))
    if link.hasPrefix(kind) { found.insert("\(name) \(link)") }
  }
  return found
}

/// The numbers of all descriptors that the process has open at this moment.
func openDescriptors() -> Set<Int32> {
  // The descriptor that reads the directory is closed by then, and so is not among those that are still open.
  Set(directoryEntries("/proc/self/fd").compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 })
}

private func directoryEntries(_ path: String) -> [String] {
  guard let directory = opendir(path) else { return [] }
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// - Parameter reuse: For listeners, whose port may still be remembered by old connections.
private func boundSocket(_ address: String, _ port: UInt16, reuse: Bool) throws -> (fd: Int32, family: Int32)
{
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
  var list: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(address, String(port), &hints, &list) == 0, let first = list else {
    throw RawFailure("address")
  }
  defer { freeaddrinfo(list) }
  let family = first.pointee.ai_family
  let fd = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard fd >= 0 else { throw RawFailure("socket") }
  var one: Int32 = 1
  if reuse { _ = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, 4) }
  if family == AF_INET6 { _ = setsockopt(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, 4) }
  guard bind(fd, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else {
    defer { _ = Glibc.close(fd) }
    throw RawFailure("bind")
  }
  return (fd, family)
}

private func boundPort(_ fd: Int32) throws -> UInt16 {
  var name = sockaddr_storage()
  var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  let named = withUnsafeMutablePointer(to: &name) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
  }
  guard named == 0 else { throw RawFailure("getsockname") }
  // sin_port and sin6_port are at the same place.
  return withUnsafeBytes(of: &name) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
}

private func numericName(
  _ fd: Int32, _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
) -> String? {
  var name = sockaddr_storage()
  var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  return withUnsafeMutablePointer(to: &name) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { native in
      guard ask(fd, native, &length) == 0, native.pointee.sa_family != sa_family_t(AF_UNIX) else {
        return nil
      }
      var host = [CChar](repeating: 0, count: 256)
      var port = [CChar](repeating: 0, count: 16)
      let flags = NI_NUMERICHOST | NI_NUMERICSERV
      guard getnameinfo(native, length, &host, 256, &port, 16, flags) == 0 else { return nil }
      let (hostText, portText) = (text(host), text(port))
      return hostText.contains(":") ? "[\(hostText)]:\(portText)" : "\(hostText):\(portText)"
    }
  }
}

private func text(_ characters: [CChar]) -> String {
  String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
