// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Properties of Foundation's socket streams, with values as programs for Apple's platforms write them.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@testable import func SocketStreamsCoreFoundation.foundationObject

@Suite struct FoundationPropertyTests {
  private let input: InputStream
  private let output: OutputStream

  init() throws {
    let pair = try FoundationPair(host: "localhost", port: 9)
    (input, output) = (pair.input, pair.output)
  }

  // S199, S188: a box of Swift's, a constant, its characters, in either spelling.
  @Test func securityLevelNoneIsTakenInEverySpelling() {
    let key = Stream.PropertyKey.socketSecurityLevelKey
    #expect(input.setProperty(StreamSocketSecurityLevel.none, forKey: key))
    #expect(input.setProperty(StreamSocketSecurityLevel.none as AnyObject, forKey: key))
    #expect(input.setProperty(StreamSocketSecurityLevel.none.rawValue, forKey: key))
    #expect(input.setProperty("NSStreamSocketSecurityLevelNone", forKey: key))
    #expect(input.setProperty("kCFStreamSocketSecurityLevelNone" as AnyObject, forKey: key))
    #expect(output.setProperty(NSString(string: "kCFStreamSocketSecurityLevelNone"), forKey: key))
    #expect(output.setProperty(kCFStreamSocketSecurityLevelNone, forKey: key))
    #expect(output.setProperty(nil, forKey: key))
    #expect(input.property(forKey: key) as? String == StreamSocketSecurityLevel.none.rawValue)
    #expect(
      output.property(forKey: Stream.PropertyKey(rawValue: "kCFStreamPropertySocketSecurityLevel")) as? String
        == "kCFStreamSocketSecurityLevelNone")
  }

  // S180, S181, S182
  @Test func valuesCastToSwifts() {
    func value(_ key: String) -> AnyObject? { input.property(forKey: Stream.PropertyKey(rawValue: key)) }
    #expect(value("kCFStreamPropertySocketRemoteHostName") as? String == "localhost")
    #expect(value("kCFStreamPropertySocketRemotePortNumber") as? NSNumber == 9)
    #expect(value("kCFStreamPropertySocketRemotePortNumber") as? Int == 9)
    #expect(value("kCFStreamPropertyShouldCloseNativeSocket") as? Bool == true)
    #expect(value("kCFStreamPropertySocketNativeHandle") == nil)
    #expect(value("unknown") == nil)
  }

  // S179
  @Test func theNativeHandleIsData() throws {
    let (pair, peer) = try FoundationPair.connected()
    #expect(eventually { pair.input.streamStatus == .open })
    let key = Stream.PropertyKey(rawValue: "kCFStreamPropertySocketNativeHandle")
    let data = try #require(pair.output.property(forKey: key) as? Data)
    #expect(data.count == MemoryLayout<Int32>.size)
    let descriptor = data.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
    #expect(fcntl(descriptor, F_GETFD) >= 0)
    withExtendedLifetime(peer) {}
  }

  // S182, S178
  @Test func numbersAndTruthsAreTaken() {
    let close = Stream.PropertyKey(rawValue: "kCFStreamPropertyShouldCloseNativeSocket")
    #expect(input.setProperty(false, forKey: close))
    #expect(output.property(forKey: close) as? Bool == false)
    #expect(input.setProperty(NSNumber(value: true), forKey: close))
    #expect(input.setProperty(kCFBooleanTrue, forKey: close))
    #expect(!input.setProperty("yes", forKey: close))
    let limit = Stream.PropertyKey(rawValue: "SocketStreamsReadTimeout")
    #expect(input.setProperty(2.5, forKey: limit))
    #expect(input.property(forKey: limit) as? Double == 2.5)
    #expect(input.setProperty(3, forKey: limit))
    #expect(input.property(forKey: limit) as? NSNumber == 3)
    #expect(!input.setProperty(true, forKey: Stream.PropertyKey(rawValue: "unknown")))
    #expect(input.setProperty(StreamNetworkServiceTypeValue.voIP, forKey: .networkServiceType))
  }

  // S199
  @Test func collectionsAreOfFoundationsObjects() throws {
    let proxy: [StreamSOCKSProxyConfiguration: Any] = [
      .hostKey: "proxy", .portKey: 1080, .versionKey: StreamSOCKSProxyVersion.version5,
    ]
    let object = try #require(foundationObject(proxy) as? NSDictionary)
    #expect(CFGetTypeID(object) == CFDictionaryGetTypeID())
    #expect(object["NSStreamSOCKSProxyKey"] as? String == "proxy")
    #expect(object["NSStreamSOCKSPortKey"] as? Int == 1080)
    #expect(object["kCFStreamPropertySOCKSVersion"] as? String == "kCFStreamSocketSOCKSVersion5")
    let list = try #require(foundationObject([["a": [Data([1])]]] as [Any]) as? NSArray)
    let first = try #require(list[0] as? NSDictionary)
    #expect((first["a"] as? NSArray)?[0] as? Data == Data([1]))
    #expect(!input.setProperty(proxy, forKey: .socksProxyConfigurationKey), "there are no proxies yet")
  }

  // S192: a null switches the check of a name off, so nothing may become one by accident.
  @Test("a null is one for CoreFoundation too, and nothing else becomes one")
  func nulls() {
    final class Foreign {}
    #expect(CFEqual(foundationObject(NSNull()), kCFNull))
    #expect(CFEqual(foundationObject(kCFNull!), kCFNull))
    let others: [Any] = [
      String?.none as Any, String??.some(nil) as Any, Foreign(), "", NSString(), 0, false, [Any](),
      [String: Any](),
    ]
    for other in others { #expect(!CFEqual(foundationObject(other), kCFNull), "\(other)") }
    #expect(foundationObject(String?.some("name") as Any) as? String == "name")
    #expect((foundationObject(["name": String?.none as Any]) as? NSDictionary)?["name"] is NSNull == false)
  }
}
