// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A relay between a client and a server for tests: it holds back everything until it is told to let it through, and
// remembers what the client said. Plain blocking sockets and threads.
import Glibc

/// One connection's relay on 127.0.0.1.
final class HeldRelay: @unchecked Sendable {
  // Sendable: the listener is used by the relay's thread only.
  private let listener: RawListener
  private let gate = Gate()
  private let isConnected = Gate()
  private let seen = Shared<[UInt8]>([])
  private let sockets = Shared<[RawSocket]>([])

  /// Where the client is to connect to.
  let port: UInt16

  /// Every byte that the client has sent.
  var sent: [UInt8] { seen.value }

  /// - Parameter server: The port of the server.
  init(to server: UInt16) throws {
    listener = try RawListener()
    port = listener.port
    onThread { [listener, gate, isConnected, seen, sockets] in
      guard let near = listener.accept(seconds: 60), let far = RawSocket(connectingTo: server) else { return }
      sockets.with { $0 = [near, far] }
      isConnected.open()
      guard gate.wait(seconds: 120) else { return }
      let back = onThread { Self.pump(far, near) { _ in } }
      Self.pump(near, far) { bytes in seen.with { $0 += bytes } }
      _ = back.wait(seconds: 120)
    }
  }

  deinit { cut() }

  /// Waits until the client is connected.
  func hasClient() -> Bool { isConnected.wait(seconds: 60) }

  /// Lets everything through from now on.
  func release() { gate.open() }

  /// Ends both connections.
  func cut() {
    for socket in sockets.value { _ = shutdown(socket.fd, Int32(SHUT_RDWR)) }
    gate.open()
  }

  /// Until one side ends, whose end it passes on.
  private static func pump(_ source: RawSocket, _ target: RawSocket, _ note: (ArraySlice<UInt8>) -> Void) {
    var room = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(source.fd, &room, room.count, 0), count > 0 {
      note(room[..<count])
      guard target.send(room[..<count]) == 0 else { break }
    }
    target.shutdownWrite()
  }
}
