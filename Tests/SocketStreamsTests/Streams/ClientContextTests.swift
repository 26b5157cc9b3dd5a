// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// C clients: what is retained, released, handed over and when. No transport matters here, so the peer is a script.
import Glibc
import SocketStreams
import Testing

@Suite("The contexts of C clients")
struct ClientContextTests {
  // S60, S61, D5
  @Test(
    "retain is called once, when the client is set, and what it returns is what callbacks and release get")
  func retained() throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    do {
      // The structure is gone when the stream uses its copy.
      var context = client.context()
      test.input.setClient(.all, callback: CClient.readCallback, context: context)
      context = StreamClientContext()
    }
    #expect(client.calls == [.retain])
    test.input.schedule(on: test.base)
    test.open(test.input)
    test.peer.send([1])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    test.input.removeClient()
    #expect(
      client.calls == [
        .retain, .event(.openCompleted, isReturned: true), .eventReturned,
        .event(.hasBytesAvailable, isReturned: true), .eventReturned, .release(true),
      ])
  }

  // S61
  @Test("without retain, callbacks get the info that was handed in")
  func noRetain() throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    test.output.setClient(
      [.openCompleted], callback: CClient.writeCallback, context: client.context(hasRetain: false))
    test.output.schedule(on: test.base)
    test.open(test.output)
    test.recorder.expect([.openCompleted], of: .write, settling: test.base)
    test.output.close()
    #expect(client.calls == [.event(.openCompleted, isReturned: false), .eventReturned])
  }

  /// The ways in which a registration ends.
  enum Ending: String, Sendable, CaseIterable {
    case replaced, removed, noEvents, noCallback, noContext, closed, dropped, ended, failed, aborted
  }

  // S62, S63, S67, D6, D7, I8
  @Test("release is called once, however the registration ends", arguments: Ending.allCases, Half.allCases)
  func released(_ ending: Ending, _ half: Half) throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    let second = CClient()
    switch half {
    case .read: client.attach(to: test.input)
    case .write: client.attach(to: test.output)
    }
    test.pair.schedule(on: test.base)
    test.open(test.input, test.output)
    test.recorder.expect(.openCompleted, of: half)
    test.base.settle()
    #expect(client.retains == 1 && client.releases == 0)
    let pair = ending == .dropped ? nil : test.pair
    end(test, half, ending, second)
    #expect(eventually(within: 5) { client.releases == 1 })
    pair?.close()
    test.dropPair()
    test.base.settle()
    #expect(client.retains == 1 && client.releases == 1)
    #expect(eventually(within: 5) { second.isBalanced })
  }

  private func end(_ test: Fixture, _ half: Half, _ ending: Ending, _ second: CClient) {
    let stream: SocketStream = half == .read ? test.input : test.output
    func set(_ mask: StreamEvents, _ callback: StreamClientCallback?, _ context: StreamClientContext?) {
      let isTrue =
        half == .read
        ? test.input.setClient(mask, callback: callback, context: context)
        : test.output.setClient(mask, callback: callback, context: context)
      #expect(isTrue)
    }
    let callback = half == .read ? CClient.readCallback : CClient.writeCallback
    switch ending {
    case .replaced: if half == .read { second.attach(to: test.input) } else { second.attach(to: test.output) }
    case .removed: stream.removeClient()
    case .noEvents: set([], callback, second.context())
    case .noCallback: set(.all, nil, second.context())
    case .noContext: set(.all, callback, nil)
    case .closed: if half == .read { test.input.close() } else { test.output.close() }
    case .dropped:
      test.pair.unschedule(from: test.base)
      test.dropPair()
    case .ended:
      // A write half has no end of its own; closing it is its end.
      if half == .read { test.peer.end() } else { test.output.close() }
    case .failed: test.peer.fail()
    case .aborted: stream.abort()
    }
  }

  // S67
  @Test("removing a client that is not there returns true and does nothing")
  func nothingToRemove() throws {
    let test = try Fixture(.scripted)
    let isRead = test.input.setClient([], callback: CClient.readCallback, context: StreamClientContext())
    let isWrite = test.output.setClient(.all, callback: nil, context: nil)
    #expect(isRead && isWrite)
    test.input.removeClient()
    #expect(test.input.status == .notOpen)
  }

  // S64
  @Test("a new context is retained before the old one is released, also when both are the same")
  func retainedFirst() throws {
    let test = try Fixture(.scripted)
    let client = CClient()
    client.attach(to: test.input)
    client.attach(to: test.input)
    #expect(client.calls == [.retain, .retain, .release(true)])
    test.input.removeClient()
    #expect(client.calls == [.retain, .retain, .release(true), .release(true)])
  }

  private static let nullCalls = Shared(0)

  // S65
  @Test("with a NULL info neither retain nor release is called, and callbacks get NULL")
  func nullInfo() throws {
    let test = try Fixture(.scripted)
    var context = StreamClientContext(info: nil)
    context.retain = {
      ClientContextTests.nullCalls.with { $0 += 1 }
      return $0
    }
    context.release = { _ in ClientContextTests.nullCalls.with { $0 += 1 } }
    test.input.setClient(
      .all,
      callback: { stream, event, info in
        if info == nil, event == StreamEvent.openCompleted.rawValue { ReadStream.fromOpaque(stream).close() }
      }, context: context)
    test.input.schedule(on: test.base)
    test.open(test.input)
    #expect(eventually(within: 5) { test.input.status == .closed })
    test.dropPair()
    test.base.settle()
    #expect(Self.nullCalls.value == 0)
  }

  // S66, O7
  @Test("copyDescription is called for the debug description, and never for an event")
  func described() throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    client.attach(to: test.input)
    test.input.schedule(on: test.base)
    test.open(test.input)
    test.peer.send([1])
    test.peer.end()
    test.recorder.expect(.hasBytesAvailable, of: .read)
    #expect(!client.calls.contains(.describe))
    #expect(test.input.debugDescription.hasSuffix(", client a counted client"))
    #expect(client.calls.count { $0 == .describe } == 1)
  }

  // S69, I8
  @Test(
    "a client that is removed in its own callback is released after that has returned",
    arguments: Half.allCases)
  func removedInside(_ half: Half) throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    client.insideReadCallback = { stream, _ in stream.removeClient() }
    client.insideWriteCallback = { stream, _ in stream.removeClient() }
    if half == .read { client.attach(to: test.input) } else { client.attach(to: test.output) }
    test.pair.schedule(on: test.base)
    test.open(test.input, test.output)
    test.recorder.expect([.openCompleted], of: half, settling: test.base)
    #expect(
      client.calls == [.retain, .event(.openCompleted, isReturned: true), .eventReturned, .release(true)])
  }

  // S64, S70, D8
  @Test(
    "a client that is replaced in its own callback is released after that has returned; the new one goes on")
  func replacedInside() throws {
    let test = try Fixture(.scripted)
    let (first, second) = (CClient(), CClient(test.recorder))
    first.insideReadCallback = { stream, _ in
      second.attach(to: stream)
      // The old context is valid to the end of its callback.
      #expect(first.releases == 0 && second.retains == 1)
    }
    first.attach(to: test.input)
    test.open(test.input)
    test.peer.send([1])
    test.input.schedule(on: test.base)
    test.recorder.expect([.hasBytesAvailable], of: .read, settling: test.base)
    #expect(
      first.calls == [.retain, .event(.openCompleted, isReturned: true), .eventReturned, .release(true)])
    #expect(second.releases == 0)
    test.input.close()
    #expect(eventually(within: 5) { second.isBalanced })
  }

  // S95, S98, G10
  @Test(
    "close in a C callback: the context is released after it has returned, and nothing follows",
    arguments: Half.allCases)
  func closedInside(_ half: Half) throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    client.insideReadCallback = { stream, _ in stream.close() }
    client.insideWriteCallback = { stream, _ in stream.close() }
    if half == .read { client.attach(to: test.input) } else { client.attach(to: test.output) }
    test.pair.schedule(on: test.base)
    test.open(test.input, test.output)
    test.peer.send([1])
    test.recorder.expect([.openCompleted], of: half, settling: test.base)
    #expect(
      client.calls == [.retain, .event(.openCompleted, isReturned: true), .eventReturned, .release(true)])
  }

  // S68, S96, S64
  @Test(
    "a callback that runs while another thread ends its registration may finish: then it is released",
    arguments: [Ending.closed, .removed, .replaced, .aborted])
  func endedMeanwhile(_ ending: Ending) throws {
    let test = try Fixture(.scripted)
    let (client, second) = (CClient(test.recorder), CClient())
    let (entered, leave) = (Gate(), Gate())
    client.insideReadCallback = { _, _ in
      entered.open()
      #expect(leave.wait(seconds: 5))
    }
    client.attach(to: test.input)
    test.input.schedule(on: test.base)
    test.open(test.input)
    #expect(entered.wait(seconds: 5))
    test.peer.send([1])
    end(test, .read, ending, second)
    // The call has returned, and the callback has not.
    #expect(client.calls == [.retain, .event(.openCompleted, isReturned: true)])
    leave.open()
    #expect(eventually(within: 5) { client.releases == 1 })
    test.base.settle()
    #expect(client.calls.suffix(2) == [.eventReturned, .release(true)])
    #expect(test.recorder.events(.read) == [.openCompleted])
  }

  // S98, S62
  @Test("the last reference is dropped in a C callback: the stream and the context live until it returns")
  func droppedInside() throws {
    let test = try Fixture(.scripted)
    let client = CClient(test.recorder)
    test.leaks.watch(pair: test.pair)
    test.leaks.watch(client: client)
    client.insideReadCallback = { [weak test] stream, event in
      guard event == .hasBytesAvailable else { return }
      test?.dropPair()
      stream.unschedule(from: test!.base)
      #expect(stream.status == .open && client.releases == 0)
      #expect((try? readSome(stream, 10)) == [1, 2])
    }
    client.attach(to: test.input)
    test.input.schedule(on: test.base)
    test.open(test.input)
    test.peer.send([1, 2])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    test.leaks.expectNone()
    #expect(client.calls.suffix(2) == [.eventReturned, .release(true)])
  }

  // S76, D6 of the differences. Another thread asks too: a recursive lock would not show otherwise.
  @Test(
    "no lock is held in retain, release, copyDescription and callbacks",
    arguments: TransportUnderTest.allCases)
  func noLock(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let client = CClient(test.recorder)
    let asked = Shared(0)
    let ask: @Sendable (ReadStream?) -> Void = { stream in
      guard let stream else { return }
      _ = (stream.status, stream.error, stream.hasBytesAvailable, stream.property(.bytesRead))
      let other = onThread { [weak stream] in _ = (stream?.status, stream?.hasBytesAvailable) }
      #expect(other.wait(seconds: 5), "another thread gets its answer meanwhile")
      asked.with { $0 += 1 }
    }
    client.insideContextCall = { [weak input = test.input] in ask(input) }
    client.insideReadCallback = { stream, event in
      ask(stream)
      if event == .hasBytesAvailable { _ = try? readSome(stream, 10) }
    }
    let done = onThread { [input = test.input, base = test.base] in
      client.attach(to: input)  // retain
      _ = input.debugDescription  // copyDescription
      client.attach(to: input)  // retain, release
      input.schedule(on: base)
    }
    #expect(done.wait(seconds: 5))
    #expect(asked.value == 4)
    test.open(test.input)
    test.peer.send([1])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    #expect(asked.value == 6)
    let closed = onThread { [input = test.input] in input.close() }
    #expect(closed.wait(seconds: 5))
    #expect(eventually(within: 5) { client.isBalanced && asked.value == 7 })
  }

  // S59
  @Test("a half has one client: the one set last")
  func oneClient() throws {
    let test = try Fixture(.scripted)
    let (first, second) = (CClient(), CClient(test.recorder))
    first.attach(to: test.input)
    second.attach(to: test.input)
    test.input.schedule(on: test.base)
    test.open(test.input)
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    #expect(first.calls == [.retain, .release(true)])
  }

  // S71, D4
  @Test("a half never hears of the other direction's data event", arguments: TransportUnderTest.pairs)
  func foreignEvent(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let (reading, writing) = (CClient(test.recorder), CClient(test.recorder))
    reading.attach(to: test.input, [.canAcceptBytes])
    writing.attach(to: test.output, [.hasBytesAvailable])
    test.pair.schedule(on: test.base)
    test.open(test.input, test.output)
    test.peer.send([1])
    #expect(try test.output.write([1]) == 1)
    test.settle()
    #expect(test.recorder.entries == [])
  }

  // S62, D9: a closure holds what it captures as a context holds its info.
  @Test("what a closure client captures is let go when its registration ends", arguments: Ending.allCases)
  func closures(_ ending: Ending) throws {
    final class Captured: Sendable {}
    let test = try Fixture(.scripted)
    weak var captured: Captured?
    do {
      let object = Captured()
      captured = object
      test.input.setClient(.all) { [recorder = test.recorder] stream, event in
        withExtendedLifetime(object) { recorder.record(.read, event, stream.status) }
      }
    }
    test.pair.schedule(on: test.base)
    test.open(test.input, test.output)
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    #expect(captured != nil)
    end(test, .read, ending, CClient())
    #expect(eventually(within: 5) { captured == nil })
  }
}
