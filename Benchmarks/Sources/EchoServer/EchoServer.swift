// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The server that is measured: echoes what its connections send, through one of the library's APIs. It prints its
// port, and ends with its first connection, so that every run of a tool sees one, or with --stay on SIGTERM.

import Glibc
import SocketStreams

@main
struct EchoServer {
  static func main() throws {
    guard let options = EchoOptions(CommandLine.arguments.dropFirst()) else {
      write(STDERR_FILENO, EchoOptions.usage, EchoOptions.usage.utf8.count)
      exit(64)
    }
    let loop = try EchoLoop(options)
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!, backlog: 4096)
    listener.schedule(on: loop.base) { pair, _ in
      // As the servers that this one is compared with have it.
      pair.input.setProperty(.noDelay, to: true)
      switch options.way {
      case .callbacks: EchoByCallbacks(pair, on: loop).start()
      case .closures: echoByClosures(pair, on: loop)
      case .bufferevent: EchoByCallbacks(loop.overBufferevent(pair), on: loop).start()
      }
    }
    print(listener.localAddress.port!)
    fflush(nil)
    loop.run()
  }
}
