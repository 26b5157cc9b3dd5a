// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation's streams, secured as programs for Apple's platforms secure them.

#if TLS

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import SocketStreamsTLS
import Testing

private let sslSettings = Stream.PropertyKey(rawValue: "kCFStreamPropertySSLSettings")
private let sslPeerCertificates = Stream.PropertyKey(rawValue: "kCFStreamPropertySSLPeerCertificates")
private let anybody = ["kCFStreamSSLValidatesCertificateChain": false]

@Suite("Security of Foundation's streams", .timeLimit(.minutes(2)))
struct FoundationSecurityTests {
  // S199, S188, T6
  @Test(
    "a security level is taken as a constant, an object, its value, and in CoreFoundation's spelling",
    arguments: [StreamSocketSecurityLevel.tlSv1, .negotiatedSSL])
  func levels(level: StreamSocketSecurityLevel) throws {
    let key = Stream.PropertyKey.socketSecurityLevelKey
    let name = level.rawValue.replacing("NSStream", with: "kCFStream")
    let values: [Any] = [
      level, level as AnyObject, level.rawValue, name, name.replacing("kCFStream", with: "NSStream"),
      NSString(string: name), name.cf,
    ]
    for (index, value) in values.enumerated() {
      let pair = try FoundationPair(host: "localhost", port: 9)
      #expect(pair.input.setProperty(value, forKey: key), "\(index)")
      #expect(pair.output.property(forKey: key) as? String == name)
      #expect(pair.output.setProperty(value, forKey: key), "\(index)")
      #expect(pair.output.setProperty(StreamSocketSecurityLevel.none, forKey: key))
      #expect(pair.input.property(forKey: key) as? String == "kCFStreamSocketSecurityLevelNone")
    }
  }

