// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// An echo service on several loops, each with a thread of its own: EchoService [shared] [port]
// One listener hands its connections round; with "shared", each loop has a listener of its own on one port.

import SocketStreams

/// Sends what comes in on `pair` back out, on the thread of `base`.
func echo(_ pair: StreamPair, on base: EventBase) {
  func pump() {
    // Bytes that the output does not take stay where they are, and slow the peer down.
    guard pair.output.canAcceptBytes else { return }
    pair.input.withAvailableBytes { bytes in (try? pair.output.write(bytes)) ?? 0 }
  }
  pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { _, event in
    if event == .hasBytesAvailable { pump() } else { pair.close() }
  }
  pair.output.setClient([.canAcceptBytes]) { _, _ in pump() }
  pair.schedule(on: base)
  pair.open()
}

/// One listener, whose connections go to the bases in turn.
func serveInTurn(at address: SocketAddress, on group: EventBaseGroup) throws -> Listener {
  let listener = try Listener(address: address)
  listener.schedule(on: group.bases[0]) { pair, _ in echo(pair, on: group.next()) }
  return listener
}

/// A listener on each base, all on one port. The kernel chooses which of them gets a connection.
func serveOnSharedPort(at address: SocketAddress, on group: EventBaseGroup) throws -> [Listener] {
  var listeners: [Listener] = []
  for base in group.bases {
    // The first may have the kernel choose the port; the others join it there.
    let listener = try Listener(address: listeners.first?.localAddress ?? address, reusesPort: true)
    listener.schedule(on: base) { pair, _ in echo(pair, on: base) }
    listeners.append(listener)
  }
  return listeners
}

let arguments = CommandLine.arguments.dropFirst()
let address = SocketAddress(ip: "127.0.0.1", port: arguments.last.flatMap { UInt16($0) } ?? 0)!
let group = try EventBaseGroup()
let listeners =
  arguments.first == "shared"
  ? try serveOnSharedPort(at: address, on: group) : [try serveInTurn(at: address, on: group)]
print("\(listeners.count) listening on \(listeners[0].localAddress), \(group.bases.count) loops")
group.join()  // until the process is ended
