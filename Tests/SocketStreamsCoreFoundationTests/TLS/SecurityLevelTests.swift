// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// kCFStreamPropertySocketSecurityLevel and kCFStreamPropertySSLSettings of CoreFoundation's streams: when they are taken, and
// what they do. Without a root that the system trusts; those with one are in TrustedRootTests.swift.

#if TLS

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite("Security of CoreFoundation's streams", .timeLimit(.minutes(2)))
struct SecurityLevelTests {
  // S188
  @Test("a stream that nobody secures says so, and stays in the clear")
  func unsecured() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(pair.level == "None")
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySSLSettings) == nil)
    write(pair.write, [7])
    #expect(peer.receive(1) == [7])
    #expect(pair.secure(level: nil) && pair.secure(level: kCFStreamSocketSecurityLevelNone))
    #expect(pair.secure(nil))
    #expect(pair.level == "None")
    peer.send([8])
    #expect(read(pair.read).bytes == [8])
  }

  // S188, S191
  @Test("a level is read back from both streams, until it is taken off")
  func readingBack() throws {
    let pair = CFPair(port: 9)
    #expect(pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
    #expect(pair.level == "NegotiatedSSL")
    #expect(pair.secure(level: kCFStreamSocketSecurityLevelTLSv1))
    #expect(pair.level == "TLSv1")
    #expect(pair.secure(level: kCFStreamSocketSecurityLevelNone))
    #expect(pair.level == "None")
    #expect(pair.secure(settings([])))
    #expect(pair.level == "NegotiatedSSL")
    #expect(pair.secure(settings([(kCFStreamSSLLevel, kCFStreamSocketSecurityLevelTLSv1)])))
    #expect(pair.level == "TLSv1")
    #expect(pair.secure(settings([(kCFStreamSSLLevel, kCFStreamSocketSecurityLevelNone)])))
    #expect(pair.level == "None")
  }

  // S188, S191, S177, D16
  @Test("the broken levels are refused, and change nothing")
  func broken() throws {
    let pair = CFPair(port: 9)
    #expect(pair.secure(level: kCFStreamSocketSecurityLevelTLSv1))
    let refused: [CFTypeRef] = [
      kCFStreamSocketSecurityLevelSSLv2, kCFStreamSocketSecurityLevelSSLv3,
      "NSStreamSocketSecurityLevelSSLv3".cf, "TLSv1".cf, kCFBooleanTrue, kCFNull,
    ]
    for level in refused {
      #expect(!CFReadStreamSetProperty(pair.read, kCFStreamPropertySocketSecurityLevel, level))
      #expect(!CFWriteStreamSetProperty(pair.write, kCFStreamPropertySocketSecurityLevel, level))
      #expect(!pair.secure(settings([(kCFStreamSSLLevel, level)])))
    }
    let noDictionaries: [CFTypeRef] = [kCFBooleanTrue!, kCFNull!, array([]), "".cf]
    for settings in noDictionaries { #expect(!pair.secure(settings)) }
    #expect(pair.level == "TLSv1")
  }

  // S188, S189, S173
  @Test("a level or an empty dictionary has the chain checked", arguments: [true, false])
  func checksByDefault(isLevel: Bool) throws {
    let server = try SecureServer()
    let pair = CFPair(host: "localhost", port: server.port)
    if isLevel {
      #expect(pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
    } else {
      #expect(pair.secure(settings([])))
    }
    let answer = greet(pair)
    #expect(isUntrusted.contains(answer), "\(answer)")
    #expect(server.hasEnded() && server.received.isEmpty)
  }

  // S193
  @Test(
    "whoever has the chain left unchecked gets any peer",
    arguments: ["localhost", "self-signed", "by-unknown", "expired", "other.test"])
  func unchecked(name: String) throws {
    let server = try SecureServer(name)
    let pair = CFPair(host: "localhost", port: server.port)
    #expect(pair.secure(believing))
    #expect(greet(pair) == "hello")
    #expect(server.received == Array("hello".utf8))
    pair.close()
  }

  // S193, D16
  @Test("a part of the checks cannot be switched off")
  func weakened() throws {
    let pair = CFPair(port: 9)
    for key in [
      kCFStreamSSLAllowsExpiredCertificates, kCFStreamSSLAllowsExpiredRoots, kCFStreamSSLAllowsAnyRoot,
    ] {
      #expect(!pair.secure(settings([(key, kCFBooleanTrue)])))
      #expect(pair.level == "None")
      #expect(pair.secure(settings([(key, kCFBooleanFalse)])))
      #expect(pair.level == "NegotiatedSSL")
      #expect(pair.secure(nil))
    }
  }

  // S189
  @Test("what is taken off before the handshake is not there", arguments: [0, 1, 2])
  func takenOff(way: Int) throws {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    #expect(pair.secure(believing))
    switch way {
    case 0: #expect(pair.secure(nil))
    case 1: #expect(pair.secure(level: nil))
    default: #expect(CFWriteStreamSetProperty(pair.write, kCFStreamPropertySSLSettings, nil))
    }
    pair.open()
    let peer = try #require(listener.accept())
    #expect(write(pair.write, Array("clear".utf8)) == 5)
    #expect(peer.receive(5) == Array("clear".utf8))
  }

  // S189
  @Test("once the handshake has begun nothing is changed, nor taken off")
  func begun() throws {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    #expect(pair.secure(believing))
    pair.open()
    let peer = try #require(listener.accept())
    #expect(peer.receive(1) == [22], "a record of the handshake")
    expectUnchangeable(pair)
    peer.close()
  }

  // S189
  @Test("after the handshake nothing is changed, nor taken off")
  func done() throws {
    let server = try SecureServer()
    let pair = CFPair(port: server.port)
    #expect(pair.secure(believing))
    #expect(greet(pair) == "hello")
    expectUnchangeable(pair)
    #expect(greet(pair, "again") == "again")
    pair.close()
  }

  // S189, S190: what is set already is no change.
  private func expectUnchangeable(_ pair: CFPair) {
    let named = settings([
      (kCFStreamSSLValidatesCertificateChain, kCFBooleanFalse), (kCFStreamSSLPeerName, "other.test".cf),
    ])
    for refused in [nil, settings([]), named] as [CFDictionary?] {
      #expect(!pair.secure(refused))
      #expect(!CFWriteStreamSetProperty(pair.write, kCFStreamPropertySSLSettings, refused))
    }
    #expect(!pair.secure(level: nil) && !pair.secure(level: kCFStreamSocketSecurityLevelNone))
    #expect(!pair.secure(level: kCFStreamSocketSecurityLevelTLSv1))
    #expect(pair.secure(believing) && pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
    #expect(pair.level == "NegotiatedSSL")
  }

  // S190, D16
  @Test("the second stream takes the same settings, before the opening and later", arguments: [true, false])
  func secondStream(isEarly: Bool) throws {
    let server = try SecureServer("localhost", isEarly ? .echo : .upgrade)
    let pair = CFPair(port: server.port)
    if !isEarly { #expect(greetUpgrading(pair)) }
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertySSLSettings, believing))
    #expect(CFWriteStreamSetProperty(pair.write, kCFStreamPropertySSLSettings, believing))
    #expect(greet(pair) == "hello")
    pair.close()
  }

  // S190: GCDAsyncSocket and others set the level on top of the settings.
  @Test("a level on top of settings keeps them")
  func levelOnSettings() throws {
    let server = try SecureServer("other.test")
    let pair = CFPair(port: server.port)
    #expect(pair.secure(believing))
    #expect(
      CFWriteStreamSetProperty(
        pair.write, kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelNegotiatedSSL))
    #expect(greet(pair) == "hello")
    pair.close()
  }

  // S188: STARTTLS.
  @Test("an open connection is secured from the next byte on")
  func later() throws {
    let server = try SecureServer("localhost", .upgrade)
    let pair = CFPair(port: server.port)
    #expect(greetUpgrading(pair))
    #expect(pair.level == "None" && server.received.isEmpty)
    #expect(pair.secure(believing))
    #expect(greet(pair) == "hello")
    #expect(server.received == Array("hello".utf8))
    pair.close()
  }

  // S188: they could be anybody's.
  @Test("bytes that came before are not taken for secured ones")
  func unreadBytes() throws {
    let (pair, peer) = try CFPair.connected()
    peer.send(Array("220 go\r\n".utf8))
    #expect(read(pair.read, 3).count == 3)
    #expect(pair.secure(believing))
    #expect(read(pair.read).count == -1)
    #expect(failure(of: pair) == "3: \(StreamError.TLS.protocolError.rawValue)")
    withExtendedLifetime(peer) {}
  }

  // S177
  @Test("a pair in memory is not secured, and goes on")
  func bound() {
    let pair = CFPair(boundWithSize: 64)
    #expect(!pair.secure(believing))
    #expect(!pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
    #expect(pair.level == "None")
    pair.open()
    #expect(write(pair.write, [1, 2]) == 2)
    #expect(read(pair.read).bytes == [1, 2])
    pair.close()
  }
}

#endif
