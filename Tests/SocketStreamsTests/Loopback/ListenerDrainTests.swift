// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Ending a server without cutting its connections off, or only after a while.
import Glibc
import SocketStreams
import Testing

@Suite("Draining a listener", .timeLimit(.minutes(2)))
struct ListenerDrainTests {
  private let cut = Shared<[Int]>([])
  private let strays = Shared(0)

  private func drain(_ server: AcceptingServer, within limit: Duration = .seconds(60)) {
    server.listener.drain(within: limit) { [cut, strays, weak base = server.base] count in
      if base?.isCurrent != true { strays.with { $0 += 1 } }
      cut.with { $0.append(count) }
    }
  }

  // C15
  @Test("a drain refuses who comes, leaves who is there, and completes with the last end, on the base")
  func ends() throws {
    let server = try AcceptingServer()
    let clients = try (0..<3).map { _ in try #require(server.connect()) }
    #expect(server.hasAccepted(3))
    drain(server)
    pass(server.base)
    #expect(server.connect() == nil)
    let pair = server.pairs.value[0]
    #expect(try pair.output.write([7]) == 1)
    #expect(clients.contains { $0.receive(1, seconds: 1) == [7] })
    server.drop(2)
    pass(server.base)
    #expect(cut.value.isEmpty && server.listener.connectionCount == 1)
    server.drop()
    #expect(eventually(within: 5) { cut.value == [0] })
    pass(server.base)
    #expect(cut.value == [0] && strays.value == 0)
  }

  // C15
  @Test("after its time a drain cuts those that are left, and tells how many; nothing of them is left")
  func deadline() async {
    await #expect(processExitsWith: .success) {
      let base = try EventBase.startThread()
      let before = settledSocketCount()
      let completed = Shared<[Int]>([])
      let clients: [RawSocket]
      do {
        let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
        let accepted = Shared(0)
        // Kept by the base alone, for one half or both.
        listener.schedule(on: base) { pair, _ in
          pair.input.setClient(.all) { [output = pair.output] input, event in
            guard event == .endEncountered else { return }
            input.close()
            output.close()
          }
          accepted.with { $0 += 1 }
          if accepted.value == 1 { pair.input.schedule(on: base) } else { pair.schedule(on: base) }
          pair.open()
        }
        clients = (0..<3).compactMap { _ in RawSocket(connectingTo: listener) }
        #expect(eventually(within: 5) { accepted.value == 3 })
        clients[2].close()
        #expect(eventually(within: 5) { listener.connectionCount == 2 })
        // The listener is not kept.
        listener.drain(within: .milliseconds(200)) { count in completed.with { $0.append(count) } }
      }
      #expect(completed.value.isEmpty)
      #expect(eventually(within: 10) { completed.value == [2] })
      #expect(clients[0].receiveEnd() == ECONNRESET && clients[1].receiveEnd() == ECONNRESET)
      clients[0].close()
      clients[1].close()
      #expect(eventually(within: 5) { openSocketCount() == before })
      pass(base)
      #expect(completed.value == [2])
    }
  }

  // C15
  @Test("without connections a drain completes soon, but not before it returns; closed before or not")
  func empty() throws {
    let server = try AcceptingServer()
    let wasEmpty = server.base.sync {
      drain(server)
      return cut.value.isEmpty
    }
    #expect(wasEmpty)
    #expect(eventually(within: 5) { cut.value == [0] })
    #expect(strays.value == 0)
    let other = try AcceptingServer()
    other.listener.close()
    pass(other.base)
    drain(other)
    #expect(eventually(within: 5) { cut.value == [0, 0] })
  }

  // C15
  @Test("of several drains each completes, by the earliest limit")
  func several() throws {
    let server = try AcceptingServer()
    let client = try #require(server.connect())
    #expect(server.hasAccepted(1))
    drain(server)
    drain(server, within: .zero)
    drain(server)
    #expect(client.receiveEnd() == ECONNRESET)
    #expect(eventually(within: 5) { cut.value.count == 3 })
    #expect(cut.value == [1, 1, 0] || cut.value == [1, 1, 1], "\(cut.value)")
    #expect(server.listener.connectionCount == 0)
  }

  // C15
  @Test("a connection that is just being handed over is waited for")
  func duringAccept() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let (inside, leave, kept) = (Gate(), Gate(), Shared<StreamPair?>(nil))
    listener.schedule(on: base) { pair, _ in
      inside.open()
      _ = leave.wait(seconds: 10)
      kept.with { $0 = pair }
    }
    let client = RawSocket(connectingTo: listener)
    #expect(inside.wait(seconds: 10))
    listener.drain(within: .seconds(60)) { [cut] count in cut.with { $0.append(count) } }
    leave.open()
    pass(base)
    #expect(cut.value.isEmpty && listener.connectionCount == 1)
    kept.with { $0 = nil }
    #expect(eventually(within: 5) { cut.value == [0] })
    withExtendedLifetime(client) {}
  }

  // C15, rule 10
  @Test("a drain waits until a closed connection's bytes are sent")
  func unsent() throws {
    let server = try AcceptingServer()
    let client = try #require(server.connect())
    #expect(server.hasAccepted(1))
    let count = try fill(server.pairs.value[0].output)
    server.pairs.with { $0.removeFirst() }.close()
    drain(server)
    pass(server.base)
    #expect(cut.value.isEmpty)
    #expect(client.receiveAll()?.count == count)
    #expect(eventually(within: 5) { cut.value == [0] })
  }

  // C15
  @Test("when the base ends before the drain does, it completes elsewhere; unscheduled too")
  func withoutBase() throws {
    let server = try AcceptingServer()
    let client = try #require(server.connect())
    #expect(server.hasAccepted(1))
    drain(server)
    server.base.stop()
    server.base.join()
    #expect(cut.value.isEmpty)
    server.drop()
    #expect(eventually(within: 5) { cut.value == [0] })
    let unscheduled = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    unscheduled.drain(within: .seconds(60)) { [cut] count in cut.with { $0.append(count) } }
    #expect(eventually(within: 5) { cut.value == [0, 0] })
    withExtendedLifetime(client) {}
  }

  // C15, C4
  @Test("a drain removes the path of a Unix listener at once")
  func path() throws {
    let directory = try SocketDirectory()
    let server = try AcceptingServer(SocketAddress(unixPath: directory.file()))
    let client = try StreamPair(unixPath: directory.file())
    client.open()
    #expect(server.hasAccepted(1))
    drain(server)
    #expect(eventually(within: 5) { access(directory.file(), F_OK) != 0 })
    #expect(cut.value.isEmpty)
    client.close()
    server.drop()
    #expect(eventually(within: 5) { cut.value == [0] })
  }
}
