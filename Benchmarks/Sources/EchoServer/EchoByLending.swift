// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The echo by closures that lends: what arrived goes to the other stream's write, with no buffer of its own.

import SocketStreams

func echoByLending(_ pair: StreamPair, on loop: EchoLoop) {
  // As much at once as the servers that this one is compared with.
  pair.input.setProperty(.inputLimit, to: 65_536)
  pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { _, event in
    if event == .hasBytesAvailable { return echo(pair) }
    pair.close()
    loop.connectionEnded()
  }
  pair.schedule(on: loop.base)
  pair.open()
}

/// Bytes that the output does not take are lent again when it has room.
private func echo(_ pair: StreamPair) {
  var isShort = false
  pair.input.withAvailableBytes { bytes in
    let taken = (try? pair.output.write(bytes)) ?? 0
    isShort = taken < bytes.byteCount
    return taken
  }
  if isShort {
    pair.output.setClient(.canAcceptBytes) { output, _ in
      output.removeClient()
      echo(pair)
    }
  }
}
