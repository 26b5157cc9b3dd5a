// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Gets a page over TLS, and says with whom it talked: TLSClient HOST [PATH]

#if TLS

import SocketStreams
import SocketStreamsTLS

func get(_ path: String, from host: String) throws {
  let base = try EventBase()
  let pair = StreamPair(host: host, port: 443)
  // The certificate has to be for `host`, and from somebody whom the system trusts.
  try pair.startTLS(.client())
  pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { input, event in
    guard event == .hasBytesAvailable else { return base.stop() }
    input.withAvailableBytes { bytes in
      print(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, terminator: "")
      return bytes.byteCount
    }
  }
  pair.output.setClient([.canAcceptBytes]) { output, _ in
    _ = try? output.write(Array("GET \(path) HTTP/1.0\r\nHost: \(host)\r\n\r\n".utf8))
    output.removeClient()
  }
  pair.schedule(on: base)
  pair.open()
  base.run()
  if let peer = pair.input.property(.tlsPeer) { print("\n\(peer.cipher)") }
  if let error = pair.input.error { throw error }
}

let arguments = CommandLine.arguments
if arguments.count > 1 {
  do {
    try get(arguments.count > 2 ? arguments[2] : "/", from: arguments[1])
  } catch {
    print(error)  // TLS handshake: the certificate has expired (TLS -9814: …)
  }
} else {
  print("usage: TLSClient HOST [PATH]")
}

#endif
