// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// kCFStreamSSLIsServer, kCFStreamSSLCertificates and kCFStreamPropertySSLPeerCertificates of CoreFoundation's streams.

#if TLS

import CoreFoundation
import Foundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import SocketStreamsTLS
import Testing

@Suite("Certificates of CoreFoundation's streams", .timeLimit(.minutes(2)))
struct CertificateTests {
  private static let made = TestCertificates.shared

  /// The ways to give a certificate with its key, which are arrays of CoreFoundation's.
  enum Form: CaseIterable, Sendable {
    case pem, file, keyApart, filesApart, der, keyFirst, chain, store

    var elements: [CFTypeRef] {
      switch self {
      case .pem: [data("localhost-with-key.pem")]
      case .file: [url(made.file("localhost-with-key.pem"))]
      case .keyApart: [data("localhost.pem"), data("localhost-traditional.key")]
      case .filesApart: [url(made.certificate("localhost")), url(made.key("localhost"))]
      case .der: [data("localhost.der"), data("localhost-key.der")]
      case .keyFirst: [data("localhost-key.der"), url(made.file("localhost.der"))]
      case .chain: [data("by-intermediate.pem"), data("by-intermediate.key"), data("intermediate.pem")]
      case .store: [data("localhost-open.p12")]
      }
    }

    var names: [String] { self == .chain ? ["by-intermediate", "intermediate"] : ["localhost"] }
  }

  // S194, S195, S196
  @Test("a server shows the certificate that it was given, in whichever form", arguments: Form.allCases)
  func server(form: Form) throws {
    if form == .store { try Self.makeOpenStore() }
    let sockets = KernelSocketPair()
    let pair = CFPair(socket: sockets.first)
    #expect(
      pair.secure(
        settings([(kCFStreamSSLIsServer, kCFBooleanTrue), (kCFStreamSSLCertificates, array(form.elements))])))
    let client = try SecureServer(.trusting(peerName: "localhost"), .sends(Array("hello".utf8)))
    client.take(sockets.second)
    pair.open()
    #expect(read(pair.read).bytes == Array("hello".utf8))
    #expect(pair.peerCertificates == [], "the client has none, and has agreed")
    #expect(write(pair.write, Array("HELLO".utf8)) == 5)
    pair.close()
    #expect(client.hasEnded())
    #expect(client.received == Array("HELLO".utf8) && client.ends == [nil])
    #expect(try client.peers.first?.certificates.map(\.der) == form.names.map(Self.der))
  }

  // S194
  @Test("a server without a certificate is refused")
  func serverWithoutCertificate() {
    let pair = CFPair(port: 9)
    #expect(!pair.secure(settings([(kCFStreamSSLIsServer, kCFBooleanTrue)])))
    #expect(
      !pair.secure(settings([(kCFStreamSSLIsServer, kCFBooleanTrue), (kCFStreamSSLCertificates, array([]))])))
    #expect(pair.level == "None")
    #expect(pair.secure(settings([(kCFStreamSSLIsServer, kCFBooleanFalse)])))
  }

  // S195, S177
  @Test("certificates that cannot be used are refused")
  func refused() throws {
    let refused: [[CFTypeRef]] = [
      [], ["localhost".cf], [kCFBooleanTrue], [data("localhost.pem")], [data("localhost.key")],
      [data("localhost.pem"), data("other.test.key")],
      [data("localhost.pem"), data("localhost-encrypted.key")],
      [data("localhost.p12")], [data("localhost-with-key.pem"), data("localhost-key.der")],
      [url(Self.made.folder + "/nothing.pem")], [url(Self.made.folder)], [url("/dev/zero")],
      [CFURLCreateWithString(nil, "http://127.0.0.1:9/localhost-with-key.pem".cf, nil)],
      [data("localhost-with-key.pem"), CFDataCreate(nil, [0x30, 0x03, 0x30, 0x01, 0x00], 5)],
    ]
    let pair = CFPair(port: 9)
    for (index, elements) in refused.enumerated() {
      #expect(!pair.secure(settings([(kCFStreamSSLCertificates, array(elements))])), "\(index)")
    }
    #expect(!pair.secure(settings([(kCFStreamSSLCertificates, data("localhost-with-key.pem"))])))
    #expect(pair.level == "None")
  }

  // S195, S190
  @Test("a client shows its certificate to a server that asks, and both streams take the same one")
  func client() throws {
    let server = try SecureServer(
      .serving {
        $0.roots = .only([try Self.made.root()])
        $0.clientCertificates = .required
      })
    let pair = CFPair(port: server.port)
    for set in [
      { CFReadStreamSetProperty(pair.read, $0, $1) }, { CFWriteStreamSetProperty(pair.write, $0, $1) },
    ] as [(CFString, CFTypeRef) -> Bool] {
      let identity = array([data("client.pem"), data("client.key")])
      #expect(
        set(
          kCFStreamPropertySSLSettings,
          settings([
            (kCFStreamSSLValidatesCertificateChain, kCFBooleanFalse), (kCFStreamSSLCertificates, identity),
          ])))
    }
    #expect(greet(pair) == "hello")
    #expect(server.peers.last?.certificates.map(\.der) == [try Self.der("client")])
    pair.close()

    let nameless = CFPair(port: server.port)
    #expect(nameless.secure(believing))
    let answer = greet(nameless)
    #expect(answer.hasPrefix("3: "), "\(answer)")
    nameless.close()
  }

  // S196
  @Test("the peer's certificates are there after the handshake, leaf first, and outlive the close")
  func peerCertificates() throws {
    let identity = try TLSIdentity(
      certificates: Self.made.bytes("by-intermediate-chain.pem"), key: Self.made.bytes("by-intermediate.key"))
    let server = try SecureServer(.server(identity))
    let pair = CFPair(port: server.port)
    #expect(pair.secure(believing))
    #expect(pair.peerCertificates == nil)
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySSLPeerTrust) == nil)
    #expect(greet(pair) == "hello")
    #expect(try pair.peerCertificates == [Self.der("by-intermediate"), Self.der("intermediate")])
    for key in [kCFStreamPropertySSLPeerTrust, kCFStreamPropertySSLPeerCertificates] {
      #expect(!CFReadStreamSetProperty(pair.read, key, array([])))
      #expect(!CFWriteStreamSetProperty(pair.write, key, nil))
    }
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySSLPeerTrust) == nil)
    #expect(CFWriteStreamCopyProperty(pair.write, kCFStreamPropertySSLPeerTrust) == nil)
    pair.close()
    #expect(try pair.peerCertificates == [Self.der("by-intermediate"), Self.der("intermediate")])
  }

  // S196
  @Test("a connection in the clear has no peer's certificates")
  func inTheClear() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySSLPeerCertificates) == nil)
    #expect(CFWriteStreamCopyProperty(pair.write, kCFStreamPropertySSLPeerTrust) == nil)
    withExtendedLifetime(peer) {}
  }

  // MARK: -

  private static func der(_ name: String) throws -> [UInt8] {
    try made.x509(name).der
  }

  /// PKCS #12 with an empty passphrase, as `localhost-open.p12`.
  private static func makeOpenStore() throws {
    let path = made.folder + "/localhost-open.p12"
    let program = try ServerProcess(
      "openssl",
      [
        "pkcs12", "-export", "-in", made.certificate("localhost"), "-inkey", made.key("localhost"),
        "-passout", "pass:", "-out", path,
      ])
    // It says nothing, and its end is the end of what it prints.
    _ = try? program.collect { _ in false }
    #expect(access(path, R_OK) == 0)
  }
}

#endif
