// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Field reports: lives of streams, listeners and loops", .timeLimit(.minutes(2)))
struct LifeRegressions {
  /// Opens one connection after the other, each from within the end of the last.
  private final class Chain: Sendable {
    let address: SocketAddress
    let base: EventBase
    let done = Gate()
    private let current = Shared<StreamPair?>(nil)
    private let rounds = Shared(0)
    let ended = Shared(0)

    init(_ address: SocketAddress, _ base: EventBase) {
      self.address = address
      self.base = base
    }

    func start(_ count: Int) {
      rounds.with { $0 = count }
      next()
    }

    private func next() {
      let pair = StreamPair(address: address)
      pair.input.setClient(.all) { [self] stream, event in
        guard event == .endEncountered || event == .errorOccurred else { return }
        ended.with { $0 += 1 }
        stream.close()
        pairEnded()
      }
      pair.schedule(on: base)
      current.with { $0 = pair }
      pair.open()
    }

    private func pairEnded() {
      current.value?.output.close()
      current.with { $0 = nil }
      rounds.with { $0 -= 1 }
      if rounds.value > 0 { next() } else { done.open() }
    }
  }

  // Field report 10, G10, S98
  @Test(
    "10: opening a new connection from inside the disconnect notice crashes in the clean-up of the old one")
  func reopenInEnd() async {
    await #expect(processExitsWith: .success) {
      let listener = try RawListener()
      let serving = onThread { for _ in 0..<201 { listener.accept()?.close() } }
      let base = try EventBase.startThread()
      let warm = Chain(listener.address, base)
      base.execute { warm.start(1) }
      #expect(warm.done.wait(seconds: 5))
      pass(base)
      let count = settledSocketCount()
      let chain = Chain(listener.address, base)
      base.execute { chain.start(200) }
      #expect(chain.done.wait(seconds: 20))
      #expect(chain.ended.value == 200)
      #expect(serving.wait(seconds: 5))
      #expect(eventually(within: 5) { openSocketCount() == count })
    }
  }

  // Field report 16, C7
  @Test("16: pausing a listener from another thread deadlocks with an accept callback that is running")
  func pauseWhileAccepting() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let (inside, leave, count) = (Gate(), Gate(), Shared(0))
    listener.schedule(on: base) { _, _ in
      count.with { $0 += 1 }
      inside.open()
      _ = leave.wait(seconds: 5)
    }
    let clients = (0..<3).map { _ in StreamPair(address: listener.localAddress) }
    for client in clients { client.open() }
    #expect(inside.wait(seconds: 5))
    let calls = [onThread { listener.unschedule() }, onThread { listener.close() }]
    for call in calls { #expect(call.wait(seconds: 2)) }
    leave.open()
    pass(base)
    #expect(count.value == 1)
  }

  // Field report 16, S96
  @Test("16: closing a stream from another thread waits for ever for its callback that is running")
  func closeWhileReading() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let (inside, leave) = (Gate(), Gate())
    let log = PairLog()
    log.watch(
      link.pair, on: base,
      input: { _, event in
        guard event == .hasBytesAvailable else { return }
        inside.open()
        _ = leave.wait(seconds: 5)
      })
    link.peer.send([1])
    #expect(inside.wait(seconds: 5))
    let (input, output) = (link.pair.input, link.pair.output)
    let calls = [
      onThread { input.close() }, onThread { output.close() }, onThread { input.removeClient() },
      onThread { input.unschedule(from: base) }, onThread { _ = input.status },
    ]
    for call in calls { #expect(call.wait(seconds: 2)) }
    let heard = log.events(.input).count
    leave.open()
    link.peer.send([2])
    pass(base)
    #expect(log.events(.input).count == heard)
    #expect(link.pair.input.status == .closed)
  }

  // Field report 16
  @Test("16: two loops that write into each other's streams deadlock")
  func twoLoops() throws {
    let (one, two) = try StreamPair.connected()
    let (three, four) = try StreamPair.connected()
    let bases = [try EventBase.startThread(), try EventBase.startThread()]
    let received = Shared(0)
    // What arrives on one loop is written into a stream that lives on the other, and closed there at the end.
    for (index, pair) in [two, four].enumerated() {
      let target = index == 0 ? three.output : one.output
      pair.input.setClient([.hasBytesAvailable]) { stream, _ in
        var count = 0
        stream.withAvailableBytes { bytes in
          count = bytes.byteCount
          return count
        }
        let total = received.with { received in
          received += count
          return received
        }
        if total < 400_000 { _ = try? target.write([UInt8](repeating: 1, count: 512)) }
      }
    }
    for pair in [two, three] { pair.schedule(on: bases[0]) }
    for pair in [one, four] { pair.schedule(on: bases[1]) }
    for pair in [one, two, three, four] { pair.open() }
    #expect(try one.output.write([UInt8](repeating: 1, count: 512)) == 512)
    #expect(try three.output.write([UInt8](repeating: 1, count: 512)) == 512)
    #expect(eventually(within: 10) { received.value >= 400_000 })
    for pair in [one, two, three, four] { pair.close() }
  }

  // Field report 64, S22
  @Test("64: an accepted stream that the handler does not keep is closed without a word")
  func acceptedAndNotKept() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let log = PairLog()
    let observers = Shared<[Weak]>([])
    listener.schedule(on: base) { pair, _ in
      // The rule: scheduled and open, it is kept by the base until its terminal event. Nobody else keeps it.
      log.watch(pair.input, on: base)
      pair.input.open()
      observers.with { $0.append(Weak(pair.input)) }
    }
    let client = StreamPair(address: listener.localAddress)
    client.open()
    #expect(try writeAll(pattern(100), to: client.output) == 100)
    #expect(eventually(within: 5) { log.bytes == pattern(100) })
    #expect(observers.value.first?.stream != nil)
    client.output.close()
    #expect(log.hears(.endEncountered, .input))
    #expect(eventually(within: 5) { observers.value.first?.stream == nil })
    #expect(try readToEnd(client.input) == [])
    listener.close()
  }

  private struct Weak: Sendable {
    weak var stream: ReadStream?
    init(_ stream: ReadStream) { self.stream = stream }
  }

  // Field report 65, C5
  @Test("65: a listener that was stopped and dropped still holds the port", arguments: [true, false])
  func restart(dropped: Bool) throws {
    let base = try EventBase.startThread()
    var address = SocketAddress(ip: "127.0.0.1", port: 0)!
    for _ in 0..<50 {
      var listener: Listener? = try Listener(address: address)
      address = listener!.localAddress
      let accepted = Signal()
      listener!.schedule(on: base) { pair, _ in
        pair.open()
        pair.close()
        accepted.raise()
      }
      let client = StreamPair(address: address)
      client.open()
      #expect(accepted.wait(seconds: 5))
      #expect(try readToEnd(client.input) == [])
      client.close()
      if dropped { listener = nil } else { listener?.close() }
      // From another thread the descriptor closes on the base's thread, with its next pass.
      pass(base, times: 1)
    }
  }

  // Found by a limit of one connection, whose pair was opened on the listener's thread and closed on its own.
  @Test("a pair that is closed by its client on one thread, while another thread opens it, is closed whole")
  func closedWhileOpening() throws {
    let base = try EventBase.startThread()
    let (rounds, ends) = (3_000, Shared(0))
    for _ in 0..<rounds {
      let (pair, peer) = try StreamPair.connected()
      peer.open()
      peer.close()
      pair.whenOver { ends.with { $0 += 1 } }
      pair.input.setClient([.endEncountered, .errorOccurred]) { _, _ in pair.close() }
      pair.schedule(on: base)
      pair.open()
    }
    #expect(eventually(within: 20) { ends.value == rounds }, "\(ends.value)")
  }
}
