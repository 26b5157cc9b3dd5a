// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation's own streams with TLS, from the start, later, and as a server: NSStreamTLS host port

import Foundation
import SocketStreamsCoreFoundation

let sslSettings = Stream.PropertyKey(rawValue: "kCFStreamPropertySSLSettings")
let sslPeerCertificates = Stream.PropertyKey(rawValue: "kCFStreamPropertySSLPeerCertificates")

/// Secures both streams, before they are opened or on an open connection.
func secure(_ input: InputStream) -> Bool {
  input.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey)
}

/// For a peer whose certificate is for another name than the one that was connected to, and that wants one from us.
func secure(_ input: InputStream, as name: String, with identity: URL) -> Bool {
  let settings: [String: Any] = [
    "kCFStreamSSLPeerName": name,
    // PEM: the certificate, those of its issuers, and the key.
    "kCFStreamSSLCertificates": [identity],
  ]
  return input.setProperty(settings, forKey: sslSettings)
}

/// The other side of it, on a socket that was accepted.
func serve(_ input: InputStream, certificate: URL, key: URL) -> Bool {
  let settings: [String: Any] = [
    "kCFStreamSSLIsServer": true, "kCFStreamSSLCertificates": [certificate, key],
  ]
  return input.setProperty(settings, forKey: sslSettings)
}

/// Whether the peer has shown this certificate, DER: for one that no authority vouches for, with
/// kCFStreamSSLValidatesCertificateChain false. To be asked before anything is written or believed.
func isPeer(_ input: InputStream, _ certificate: Data) -> Bool {
  (input.property(forKey: sslPeerCertificates) as? [Data])?.first == certificate
}

/// Asks a server of SMTP for TLS, and goes on with it.
func startTLS(_ input: InputStream, _ output: OutputStream) -> Bool {
  let command = Array("STARTTLS\r\n".utf8)
  guard output.write(command, maxLength: command.count) == command.count else { return false }
  // All of the answer, as the next byte is TLS.
  guard line(from: input)?.hasPrefix("220 ") == true else { return false }
  return secure(input)
}

/// Reads a line, and nothing behind it.
func line(from input: InputStream) -> String? {
  var bytes: [UInt8] = []
  var byte: UInt8 = 0
  while bytes.last != UInt8(ascii: "\n") {
    guard input.read(&byte, maxLength: 1) == 1 else { return nil }
    bytes.append(byte)
  }
  return String(decoding: bytes, as: UTF8.self)
}

func say(_ text: String, to output: OutputStream) {
  _ = output.write(Array(text.utf8), maxLength: text.utf8.count)
}

/// Greets, asks for TLS, and greets again, as SMTP has it.
func greet(_ host: String, _ port: Int) {
  var input: InputStream?
  var output: OutputStream?
  Stream.getStreamsToHost(withName: host, port: port, inputStream: &input, outputStream: &output)
  guard let input, let output else { return }
  input.open()
  output.open()
  print(line(from: input) ?? "no greeting")
  guard startTLS(input, output) else { return print("no TLS") }
  // Waits for the handshake, which may fail.
  say("NOOP\r\n", to: output)
  print(line(from: input) ?? input.streamError ?? "the end")
  input.close()
  output.close()
}

let arguments = CommandLine.arguments.dropFirst()
if let host = arguments.first, let port = arguments.dropFirst().first.flatMap({ Int($0) }) {
  greet(host, port)
}
