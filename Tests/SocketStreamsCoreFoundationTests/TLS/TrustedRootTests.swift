// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Whom a client believes that checks everything. CoreFoundation's streams believe the system's roots, so each test is a process
// of its own, which is told that the tests' root is the system's.

#if TLS

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import SocketStreamsTLS
import Testing

@Suite("Names that CoreFoundation's streams check", .timeLimit(.minutes(2)))
struct TrustedRootTests {
  // S189, S192, J3, J4
  @Test("the default is the system's roots and the host that the streams were made for")
  func host() async {
    await #expect(processExitsWith: .success) {
      trustTestRoot()
      let server = try SecureServer()
      for host in ["localhost", "127.0.0.1"] {
        let pair = CFPair(host: host, port: server.port)
        #expect(pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
        #expect(greet(pair) == "hello")
        pair.close()
      }
      // J5: of an address nothing is sent.
      #expect(server.peers.map(\.serverName) == ["localhost", nil])
    }
  }

  // S192, S168; field report 55
  @Test("a certificate for another name is refused")
  func otherName() async {
    await #expect(processExitsWith: .success) {
      trustTestRoot()
      let server = try SecureServer("other.test")
      let pair = CFPair(host: "localhost", port: server.port)
      #expect(pair.secure(settings([])))
      #expect(greet(pair) == "3: -9843")
      #expect(server.hasEnded() && server.received.isEmpty)
    }
  }

  // S192
  @Test("the peer's name is checked and sent instead of the host")
  func peerName() async {
    await #expect(processExitsWith: .success) {
      trustTestRoot()
      let server = try SecureServer("other.test")
      let pair = CFPair(host: "127.0.0.1", port: server.port)
      #expect(pair.secure(settings([(kCFStreamSSLPeerName, "other.test".cf)])))
      #expect(greet(pair) == "hello")
      #expect(server.peers.map(\.serverName) == ["other.test"])
      pair.close()
      let wrong = CFPair(host: "localhost", port: server.port)
      #expect(wrong.secure(settings([(kCFStreamSSLPeerName, "another.test".cf)])))
      #expect(greet(wrong) == "3: -9843")
    }
  }

  // S192
  @Test("a null instead of the name checks the chain only")
  func nullName() async {
    await #expect(processExitsWith: .success) {
      trustTestRoot()
      let (server, stranger) = (try SecureServer("other.test"), try SecureServer("by-unknown"))
      let pair = CFPair(host: "localhost", port: server.port)
      #expect(pair.secure(settings([(kCFStreamSSLPeerName, kCFNull)])))
      #expect(greet(pair) == "hello")
      pair.close()
      let other = CFPair(host: "localhost", port: stranger.port)
      #expect(other.secure(settings([(kCFStreamSSLPeerName, kCFNull)])))
      let answer = greet(other)
      #expect(isUntrusted.contains(answer), "\(answer)")
    }
  }

  // S192
  @Test(
    "of a native socket no name is checked, unless one is given", arguments: [nil, "other.test", "a.test"])
  func nativeSocket(name: String?) async {
    await #expect(processExitsWith: .success) { [name] in
      trustTestRoot()
      let sockets = KernelSocketPair()
      let peer = try SecureServer("other.test")
      peer.take(sockets.second)
      let pair = CFPair(socket: sockets.first)
      #expect(pair.secure(settings(name.map { [(kCFStreamSSLPeerName, $0.cf)] } ?? [])))
      #expect(greet(pair) == (name == "a.test" ? "3: -9843" : "hello"))
      pair.close()
    }
  }

  // S193: the chain is checked whole.
  @Test(
    "what is expired, not valid yet or of an unknown root is refused",
    arguments: [("expired", -9814), ("not-yet-valid", -9815), ("by-unknown", -9813)])
  func dates(name: String, code: Int) async {
    await #expect(processExitsWith: .success) { [name, code] in
      trustTestRoot()
      let server = try SecureServer(name)
      let pair = CFPair(host: "localhost", port: server.port)
      #expect(pair.secure(level: kCFStreamSocketSecurityLevelTLSv1))
      #expect(greet(pair) == "3: \(code)")
    }
  }
}

/// In a process of its own, before anything is secured.
func trustTestRoot() {
  setenv("SSL_CERT_FILE", TestCertificates.shared.certificate("root"), 1)
  setenv("SSL_CERT_DIR", "/nowhere", 1)
}

#endif
