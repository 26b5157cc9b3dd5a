// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Asks a POP3 server for TLS, as its users do before they say their password, and says who it is: StartTLS HOST [PORT]

#if TLS

import SocketStreams
import SocketStreamsTLS

/// The greeting, the request for TLS, its answer, and then the same connection secured.
func greet(_ pair: StreamPair, on base: EventBase) {
  let writer = FramedWriter(pair.output, on: base)
  let reader = FramedReader(pair.input, on: base) { reader, event in
    switch event {
    case .frame(_, tag: 1):
      writer.write(Array("STLS\r\n".utf8))
    case .frame(let answer, tag: 2):
      guard answer.starts(with: Array("+OK".utf8)) else { return base.stop() }
      do {
        // Throws also if more came in plain behind the answer: that must not be taken for what is said later.
        try pair.startTLS(.client())
      } catch {
        print(error)
        return base.stop()
      }
      writer.write(Array("QUIT\r\n".utf8))  // waits for the handshake
      reader.read(.line(), tag: 3)
    case .frame(let answer, _):
      print(String(decoding: answer, as: UTF8.self), pair.input.property(.tlsPeer)?.cipher ?? "in plain")
      base.stop()
    case .failed(let error, _):
      print(error)
      base.stop()
    case .opened, .partial, .timeLimitPassed, .ended: break
    }
  }
  reader.read(.line(), tag: 1)
  reader.read(.line(), tag: 2)
}

let arguments = CommandLine.arguments
if arguments.count > 1 {
  let base = try EventBase()
  let pair = StreamPair(host: arguments[1], port: arguments.count > 2 ? UInt16(arguments[2]) ?? 110 : 110)
  greet(pair, on: base)
  pair.open()
  base.run()
  pair.close()
} else {
  print("usage: StartTLS HOST [PORT]")
}

#endif
