// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that has a libevent loop with events of its own, and streams on the same loop beside them.

import CLibEvent
import SocketStreams

func runHost() throws {
  // What the host has anyway: a loop, and a timer of its own on it.
  nonisolated(unsafe) let hostBase = event_base_new()!  // used on this thread only
  let timer = event_new(hostBase, -1, Int16(EV_PERSIST), { _, _, _ in print("the host's timer") }, nil)
  var interval = timeval(tv_sec: 0, tv_usec: 50_000)
  event_add(timer, &interval)

  // Streams on it: two ends of a connection, the near one with a client.
  let base = try EventBase(adopting: hostBase)
  let (near, far) = try StreamPair.connected()
  near.input.setClient([.hasBytesAvailable, .endEncountered]) { input, event in
    switch event {
    case .hasBytesAvailable: print("a stream's event, \(input.withAvailableBytes { $0.byteCount }) bytes")
    default: event_base_loopbreak(hostBase)
    }
  }
  near.schedule(on: base)
  near.open()

  far.open()
  try far.output.write(Array("hello".utf8))
  base.schedule(after: .milliseconds(120)) { far.close() }

  // The host runs its loop as ever, and ends the streams' use of it before it frees it.
  event_base_dispatch(hostBase)
  base.invalidate()
  event_free(timer)
  event_base_free(hostBase)
}

try runHost()
