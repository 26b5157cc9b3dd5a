// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Without the trait TLS, a connection cannot be made to look safe.

#if !TLS

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite("Security that is not there")
struct CFWithoutTLSTests {
  // S188, S189, S177
  @Test("a level, settings, or their parts are refused, and the connection goes on in the clear")
  func refusals() throws {
    let (pair, peer) = try CFPair.connected()
    let key = kCFStreamPropertySocketSecurityLevel
    for level in [
      kCFStreamSocketSecurityLevelSSLv2, kCFStreamSocketSecurityLevelSSLv3, kCFStreamSocketSecurityLevelTLSv1,
      kCFStreamSocketSecurityLevelNegotiatedSSL, "NSStreamSocketSecurityLevelNegotiatedSSL".cf, "nonsense".cf,
    ] { #expect(!CFReadStreamSetProperty(pair.read, key, level)) }
    #expect(CFReadStreamSetProperty(pair.read, key, kCFStreamSocketSecurityLevelNone))
    #expect(CFReadStreamSetProperty(pair.read, key, nil))
    #expect(CFEqual(CFReadStreamCopyProperty(pair.read, key), kCFStreamSocketSecurityLevelNone))
    let empty = CFDictionaryCreate(nil, nil, nil, 0, nil, nil)
    #expect(!CFReadStreamSetProperty(pair.read, kCFStreamPropertySSLSettings, empty))
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertySSLSettings, nil))
    for key in [kCFStreamPropertySSLPeerCertificates, kCFStreamPropertySSLPeerTrust] {
      #expect(CFReadStreamCopyProperty(pair.read, key) == nil)
      #expect(!CFReadStreamSetProperty(pair.read, key, nil))
    }
    peer.send([1])
    #expect(read(pair.read).bytes == [1], "a refusal breaks nothing")
  }

  // S188, S177, S199
  @Test(
    "Foundation's levels are refused, in both spellings",
    arguments: [StreamSocketSecurityLevel.ssLv2, .ssLv3, .tlSv1, .negotiatedSSL])
  func foundation(level: StreamSocketSecurityLevel) throws {
    let key = Stream.PropertyKey.socketSecurityLevelKey
    let input = try FoundationPair(host: "localhost", port: 9).input
    let name = level.rawValue.replacing("NSStream", with: "kCFStream")
    #expect(!input.setProperty(level, forKey: key))
    #expect(!input.setProperty(name, forKey: key))
    #expect(!input.setProperty(name.replacing("kCFStream", with: "NSStream"), forKey: key))
    #expect(input.property(forKey: key) as? String == StreamSocketSecurityLevel.none.rawValue)
    #expect(input.streamStatus == .notOpen && input.streamError == nil)
  }
}

#endif
