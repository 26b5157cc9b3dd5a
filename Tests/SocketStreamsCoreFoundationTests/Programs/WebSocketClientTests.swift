// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program WebSocketClient against a server of Python's websockets.

import Dispatch
import Foundation
import Testing

@Suite("Program: WebSocket on a dispatch queue", .serialized, .timeLimit(.minutes(1)))
struct WebSocketClientTests {
  /// Echoes texts. Asked for fragments it sends a text in three frames; asked for a ping it tells when the pong has come.
  private static let script = """
    import asyncio, websockets

    async def serve(connection):
        async for text in connection:
            if text == 'fragments':
                await connection.send(['in ', 'three ', 'frames'])
            elif text == 'ping':
                await (await connection.ping(b'are you there'))
                await connection.send('pong has come')
            else:
                await connection.send(text)

    async def main():
        async with websockets.serve(serve, '127.0.0.1', 0) as server:
            print('port', server.sockets[0].getsockname()[1], flush=True)
            await asyncio.Future()

    asyncio.run(main())
    """

  private func startServer() throws -> (server: ServerProcess, port: UInt16) {
    let server = try ServerProcess(ServerProcess.python, ["-c", Self.script])
    return (server, try server.number(after: "port "))
  }

  private func expectNothingLeft(_ client: inout WebSocketClient?, _ counts: ContextCounts) {
    weak let left = client
    client = nil
    #expect(eventually { left == nil }, "the client is still there")
    #expect(counts.areBalanced)
  }

  // S59, S77, S81, S117, T8
  @Test("it talks, pings and closes, and every callback is on its queue")
  func conversation() throws {
    let (server, port) = try startServer()
    defer { server.kill() }
    let queue = DispatchQueue(label: "websocket")
    let counts = ContextCounts()
    var client: WebSocketClient? = WebSocketClient(
      host: "localhost", port: port, queue: queue, counts: counts)
    client?.connect()
    #expect(client?.messages.next() == .connected)

    let texts = [
      "hello", "", "你好 🎈", String(repeating: "x", count: 126), String(repeating: "é", count: 100_000),
    ]
    for text in texts { client?.send(text) }
    for text in texts {
      let isSame = client?.messages.next() == .text(text)
      #expect(isSame, "\(text.prefix(20))")
    }
    client?.send("fragments")
    #expect(client?.messages.next() == .text("in three frames"))
    client?.ping(Array("hello?".utf8))
    #expect(client?.messages.next() == .pong(Array("hello?".utf8)))
    client?.send("ping")
    #expect(client?.messages.next() == .text("pong has come"))

    client?.close(code: 1000)
    #expect(client?.messages.next() == .disconnected(closeCode: 1000, errorCode: nil))
    // What was put on the queue before now has run.
    queue.sync {}
    #expect(client?.messages.isEmpty == true)
    expectNothingLeft(&client, counts)
  }

  // S112, S117
  @Test("several connections share one queue")
  func sharedQueue() throws {
    let (server, port) = try startServer()
    defer { server.kill() }
    let queue = DispatchQueue(label: "websockets")
    let counts = ContextCounts()
    let clients = (0..<20).map { _ in
      WebSocketClient(host: "127.0.0.1", port: port, queue: queue, counts: counts)
    }
    for client in clients { client.connect() }
    for client in clients { #expect(client.messages.next() == .connected) }
    for (number, client) in clients.enumerated() { client.send("text \(number)") }
    for (number, client) in clients.enumerated() {
      #expect(client.messages.next() == .text("text \(number)"))
    }
    for client in clients { client.close(code: 1000) }
    for client in clients {
      #expect(client.messages.next() == .disconnected(closeCode: 1000, errorCode: nil))
    }
    #expect(eventually { counts.areBalanced })
  }

  // S51, S117, S176
  @Test("a refused port ends it with the error")
  func refused() throws {
    let refused = try RefusedPort()
    let queue = DispatchQueue(label: "websocket")
    let counts = ContextCounts()
    var client: WebSocketClient? = WebSocketClient(
      host: "127.0.0.1", port: refused.port, queue: queue, counts: counts)
    client?.connect()
    #expect(client?.messages.next() == .disconnected(closeCode: nil, errorCode: ECONNREFUSED))
    expectNothingLeft(&client, counts)
  }

  // S90, S117
  @Test("a server that is killed ends it once, without a close frame")
  func killed() throws {
    let (server, port) = try startServer()
    defer { server.kill() }
    let queue = DispatchQueue(label: "websocket")
    let counts = ContextCounts()
    var client: WebSocketClient? = WebSocketClient(
      host: "127.0.0.1", port: port, queue: queue, counts: counts)
    client?.connect()
    #expect(client?.messages.next() == .connected)
    server.kill()
    let last = client?.messages.next()
    let ends = [nil, ECONNRESET].map { WebSocketClient.Message.disconnected(closeCode: nil, errorCode: $0) }
    #expect(last.map(ends.contains) == true, "\(String(describing: last))")
    queue.sync {}
    #expect(client?.messages.isEmpty == true)
    expectNothingLeft(&client, counts)
  }
}
