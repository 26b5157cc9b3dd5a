// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Backlog", .timeLimit(.minutes(2)))
struct ListenerBacklogTests {
  // C6
  @Test(
    "as many connections as the backlog, and one, wait for a listener that does not accept",
    arguments: [1, 5])
  func backlog(_ size: Int32) throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!, backlog: size)
    let clients = try (0...size).map { _ in try #require(RawSocket(connectingTo: listener)) }
    // One more is not answered: its connect would take minutes.
    let late = RawSocket(
      owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    )
    var native = sockaddr_in()
    native.sin_family = sa_family_t(AF_INET)
    native.sin_port = try #require(listener.localAddress.port).bigEndian
    native.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &native) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(late.fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    #expect(code == -1 && errno == EINPROGRESS)
    var request = pollfd(fd: late.fd, events: Int16(POLLOUT), revents: 0)
    #expect(poll(&request, 1, 300) == 0)
    // Once the others are accepted it gets through, when the kernel tries again.
    let base = try EventBase.startThread()
    let accepted = Shared(0)
    listener.schedule(on: base) { _, _ in accepted.with { $0 += 1 } }
    #expect(eventually(within: 20) { accepted.value == Int(size) + 2 })
    withExtendedLifetime(clients) {}
    listener.close()
  }
}
