// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The examples of the articles on TLS, each in a function. Security CERTIFICATE KEY runs the server: try it with
// openssl s_client -connect 127.0.0.1:PORT -CAfile ROOT

#if TLS

import SocketStreams
import SocketStreamsTLS

func trustOnly(_ file: String) throws -> TLSSettings {
  var settings = TLSSettings.client()
  settings.roots = .only(try TLSCertificate.certificates(inFile: file))
  return settings
}

func connect(toAddress address: SocketAddress, named name: String) throws -> StreamPair {
  let pair = StreamPair(address: address)
  try pair.startTLS(.client(peerName: name))
  return pair
}

func pin(_ certificate: TLSCertificate) -> TLSSettings {
  var settings = TLSSettings.client()
  settings.pinnedKeys = [certificate.keyHash]
  return settings
}

func askUser(_ isKnown: @escaping @Sendable ([UInt8]) -> Bool) -> TLSSettings {
  var settings = TLSSettings.client()
  settings.approval = TLSApproval { peer in
    peer.certificates.first.map { isKnown($0.keyHash) } ?? false
  }
  return settings
}

func showCertificate(_ certificate: String, key: String) throws -> TLSSettings {
  var settings = TLSSettings.client()
  settings.identity = try TLSIdentity(certificateFile: certificate, keyFile: key)
  return settings
}

func serverSettings(_ certificate: String, key: String, clientsOf authority: String?) throws -> TLSSettings {
  var settings = TLSSettings.server(try TLSIdentity(certificateFile: certificate, keyFile: key))
  if let authority {
    settings.roots = .only(try TLSCertificate.certificates(inFile: authority))
    settings.clientCertificates = .required
  }
  return settings
}

func serve(_ settings: TLSSettings, on base: EventBase) throws -> Listener {
  let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
  listener.schedule(on: base) { pair, peer in
    do {
      try pair.startTLS(settings)
    } catch {
      return print("\(peer): \(error)")  // the pair is dropped, and the connection with it
    }
    let writer = FramedWriter(pair.output, on: base)
    let reader = FramedReader(pair.input, on: base) { reader, event in
      switch event {
      case .frame(let line, _):
        writer.write(line + [10])
        reader.read(.line(limit: 4_096))
      case .ended(let error):
        if let error { print("\(peer): \(error)") }
        writer.closeAfterWrites()
        reader.close()
      case .opened, .partial, .failed, .timeLimitPassed: break
      }
    }
    reader.read(.line(limit: 4_096))
    pair.open()
  }
  return listener
}

func whoIsThere(_ pair: StreamPair) {
  guard let peer = pair.input.property(.tlsPeer) else { return print("no handshake yet") }
  print(peer.version >= .tls13, peer.cipher, peer.applicationProtocol ?? "no protocol")
  print("\(peer.certificates.count) certificates, resumed: \(peer.isResumed)")
}

func goPlain(_ pair: StreamPair) throws {
  _ = try pair.output.write(Array("200 in plain from now on\r\n".utf8))
  // That goes out secured, and `close_notify` behind it. Nothing can be written until the peer has said the same.
  try pair.stopTLS()
}

func explain(_ error: StreamError) -> String {
  switch error.tls {
  case .certificateExpired, .certificateNotYetValid:
    "the certificate's dates are wrong, or this machine's clock is"
  case .wrongHost: "somebody else answered"
  case .unknownIssuer, .unknownRoot: "nobody who is trusted vouches for the server"
  case .closedWithoutNotice: "the connection was cut: what came may not be all"
  case nil: "not a failure of TLS"
  default: error.reason
  }
}

let arguments = CommandLine.arguments
if arguments.count == 3 {
  let base = try EventBase()
  let listener = try serve(serverSettings(arguments[1], key: arguments[2], clientsOf: nil), on: base)
  print("listening on \(listener.localAddress)")
  base.run()
} else {
  print("usage: Security CERTIFICATE KEY")
}

#endif
