// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Sends back what it gets, to any number of clients on one thread: EchoServer [port]

import SocketStreams

/// Sends what comes in on `pair` back out, no faster than the peer takes it.
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

func serve(port: UInt16) throws {
  let base = try EventBase()
  let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: port)!)
  listener.schedule(on: base) { pair, peer in
    print("\(peer) is here")
    echo(pair, on: base)
  }
  print("listening on \(listener.localAddress)")
  base.run()
}

try serve(port: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0)
