// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of streams on dispatch queues that were found, each with what it did.

import CoreFoundation
import Dispatch
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFQueueRegressionTests {
  // A14. CoreFoundation's thread for queues moved the stream to a source of its own while the queue was closing it, and
  // CFStreamClose crashed.
  @Test func aStreamMayBeClosedOnItsQueueWhileItOpens() async {
    await #expect(processExitsWith: .success) {
      let queue = DispatchQueue(label: "SocketStreams.test")
      for round in 0..<(isSanitized ? 400 : 4_000) {
        let sockets = KernelSocketPair()
        defer { withExtendedLifetime(sockets) {} }
        queue.sync {
          let pair = CFPair(socket: sockets.first)
          let clients = (CFClient(), CFClient())
          clients.0.attach(to: pair.read)
          clients.1.attach(to: pair.write)
          CFReadStreamSetDispatchQueue(pair.read, queue)
          CFWriteStreamSetDispatchQueue(pair.write, queue)
          pair.open()
          nonisolated(unsafe) let opened = pair
          queue.async {
            // The first event is on its way: at each moment of that, in turn.
            let end = monotonicSeconds() + Double(round % 100) / 1e6
            while monotonicSeconds() < end {}
            opened.close()
          }
        }
        queue.sync {}
        EventBase.shared.sync {}
        withExtendedLifetime(sockets) {}
      }
    }
  }

  // S111, S117: what was on its way to the old queue held up the new place until the old queue ran, and was then passed on
  // there, beside the new one.
  @Test(arguments: [false, true])
  func aStreamThatLeavesAQueueWhichDoesNotRunIsServed(byALoop: Bool) throws {
    let old = DispatchQueue(label: "SocketStreams.old"), new = DispatchQueue(label: "SocketStreams.new")
    let sockets = KernelSocketPair(), others = KernelSocketPair()
    let pair = CFPair(socket: sockets.first), other = CFPair(socket: others.first)
    let client = CFClient(), otherClient = CFClient()
    client.attach(to: pair.read)
    otherClient.attach(to: other.read)
    old.suspend()
    CFReadStreamSetDispatchQueue(pair.read, old)
    CFReadStreamOpen(pair.read)
    sockets.second.send([1])
    // Served by the same thread, later: when this one was called, the other is waiting for its queue.
    CFReadStreamSetDispatchQueue(other.read, new)
    CFReadStreamOpen(other.read)
    #expect(eventually { otherClient.has(.openCompleted) })

    if byALoop {
      CFReadStreamSetDispatchQueue(pair.read, nil)
      schedule(pair.read)
      #expect(turn { client.events == [1, 2] })
    } else {
      CFReadStreamSetDispatchQueue(pair.read, new)
      #expect(eventually { client.events == [1, 2] })
    }
    old.resume()
    old.sync {}
    #expect(client.events == [1, 2])
    CFReadStreamClose(pair.read)
    CFReadStreamClose(other.read)
    EventBase.shared.sync {}
  }

  // S78, S117: CFStream schedules on its own thread first and sets the queue then. In between, that thread was taken for the
  // client's: about once in a hundred times.
  @Test func anOpenStreamThatGetsAQueueIsCalledOnNoOtherThread() {
    let queue = DispatchQueue(label: "SocketStreams.test")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let strays = Shared(0)
    for _ in 0..<(isSanitized ? 200 : 2_000) {
      let sockets = KernelSocketPair()
      defer { withExtendedLifetime(sockets) {} }
      sockets.second.send([1])
      let pair = CFPair(socket: sockets.first)
      let client = CFClient()
      client.onRead = { _, _ in
        if DispatchQueue.getSpecific(key: key) == nil { strays.with { $0 += 1 } }
      }
      client.attach(to: pair.read)
      #expect(CFReadStreamOpen(pair.read))
      EventBase.shared.sync {}
      CFReadStreamSetDispatchQueue(pair.read, queue)
      #expect(eventually { client.events == [1, 2] })
      queue.sync { CFReadStreamClose(pair.read) }
      EventBase.shared.sync {}
      withExtendedLifetime(sockets) {}
    }
    #expect(strays.value == 0)
  }

  // The first event on any queue made a mode of the run loop, which takes two descriptors; without them CoreFoundation crashed.
  @Test func eventsOnAQueueNeedNoDescriptors() async {
    await #expect(processExitsWith: .success) {
      let queue = DispatchQueue(label: "SocketStreams.test")
      let sockets = KernelSocketPair()
      let pair = CFPair(socket: sockets.first)
      let client = CFClient()
      client.attach(to: pair.read)
      CFReadStreamSetDispatchQueue(pair.read, queue)
      EventBase.shared.sync {}
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      while dup(sockets.first) >= 0 {}
      #expect(CFReadStreamOpen(pair.read))
      sockets.second.send([1])
      #expect(eventually { client.events == [1, 2] })
      CFReadStreamClose(pair.read)
    }
  }
}
