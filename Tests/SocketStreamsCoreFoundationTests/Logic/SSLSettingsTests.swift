// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a dictionary of kCFStreamPropertySSLSettings asks for: each key, each of its values, and what is refused.

import Testing

@testable import SocketStreamsCoreFoundation

@Suite("The dictionary of TLS settings")
struct SSLSettingsTests {
  private static let identity: SSLSettings.Value = .parts([
    Array("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n".utf8)
  ])

  // S189, S191, S192, S193, S194
  @Test("an empty dictionary is a client that checks the chain, and the name if there is a host")
  func defaults() throws {
    let settings = try #require(SSLSettings([:]))
    #expect(settings == SSLSettings())
    #expect(settings.level == .negotiated)
    #expect(settings.peerName == .host)
    #expect(settings.validatesChain && !settings.isServer && settings.identity == nil)
    #expect(settings.check(hasHost: true) == .chainAndName)
    #expect(settings.check(hasHost: false) == .chain)
  }

  // S191, S188, S199
  @Test(
    "a level is taken in either spelling",
    arguments: [
      ("kCFStreamSocketSecurityLevelNone", SecurityLevel.none), ("NSStreamSocketSecurityLevelNone", .none),
      ("kCFStreamSocketSecurityLevelTLSv1", .tls1), ("NSStreamSocketSecurityLevelTLSv1", .tls1),
      ("kCFStreamSocketSecurityLevelNegotiatedSSL", .negotiated),
      ("NSStreamSocketSecurityLevelNegotiatedSSL", .negotiated),
    ])
  func levels(name: String, level: SecurityLevel) {
    #expect(SSLSettings(["kCFStreamSSLLevel": .text(name)])?.level == level)
    #expect(SecurityLevel(name: level.name) == level)
  }

  // S188, S191, D16
  @Test(
    "a broken level is refused in either spelling, and so is one that is none",
    arguments: [
      "kCFStreamSocketSecurityLevelSSLv2", "NSStreamSocketSecurityLevelSSLv2",
      "kCFStreamSocketSecurityLevelSSLv3", "NSStreamSocketSecurityLevelSSLv3", "TLSv1", "",
    ])
  func refusedLevels(name: String) {
    #expect(SSLSettings(["kCFStreamSSLLevel": .text(name)]) == nil)
  }

  // S192
  @Test("a peer name is checked with or without a host, and a null checks none")
  func peerName() throws {
    let given = try #require(SSLSettings(["kCFStreamSSLPeerName": .text("other.test")]))
    #expect(given.peerName == .given("other.test"))
    #expect(given.check(hasHost: true) == .chainAndName)
    #expect(given.check(hasHost: false) == .chainAndName)
    let null = try #require(SSLSettings(["kCFStreamSSLPeerName": .null]))
    #expect(null.peerName == .unchecked)
    #expect(null.check(hasHost: true) == .chain)
    #expect(SSLSettings(["kCFStreamSSLPeerName": .text("")]) == nil, "it would be no name to check")
  }

  // S193
  @Test("a chain that is not checked leaves the name unchecked, whichever is given")
  func unvalidatedChain() throws {
    for name in [nil, .text("other.test"), .null] as [SSLSettings.Value?] {
      var entries: [String: SSLSettings.Value] = ["kCFStreamSSLValidatesCertificateChain": .truth(false)]
      entries["kCFStreamSSLPeerName"] = name
      #expect(try #require(SSLSettings(entries)).check(hasHost: true) == .nothing)
    }
    let explicit = SSLSettings(["kCFStreamSSLValidatesCertificateChain": .truth(true)])
    #expect(explicit == SSLSettings())
  }

  // S193, D16
  @Test(
    "a part of the checks is not switched off",
    arguments: [
      "kCFStreamSSLAllowsExpiredCertificates", "kCFStreamSSLAllowsExpiredRoots", "kCFStreamSSLAllowsAnyRoot",
    ])
  func weakenedChecks(key: String) {
    #expect(SSLSettings([key: .truth(false)]) == SSLSettings())
    #expect(SSLSettings([key: .truth(true)]) == nil)
  }

  // S194
  @Test("a server needs a certificate, and a client may have one")
  func server() throws {
    let (isServer, certificates) = ("kCFStreamSSLIsServer", "kCFStreamSSLCertificates")
    #expect(SSLSettings([isServer: .truth(false)]) == SSLSettings())
    #expect(SSLSettings([isServer: .truth(true)]) == nil)
    #expect(SSLSettings([isServer: .truth(true), certificates: .parts([])]) == nil)
    let server = try #require(SSLSettings([isServer: .truth(true), certificates: Self.identity]))
    #expect(server.isServer && server.identity != nil)
    let client = try #require(SSLSettings([certificates: Self.identity]))
    #expect(!client.isServer && client.identity != nil)
  }

  // S177, S189
  @Test(
    "a value of another kind refuses the whole dictionary",
    arguments: [
      ("kCFStreamSSLLevel", SSLSettings.Value.truth(true)), ("kCFStreamSSLLevel", .null),
      ("kCFStreamSSLPeerName", .truth(false)), ("kCFStreamSSLPeerName", .other),
      ("kCFStreamSSLValidatesCertificateChain", .text("no")),
      ("kCFStreamSSLValidatesCertificateChain", .null),
      ("kCFStreamSSLIsServer", .text("yes")), ("kCFStreamSSLCertificates", .text("path")),
      ("kCFStreamSSLCertificates", .other), ("kCFStreamSSLAllowsAnyRoot", .null),
    ])
  func otherKinds(key: String, value: SSLSettings.Value) {
    #expect(SSLSettings([key: value, "kCFStreamSSLAllowsExpiredRoots": .truth(false)]) == nil)
  }

  // S177: what it would have asked for is not known.
  @Test("an unknown key refuses the whole dictionary")
  func unknownKey() {
    #expect(SSLSettings(["kCFStreamSSLPeerNames": .text("localhost")]) == nil)
    #expect(SSLSettings(["": .other]) == nil)
  }
}
