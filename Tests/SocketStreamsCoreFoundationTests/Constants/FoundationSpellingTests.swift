// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation spells some keys and values of its own; both spellings mean the same to a stream.

import CoreFoundation
import Foundation
import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite("Foundation's spellings")
struct FoundationSpellingTests {
  private let pair = CFPair(boundWithSize: 16)

  // T6: what this toolchain's Foundation calls things, which the adapter relies on.
  @Test("the keys of properties are spelt as CoreFoundation's")
  func propertyKeys() {
    #expect(
      CFEqual(Stream.PropertyKey.socketSecurityLevelKey.rawValue.cf, kCFStreamPropertySocketSecurityLevel))
    #expect(CFEqual(Stream.PropertyKey.socksProxyConfigurationKey.rawValue.cf, kCFStreamPropertySOCKSProxy))
    #expect(CFEqual(Stream.PropertyKey.networkServiceType.rawValue.cf, kCFStreamNetworkServiceType))
  }

  // T6, S188, S199
  @Test(
    "a security level is read in either spelling",
    arguments: [
      (StreamSocketSecurityLevel.none, 0, SecurityLevel.none),
      (.ssLv2, 1, .ssl2),
      (.ssLv3, 2, .ssl3),
      (.tlSv1, 3, .tls1),
      (.negotiatedSSL, 4, .negotiated),
    ])
  func securityLevels(foundation: StreamSocketSecurityLevel, index: Int, level: SecurityLevel) {
    let constants = [
      kCFStreamSocketSecurityLevelNone, kCFStreamSocketSecurityLevelSSLv2, kCFStreamSocketSecurityLevelSSLv3,
      kCFStreamSocketSecurityLevelTLSv1, kCFStreamSocketSecurityLevelNegotiatedSSL,
    ]
    #expect(SecurityLevel(name: foundation.rawValue) == level)
    #expect(SecurityLevel(name: text(constants[index])) == level)
  }

  @Test(
    "what is no security level is none of them",
    arguments: ["", "None", "kCFStreamSocketSecurityLevel", "TLSv1"])
  func noLevel(name: String) {
    #expect(SecurityLevel(name: name) == nil)
  }

  // T6, S188, S190, S199
  @Test("no security is taken in either spelling, the broken kinds in neither")
  func settingLevels() {
    #expect(set(.socketSecurityLevelKey, StreamSocketSecurityLevel.none.rawValue.cf))
    #expect(set(.socketSecurityLevelKey, kCFStreamSocketSecurityLevelNone))
    for refused in [StreamSocketSecurityLevel.ssLv2, .ssLv3] {
      #expect(!set(.socketSecurityLevelKey, refused.rawValue.cf))
    }
    #expect(!set(.socketSecurityLevelKey, kCFStreamSocketSecurityLevelSSLv2))
    #expect(!set(.socketSecurityLevelKey, kCFStreamSocketSecurityLevelSSLv3))
    #expect(!set(.socketSecurityLevelKey, "nothing of the kind".cf))
    #expect(!set(.socketSecurityLevelKey, kCFBooleanTrue))
  }

  // S197, S199
  @Test("a kind of traffic is taken in Foundation's spelling")
  func serviceType() {
    #expect(set(.networkServiceType, StreamNetworkServiceTypeValue.voIP.rawValue.cf))
    #expect(set(.networkServiceType, kCFStreamNetworkServiceTypeVoIP))
  }

  // T6: the spellings that differ from CoreFoundation's constants.
  @Test("Foundation's keys of a SOCKS proxy are what they were when this was written")
  func proxyKeys() {
    #expect(StreamSOCKSProxyConfiguration.hostKey.rawValue == "NSStreamSOCKSProxyKey")
    #expect(StreamSOCKSProxyConfiguration.portKey.rawValue == "NSStreamSOCKSPortKey")
    #expect(StreamSOCKSProxyConfiguration.versionKey.rawValue == "kCFStreamPropertySOCKSVersion")
    #expect(StreamSOCKSProxyConfiguration.userKey.rawValue == "kCFStreamPropertySOCKSUser")
    #expect(StreamSOCKSProxyConfiguration.passwordKey.rawValue == "kCFStreamPropertySOCKSPassword")
    #expect(StreamSOCKSProxyVersion.version4.rawValue == "kCFStreamSocketSOCKSVersion4")
    #expect(StreamSOCKSProxyVersion.version5.rawValue == "kCFStreamSocketSOCKSVersion5")
  }

  private func set(_ key: Stream.PropertyKey, _ value: CFTypeRef) -> Bool {
    let reading = CFReadStreamSetProperty(pair.read, key.rawValue.cf, value)
    let writing = CFWriteStreamSetProperty(pair.write, key.rawValue.cf, value)
    #expect(reading == writing)
    return reading
  }
}
