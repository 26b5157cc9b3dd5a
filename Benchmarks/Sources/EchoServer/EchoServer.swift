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
    let main = try EchoLoop(options)
    let address = SocketAddress(ip: "127.0.0.1", port: 0)!
    var listeners: [Listener] = []
    if options.loops == 1 {
      listeners = [try serve(options, at: address, on: main)]
    } else {
      let group = try EventBaseGroup(count: options.loops)
      let loops = group.bases.map { EchoLoop($0, endingWith: main) }
      if options.sharesPort {
        for loop in loops {
          listeners.append(try serve(options, at: listeners.first?.localAddress ?? address, on: loop))
        }
      } else {
        listeners = [try serveInTurn(options, at: address, on: loops)]
      }
    }
    print(listeners[0].localAddress.port!)
    fflush(nil)
    main.run()
    withExtendedLifetime(listeners) {}
  }

  private static func serve(
    _ options: EchoOptions, at address: SocketAddress, on loop: EchoLoop
  ) throws -> Listener {
    let listener = try Listener(address: address, backlog: 4096, reusesPort: options.sharesPort)
    listener.schedule(on: loop.base) { pair, _ in echo(options, pair, on: loop) }
    return listener
  }

  /// One listener, whose connections go to the loops in turn.
  private static func serveInTurn(
    _ options: EchoOptions, at address: SocketAddress, on loops: [EchoLoop]
  ) throws -> Listener {
    let listener = try Listener(address: address, backlog: 4096)
    var count = 0
    listener.schedule(on: loops[0].base) { pair, _ in
      echo(options, pair, on: loops[count % loops.count])
      count += 1
    }
    return listener
  }

  private static func echo(_ options: EchoOptions, _ pair: StreamPair, on loop: EchoLoop) {
    switch options.api {
    case .callbacks: Echo(pair, by: .callbacks, on: loop).start()
    case .closures: Echo(pair, by: .closures, on: loop).start()
    case .lending: echoByLending(pair, on: loop)
    case .bufferevent: Echo(loop.overBufferevent(pair), by: .callbacks, on: loop).start()
    }
  }
}
