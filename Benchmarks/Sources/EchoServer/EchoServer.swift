// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The server that the budgets are measured on: echoes what its connections send, through one of the library's APIs.
// It prints its port, and ends when its first connection has ended, so that every run of a tool sees one connection.

import Glibc
import SocketStreams

@main
struct EchoServer {
  static func main() throws {
    let api = CommandLine.arguments.dropFirst().first ?? "callbacks"
    let base = try EventBase()
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    listener.schedule(on: base) { pair, _ in
      switch api {
      case "closures": echoByClosures(pair, on: base)
      case "callbacks": EchoByCallbacks(pair, base).start()
      default: fatalError("usage: EchoServer [callbacks | closures]")
      }
    }
    print(listener.localAddress.port!)
    fflush(nil)
    base.run()
  }
}

/// Whether a write took less than it was given, so that the rest waits for room.
///
/// `@unchecked Sendable`: both clients are called on one base, one at a time.
private final class Backlog: @unchecked Sendable {
  var waits = false
}

/// Lends what arrived to the other half's write, and reads on when that has room again.
private func echoByClosures(_ pair: StreamPair, on base: EventBase) {
  let (input, output) = (pair.input, pair.output)
  let backlog = Backlog()
  input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { input, event in
    if event == .hasBytesAvailable { echo(input, output, backlog) } else { base.stop() }
  }
  output.setClient(.canAcceptBytes) { output, _ in
    if backlog.waits { echo(input, output, backlog) }
  }
  pair.schedule(on: base)
  pair.open()
}

private func echo(_ input: ReadStream, _ output: WriteStream, _ backlog: Backlog) {
  _ = input.withAvailableBytes { bytes in
    let taken = (try? output.write(bytes)) ?? 0
    backlog.waits = taken < bytes.byteCount
    return taken
  }
}
