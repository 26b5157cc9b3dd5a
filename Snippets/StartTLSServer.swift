// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Answers lines, and agrees to TLS in the middle of a connection when it is asked to: StartTLSServer CERTIFICATE KEY

#if TLS

import SocketStreams
import SocketStreamsTLS

func serve(_ pair: StreamPair, _ settings: TLSSettings, on base: EventBase) {
  let writer = FramedWriter(pair.output, on: base)
  let reader = FramedReader(pair.input, on: base) { reader, event in
    switch event {
    case .frame(let line, _) where line == Array("STARTTLS".utf8):
      writer.write(Array("220 go ahead\r\n".utf8))
      do {
        // The answer goes out before, in plain; what is written from now on waits for the handshake.
        try pair.startTLS(settings)
      } catch {
        return pair.abort()  // more came in plain behind the request, for instance
      }
      reader.read(.line())
    case .frame(let line, _):
      let how = pair.input.property(.tlsPeer) == nil ? "in plain" : "secured"
      writer.write(line + Array(" \(how)\r\n".utf8))
      reader.read(.line())
    case .ended: writer.closeAfterWrites()
    case .opened, .partial, .timeLimitPassed, .failed: break
    }
  }
  reader.read(.line())
  pair.open()
}

let arguments = CommandLine.arguments
if arguments.count == 3 {
  let settings = TLSSettings.server(try TLSIdentity(certificateFile: arguments[1], keyFile: arguments[2]))
  let base = try EventBase()
  let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
  listener.schedule(on: base) { pair, _ in serve(pair, settings, on: base) }
  print("listening on \(listener.localAddress)")
  base.run()
} else {
  print("usage: StartTLSServer CERTIFICATE KEY")
}

#endif
