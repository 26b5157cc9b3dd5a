// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The constants that CoreFoundation's headers and CFNetwork's declare: strings of CoreFoundation's with Apple's values.

import CoreFoundation
import Foundation
import SocketStreamsCoreFoundation
import Testing

// Constants, of which nobody changes a reference count.
private nonisolated(unsafe) let constants: [(constant: CFString, value: String)] = [
  (kCFStreamPropertyShouldCloseNativeSocket, "kCFStreamPropertyShouldCloseNativeSocket"),
  (kCFStreamPropertySocketSecurityLevel, "kCFStreamPropertySocketSecurityLevel"),
  (kCFStreamSocketSecurityLevelNone, "kCFStreamSocketSecurityLevelNone"),
  (kCFStreamSocketSecurityLevelSSLv2, "kCFStreamSocketSecurityLevelSSLv2"),
  (kCFStreamSocketSecurityLevelSSLv3, "kCFStreamSocketSecurityLevelSSLv3"),
  (kCFStreamSocketSecurityLevelTLSv1, "kCFStreamSocketSecurityLevelTLSv1"),
  (kCFStreamSocketSecurityLevelNegotiatedSSL, "kCFStreamSocketSecurityLevelNegotiatedSSL"),
  (kCFStreamPropertySOCKSProxy, "kCFStreamPropertySOCKSProxy"),
  (kCFStreamPropertySOCKSProxyHost, "SOCKSProxy"),
  (kCFStreamPropertySOCKSProxyPort, "SOCKSPort"),
  (kCFStreamPropertySOCKSVersion, "kCFStreamPropertySOCKSVersion"),
  (kCFStreamSocketSOCKSVersion4, "kCFStreamSocketSOCKSVersion4"),
  (kCFStreamSocketSOCKSVersion5, "kCFStreamSocketSOCKSVersion5"),
  (kCFStreamPropertySOCKSUser, "kCFStreamPropertySOCKSUser"),
  (kCFStreamPropertySOCKSPassword, "kCFStreamPropertySOCKSPassword"),
  (kCFErrorDomainCFNetwork, "kCFErrorDomainCFNetwork"),
  (kCFGetAddrInfoFailureKey, "kCFGetAddrInfoFailureKey"),
  (kCFStreamPropertySSLSettings, "kCFStreamPropertySSLSettings"),
  (kCFStreamPropertySSLPeerCertificates, "kCFStreamPropertySSLPeerCertificates"),
  (kCFStreamPropertySSLPeerTrust, "kCFStreamPropertySSLPeerTrust"),
  (kCFStreamSSLLevel, "kCFStreamSSLLevel"),
  (kCFStreamSSLAllowsExpiredCertificates, "kCFStreamSSLAllowsExpiredCertificates"),
  (kCFStreamSSLAllowsExpiredRoots, "kCFStreamSSLAllowsExpiredRoots"),
  (kCFStreamSSLAllowsAnyRoot, "kCFStreamSSLAllowsAnyRoot"),
  (kCFStreamSSLValidatesCertificateChain, "kCFStreamSSLValidatesCertificateChain"),
  (kCFStreamSSLPeerName, "kCFStreamSSLPeerName"),
  (kCFStreamSSLCertificates, "kCFStreamSSLCertificates"),
  (kCFStreamSSLIsServer, "kCFStreamSSLIsServer"),
  (kCFStreamPropertyHTTPProxy, "kCFStreamPropertyHTTPProxy"),
  (kCFStreamPropertyHTTPProxyHost, "HTTPProxy"),
  (kCFStreamPropertyHTTPProxyPort, "HTTPPort"),
  (kCFStreamPropertyHTTPSProxyHost, "HTTPSProxy"),
  (kCFStreamPropertyHTTPSProxyPort, "HTTPSPort"),
  (kCFStreamNetworkServiceType, "kCFStreamNetworkServiceType"),
  (kCFStreamNetworkServiceTypeBackground, "kCFStreamNetworkServiceTypeBackground"),
  (kCFStreamNetworkServiceTypeVideo, "kCFStreamNetworkServiceTypeVideo"),
  (kCFStreamNetworkServiceTypeVoice, "kCFStreamNetworkServiceTypeVoice"),
  (kCFStreamNetworkServiceTypeVoIP, "kCFStreamNetworkServiceTypeVoIP"),
  (kCFStreamPropertySocketExtendedBackgroundIdleMode, "kCFStreamPropertySocketExtendedBackgroundIdleMode"),
  (kCFStreamPropertyAutoErrorOnSystemChange, "kCFStreamPropertyAutoErrorOnSystemChange"),
  (kSocketStreamsHalfClose, "SocketStreamsHalfClose"),
  (kSocketStreamsConnectTimeout, "SocketStreamsConnectTimeout"),
  (kSocketStreamsReadTimeout, "SocketStreamsReadTimeout"),
  (kSocketStreamsWriteTimeout, "SocketStreamsWriteTimeout"),
  (kSocketStreamsNoDelay, "SocketStreamsNoDelay"),
]

