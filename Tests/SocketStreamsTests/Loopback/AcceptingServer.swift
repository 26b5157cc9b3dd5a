// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A listener's owner in tests. No assertions.
import Glibc
import SocketStreams

/// Accepts on a base of its own, opens and keeps what it accepts.
final class AcceptingServer: Sendable {
  let listener: Listener
  let base: EventBase
  let pairs = Shared<[StreamPair]>([])
  let peers = Shared<[SocketAddress]>([])
  let refused = Shared<[SocketAddress]>([])

  init(
    _ address: SocketAddress = SocketAddress(ip: "127.0.0.1", port: 0)!, acceptsIPv4: Bool = false,
    limits: ConnectionLimits = ConnectionLimits()
  ) throws {
    listener = try Listener(address: address, acceptsIPv4: acceptsIPv4, limits: limits)
    base = try EventBase.startThread()
    start()
  }

  init(adopting socket: consuming NativeSocket) throws {
    listener = try Listener(adopting: socket)
    base = try EventBase.startThread()
    start()
  }

  private func start() {
    listener.schedule(on: base) { [pairs, peers] pair, peer in
      pair.open()
      pairs.with { $0.append(pair) }
      peers.with { $0.append(peer) }
    } onRefusal: { [refused] peer in
      refused.with { $0.append(peer) }
    }
  }

  /// A client on 127.0.0.1; from another address of this machine if one is given.
  func connect(from source: String = "127.0.0.1") -> RawSocket? {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let client = RawSocket(owning: fd)
    guard let port = listener.localAddress.port, Self.with(source, 0, { Glibc.bind(fd, $0, $1) }) == 0 else {
      return nil
    }
    return Self.with("127.0.0.1", port) { Glibc.connect(fd, $0, $1) } == 0 ? client : nil
  }

  /// Whether `count` connections have been handed over, and no more after everything that is due has been done.
  func hasAccepted(_ count: Int) -> Bool {
    guard eventually(within: 10, { pairs.value.count >= count }) else { return false }
    for _ in 0..<3 { base.sync {} }
    return pairs.value.count == count
  }

  /// Ends and forgets the oldest connections.
  func drop(_ count: Int = 1) {
    let dropped = pairs.with { pairs in
      let dropped = Array(pairs.prefix(count))
      pairs.removeFirst(dropped.count)
      return dropped
    }
    for pair in dropped { pair.abort() }
  }

  private static func with(
    _ ip: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  )
    -> Int32
  {
    var native = sockaddr_in()
    native.sin_family = sa_family_t(AF_INET)
    native.sin_port = port.bigEndian
    inet_pton(AF_INET, ip, &native.sin_addr)
    return withUnsafePointer(to: &native) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
