// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("libevent's events and bufferevents", .timeLimit(.minutes(1)))
struct EventHandleTests {
  /// `@unchecked Sendable`: the event is touched on the loop's thread only; the rest has locks of its own.
  final class Watcher: EventTarget, @unchecked Sendable {
    let fired = Signal()
    let seen = Shared<[EventFlags]>([])
    var event: EventHandle?

    override func eventFired(_ flags: EventFlags) {
      seen.with { $0.append(flags) }
      fired.raise()
      // Level-triggered: what is not read would fire for ever.
      event?.delete()
    }
  }

  // Rule 4 of the architecture.
  @Test("an event reports bytes as readable, and an end as closed besides")
  func readable() throws {
    let base = try EventBase.startThread()
    let pair = SocketPair()
    let watcher = Watcher()
    #expect(base.loop.handle.reportsEarlyClose)
    base.sync {
      let flags: EventFlags = [.readable, .closed, .persist]
      watcher.event = EventHandle(base.loop.handle, fd: pair.first, flags, target: watcher)
      watcher.event?.add()
    }
    #expect(!watcher.fired.wait(seconds: 0.02))
    pair.send([1])
    #expect(watcher.fired.wait(seconds: 10))
    #expect(watcher.seen.value == [.readable])
    pair.endSecond()
    base.sync { _ = watcher.event?.add() }
    #expect(watcher.fired.wait(seconds: 10))
    #expect(watcher.seen.value.last == [.readable, .closed])
    base.sync { watcher.event = nil }
  }

  // Rule 4 of the architecture.
  @Test("an event can be activated by hand, and can free itself in its own call")
  func activate() throws {
    // Touched on the thread that runs the loop only, which is the test's.
    final class Once: EventTarget, @unchecked Sendable {
      let fired = Signal()
      var event: EventHandle?
      override func eventFired(_ flags: EventFlags) {
        event = nil
        if flags == .timeout { fired.raise() }
      }
    }
    let base = try EventBase.startThread()
    let target = Once()
    base.sync {
      target.event = EventHandle(base.loop.handle, fd: -1, [], target: target)
      target.event?.activate()
    }
    #expect(target.fired.wait(seconds: 10))
    #expect(base.sync { target.event?.delete() == nil })
  }

  // 2.1.12 reads a clock that is up to 10 ms behind; time limits of connections hang on this.
  @Test("an event with a time never fires before its time", arguments: [1, 4, 11, 30])
  func neverEarly(milliseconds: Int) throws {
    // The time is set on the loop's thread before the event is added, and read after it has fired.
    final class Timed: EventTarget, @unchecked Sendable {
      let fired = Signal()
      let shortest = Shared(Double.infinity)
      var begin = 0.0
      var event: EventHandle?
      override func eventFired(_ flags: EventFlags) {
        let elapsed = monotonicSeconds() - begin
        shortest.with { $0 = min($0, elapsed) }
        fired.raise()
      }
    }
    let base = try EventBase.startThread()
    let target = Timed()
    base.sync { target.event = EventHandle(base.loop.handle, fd: -1, .timeout, target: target) }
    for _ in 0..<10 {
      base.sync {
        target.begin = monotonicSeconds()
        target.event?.add(after: .milliseconds(milliseconds))
      }
      #expect(target.fired.wait(seconds: 10))
    }
    #expect(target.shortest.value >= Double(milliseconds) / 1_000)
    base.sync { target.event = nil }
  }

  // Silence would be a stream without events.
  @Test("adding says no for what the kernel cannot watch, a regular file")
  func regularFile() throws {
    let base = try EventBase.startThread()
    let file = open("/proc/self/exe", O_RDONLY)
    defer { close(file) }
    let added = base.sync {
      let event = EventHandle(base.loop.handle, fd: file, .readable, target: Watcher())
      return event.add()
    }
    #expect(!added)
  }

  // MARK: - Bufferevents

  // `bufferevent` is touched on the thread that runs the loop only; the rest guards itself.
  final class Recorder: BuffereventTarget, @unchecked Sendable {
    let arrived = Signal()
    let drained = Signal()
    let occurred = Signal()
    let events = Shared<[BuffereventEvents]>([])
    var bufferevent: Bufferevent?

    override func bytesArrived() { arrived.raise() }
    override func outputDrained() { drained.raise() }
    override func eventOccurred(_ what: BuffereventEvents, errno: Int32) {
      events.with { $0.append(what) }
      occurred.raise()
    }
  }

  // Rule 6 of the architecture.
  @Test("a bufferevent moves bytes both ways, reports the end, and leaves the descriptor open when freed")
  func bufferevent() throws {
    let base = try EventBase.startThread()
    let pair = SocketPair()
    let recorder = Recorder()
    base.sync {
      let bufferevent = Bufferevent(base.loop.handle, fd: pair.first, target: recorder)
      recorder.bufferevent = bufferevent
      #expect(bufferevent.fd == pair.first)
      #expect(bufferevent.base == base.loop.handle.base)
      #expect(bufferevent.enable([.readable, .writable]))
      var output = Evbuffer()
      let text: [UInt8] = [1, 2, 3]
      output.append(text.span.bytes)
      bufferevent.moveOutput(from: &output)
      #expect(output.count == 0 && bufferevent.outputCount == 3)
    }
    #expect(recorder.drained.wait(seconds: 10))
    #expect(pair.receive(10) == [1, 2, 3])
    pair.send([4, 5])
    #expect(recorder.arrived.wait(seconds: 10))
    pair.endSecond()
    #expect(recorder.occurred.wait(seconds: 10))
    #expect(recorder.events.value == [[.reading, .end]])
    base.sync {
      var input = Evbuffer()
      #expect(recorder.bufferevent?.inputCount == 2)
      recorder.bufferevent?.moveInput(into: &input)
      #expect(input.count == 2 && recorder.bufferevent?.inputCount == 0)
      recorder.bufferevent?.free()
      recorder.bufferevent?.free()
    }
    base.sync {}
    #expect(fcntl(pair.first, F_GETFD) >= 0)
  }

  // Rule 6 of the architecture.
  @Test("a host's bufferevent is taken over, and handed back without callbacks")
  func adoptedBufferevent() throws {
    let base = try EventBase.startThread()
    let pair = SocketPair()
    let recorder = Recorder()
    base.sync {
      let first = Bufferevent(base.loop.handle, fd: pair.first, target: BuffereventTarget())
      let second = Bufferevent(adopting: first.letGo(), on: base.loop.handle, target: recorder)
      second.enable(.readable)
      recorder.bufferevent = second
    }
    pair.send([1])
    #expect(recorder.arrived.wait(seconds: 10))
    base.sync { recorder.bufferevent?.disable(.readable) }
    pair.send([1])
    #expect(!recorder.arrived.wait(seconds: 0.03))
    base.sync { recorder.bufferevent?.free() }
  }
}
