// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Fuzzes the engine of TLS with what a peer, or whoever is in between, can do. Nothing may trap, hang or leak.
//
// The first byte chooses the settings, and whether the rest is what a peer says to a new client and to a new server, or a
// script of two engines' doings: bytes in pairs, what is done and how much.

import SocketStreams

/// Called by libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEngine(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  guard let choice = input.first else { return 0 }
  let link = FuzzedLink(choice)
  if choice & 1 == 0 {
    for side in [link.client, link.server] {
      _ = side.engine.handshake()
      for start in stride(from: 1, to: input.count, by: 64) {
        side.wire.arrive(input[start..<min(start + 64, input.count)])
        check(side.engine.handshake() != .done, "an agreement with nobody")
      }
    }
    link.isTampered = true
  } else {
    // The tickets are still on their way.
    if choice & 2 != 0 { link.shakeHands() }
    var script = input.dropFirst()
    while script.count >= 2 { link.perform(script.removeFirst(), script.removeFirst(), &script) }
  }
  link.conclude()
  return 0
}