  // S199, S188, D16
  @Test("the broken levels are refused", arguments: [StreamSocketSecurityLevel.ssLv2, .ssLv3])
  func broken(level: StreamSocketSecurityLevel) throws {
    let pair = try FoundationPair(host: "localhost", port: 9)
    #expect(!pair.input.setProperty(level, forKey: .socketSecurityLevelKey))
    #expect(!pair.output.setProperty(level as AnyObject, forKey: .socketSecurityLevelKey))
    #expect(!pair.input.setProperty(["kCFStreamSSLLevel": level], forKey: sslSettings))
    #expect(
      pair.input.property(forKey: .socketSecurityLevelKey) as? String == "kCFStreamSocketSecurityLevelNone")
  }

  // S199, S191 to S195
  @Test("a dictionary of Swift's values is taken, and refused, as CoreFoundation's is")
  func dictionary() throws {
    let made = TestCertificates.shared
    let pem = Data(made.bytes("localhost-with-key.pem"))
    let taken: [[String: Any]] = [
      [:], anybody, ["kCFStreamSSLLevel": StreamSocketSecurityLevel.negotiatedSSL],
      ["kCFStreamSSLPeerName": NSNull()], ["kCFStreamSSLPeerName": "other.test"],
      ["kCFStreamSSLIsServer": true, "kCFStreamSSLCertificates": [pem]],
      ["kCFStreamSSLIsServer": NSNumber(value: 1), "kCFStreamSSLCertificates": [NSData(data: pem)]],
      [
        "kCFStreamSSLCertificates": [
          URL(fileURLWithPath: made.certificate("client")), URL(fileURLWithPath: made.key("client")),
        ]
      ],
    ]
    let refused: [[String: Any]] = [
      ["kCFStreamSSLPeerName": String?.none as Any], ["kCFStreamSSLPeerName": 1],
      ["kCFStreamSSLAllowsAnyRoot": true], ["kCFStreamSSLIsServer": true],
      ["kCFStreamSSLCertificates": [made.certificate("client")]], ["unknown": true],
    ]
    for (index, settings) in taken.enumerated() {
      let pair = try FoundationPair(host: "localhost", port: 9)
      #expect(pair.output.setProperty(settings, forKey: sslSettings), "\(index)")
      #expect(pair.input.setProperty(settings, forKey: sslSettings), "S190, \(index)")
    }
    let pair = try FoundationPair(host: "localhost", port: 9)
    for (index, settings) in refused.enumerated() {
      #expect(!pair.output.setProperty(settings, forKey: sslSettings), "\(index)")
    }
    #expect(
      pair.input.property(forKey: .socketSecurityLevelKey) as? String == "kCFStreamSocketSecurityLevelNone")
  }

  // S218, S188, S189, S196, S199
  @Test("streams to a host that are secured before they open talk, and show the peer's certificate")
  func conversation() throws {
    let server = try SecureServer()
    let pair = try FoundationPair(host: "localhost", port: server.port)
    for stream in [pair.input, pair.output] as [Stream] {
      #expect(stream.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey))
      #expect(stream.setProperty(anybody, forKey: sslSettings))
      #expect(stream.property(forKey: sslPeerCertificates) == nil)
    }
    pair.open()
    #expect(writeAll(pair.output, Array("hello".utf8)))
    #expect(read(pair.input) == Array("hello".utf8))
    let shown = pair.input.property(forKey: sslPeerCertificates) as? [Data]
    #expect(shown?.map { Array($0) } == [TestCertificates.shared.bytes("localhost.der")])
    #expect(pair.input.property(forKey: .init(rawValue: "kCFStreamPropertySSLPeerTrust")) == nil)
    #expect(!pair.input.setProperty(nil, forKey: sslSettings), "it has begun")
    pair.close()
    #expect(server.hasEnded())
    #expect(server.ends == [nil])
  }

  // S215, S55
  @Test("a delegate hears of the opening, of room after the handshake, and of bytes")
  func delegate() throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    let recorder = Recorder()
    for stream in [pair.input, pair.output] as [Stream] {
      stream.delegate = recorder
      stream.schedule(in: .current, forMode: .default)
      #expect(stream.setProperty(anybody, forKey: sslSettings))
    }
    pair.open()
    let socket = try #require(listener.accept())
    #expect(turn { recorder.count(.openCompleted) == 2 })
    settle()
    #expect(recorder.entries.count == 2)
    let peer = try SecureServer()
    peer.take(socket)
    #expect(turn { recorder.has(.hasSpaceAvailable) })
    #expect(writeAll(pair.output, Array("hello".utf8)))
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(read(pair.input) == Array("hello".utf8))
    pair.close()
  }

  // S215, S55, S188: the delegate was told of room before, and the streams may have been moved since.
  @Test(
    "delegates hear of room and bytes anew when one of the streams is secured later",
    arguments: [false, true])
  func later(areMoved: Bool) throws {
    let server = try SecureServer("localhost", .upgrade)
    let pair = try FoundationPair(port: server.port)
    let recorder = Recorder()
    for stream in [pair.input, pair.output] as [Stream] {
      stream.delegate = recorder
      stream.schedule(in: .current, forMode: .default)
    }
    pair.open()
    #expect(turn { recorder.has(.hasSpaceAvailable) })
    #expect(writeAll(pair.output, Array("STARTTLS\r\n".utf8)))
    #expect(turn { recorder.has(.hasBytesAvailable) && recorder.count(.hasSpaceAvailable) == 2 })
    #expect(read(pair.input) == Array("220 go\r\n".utf8))
    for stream in [pair.input, pair.output] as [Stream] where areMoved {
      stream.remove(from: .current, forMode: .default)
      stream.schedule(in: .current, forMode: .common)
    }
    settle()
    #expect(recorder.count(.hasSpaceAvailable) == 2 && recorder.count(.hasBytesAvailable) == 1)
    #expect(pair.input.setProperty(anybody, forKey: sslSettings))
    #expect(turn { recorder.count(.hasSpaceAvailable) == 3 })
    #expect(pair.output.hasSpaceAvailable)
    #expect(writeAll(pair.output, Array("hello".utf8)))
    #expect(turn { recorder.count(.hasBytesAvailable) == 2 })
    #expect(read(pair.input) == Array("hello".utf8))
    pair.close()
  }

  // S168, S218
  @Test("a failed handshake is an NSError with the code, the text and the reason")
  func failure() throws {
    let server = try SecureServer("self-signed")
    let pair = try FoundationPair(host: "localhost", port: server.port)
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    #expect(pair.input.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey))
    pair.input.open()
    #expect(turn { recorder.has(.errorOccurred) })
    let error = try #require(pair.input.streamError as NSError?)
    #expect(error.domain == NSOSStatusErrorDomain)
    #expect(isUntrusted.contains("3: \(error.code)"))
    let code = try #require(StreamError.TLS(rawValue: Int32(error.code)))
    let reason = StreamError.tls(code, "").reason
    #expect(error.localizedDescription.hasPrefix("TLS handshake: \(reason) (TLS \(code.rawValue): "))
    #expect(error.localizedFailureReason?.hasPrefix("\(reason): ") == true)
    pair.input.close()
  }
}

#endif