@Suite("The constants")
struct ConstantTests {
  // T4
  @Test(
    "a constant is a string of CoreFoundation's, equal to one made at run time", arguments: constants.indices)
  func equality(index: Int) {
    let (constant, value) = constants[index]
    #expect(CFGetTypeID(constant) == CFStringGetTypeID())
    #expect(CFStringGetLength(constant) == value.utf16.count)
    #expect(text(constant) == value)
    #expect(CFEqual(constant, value.cf))
    #expect(CFEqual(value.cf, constant))
    #expect(CFHash(constant) == CFHash(value.cf))
    #expect(!CFEqual(constant, (value + "x").cf))
  }

  // T4
  @Test(
    "a constant finds what was stored under an equal string, and the other way round",
    arguments: constants.indices)
  func dictionaryKey(index: Int) {
    let (constant, value) = constants[index]
    #expect(finds(constant, storedAs: value.cf))
    #expect(finds(value.cf, storedAs: constant))
    #expect(!finds((value + "x").cf, storedAs: constant))
  }

  // T4
  @Test("a constant survives being released too often, as every constant does", arguments: constants.indices)
  func immortality(index: Int) {
    let constant = Unmanaged.passUnretained(constants[index].constant)
    for _ in 0..<3 { constant.release() }
    for _ in 0..<5 { _ = constant.retain() }
    #expect(text(constant.takeUnretainedValue()) == constants[index].value)
  }

  // T4
  @Test("a constant is an NSString too", arguments: constants.indices)
  func foundationString(index: Int) throws {
    let string = try #require(constants[index].constant as AnyObject as? NSString)
    #expect(string == NSString(string: constants[index].value))
    #expect(string as String == constants[index].value)
  }

  // S23
  @Test("a stream's status has CFStream's numbers")
  func statusNumbers() {
    let statuses: [CFStreamStatus] = [
      .notOpen, .opening, .open, .reading, .writing, .atEnd, .closed, .error,
    ]
    #expect(statuses.map(\.rawValue) == Array(0...7))
  }

  // T4, S164 to S169
  @Test("the error domains have Apple's numbers")
  func domainNumbers() {
    #expect(kCFStreamErrorDomainSSL == 3)
    #expect(kCFStreamErrorDomainHTTP == 4)
    #expect(kCFStreamErrorDomainSOCKS == 5)
    #expect(kCFStreamErrorDomainNetDB == 12)
    #expect(CFNetworkErrors.cfHostErrorHostNotFound.rawValue == 1)
    #expect(CFNetworkErrors.cfHostErrorUnknown.rawValue == 2)
  }

  private func finds(_ key: CFString, storedAs stored: CFString) -> Bool {
    var keyCalls = kCFTypeDictionaryKeyCallBacks
    let dictionary = CFDictionaryCreateMutable(nil, 0, &keyCalls, nil)
    CFDictionaryAddValue(dictionary, pointer(stored), nil)
    return CFDictionaryContainsKey(dictionary, pointer(key))
  }

  private func pointer(_ string: CFString) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(string).toOpaque())
  }
}
