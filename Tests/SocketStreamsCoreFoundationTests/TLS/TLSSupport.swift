// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What CoreFoundation's streams are told of TLS, and what they say of it, in tests.

#if TLS

import CoreFoundation
import Foundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

/// A dictionary of CoreFoundation's.
func settings(_ entries: [(CFString, CFTypeRef)]) -> CFDictionary {
  var keyCalls = kCFTypeDictionaryKeyCallBacks
  var valueCalls = kCFTypeDictionaryValueCallBacks
  let dictionary = CFDictionaryCreateMutable(nil, 0, &keyCalls, &valueCalls)!
  for (key, value) in entries {
    CFDictionarySetValue(dictionary, pointer(key), pointer(value))
  }
  return dictionary
}

/// A client that believes anybody: most tests are not about certificates, and nobody has told the system of theirs.
var believing: CFDictionary { settings([(kCFStreamSSLValidatesCertificateChain, kCFBooleanFalse)]) }

/// An array of CoreFoundation's.
func array(_ elements: [CFTypeRef]) -> CFArray {
  var calls = kCFTypeArrayCallBacks
  let array = CFArrayCreateMutable(nil, 0, &calls)!
  for element in elements { CFArrayAppendValue(array, pointer(element)) }
  return array
}

/// Bytes of a file of certificates as CFData.
func data(_ name: String) -> CFTypeRef {
  let bytes = TestCertificates.shared.bytes(name)
  return CFDataCreate(nil, bytes, bytes.count)
}

/// A file of certificates as CFURL.
func url(_ path: String) -> CFTypeRef {
  CFURLCreateWithFileSystemPath(nil, path.cf, .cfurlposixPathStyle, false)
}

/// The bytes of an array of CFData.
func certificates(_ object: CFTypeRef?) -> [[UInt8]]? {
  ((object as? NSArray) as? [Data])?.map { Array($0) }
}

extension CFPair {
  /// Sets settings of TLS on the read stream.
  @discardableResult
  func secure(_ settings: CFTypeRef?) -> Bool {
    CFReadStreamSetProperty(read, kCFStreamPropertySSLSettings, settings)
  }

  /// Sets the level on the read stream.
  @discardableResult
  func secure(level: CFString?) -> Bool {
    CFReadStreamSetProperty(read, kCFStreamPropertySocketSecurityLevel, level)
  }

  /// What both streams say that the level is, if they say the same.
  var level: String? {
    let key = kCFStreamPropertySocketSecurityLevel
    let levels = [CFReadStreamCopyProperty(read, key), CFWriteStreamCopyProperty(write, key)]
      .map { ($0 as? NSString) as String? }
    return levels[0] == levels[1] ? levels[0]?.replacing("kCFStreamSocketSecurityLevel", with: "") : nil
  }

  /// What both streams say that the peer has shown, if they say the same.
  var peerCertificates: [[UInt8]]? {
    let key = kCFStreamPropertySSLPeerCertificates
    let reading = certificates(CFReadStreamCopyProperty(read, key))
    return reading == certificates(CFWriteStreamCopyProperty(write, key)) ? reading : nil
  }
}

/// What becomes of opening both streams and saying hello to a peer that echoes: the answer, or the failure.
func greet(_ pair: CFPair, _ text: String = "hello") -> String {
  pair.open()
  var unsent = Array(text.utf8)[...]
  while !unsent.isEmpty {
    let count = write(pair.write, Array(unsent))
    if count <= 0 { return failure(of: pair) }
    unsent = unsent.dropFirst(count)
  }
  var answer: [UInt8] = []
  while answer.count < text.utf8.count {
    let (count, bytes) = read(pair.read)
    if count <= 0 { return failure(of: pair) }
    answer += bytes
  }
  return String(decoding: answer, as: UTF8.self)
}

/// Opens both streams and asks a server of ``SecureServer/Service/upgrade`` for TLS.
/// - Returns: Whether it agreed.
func greetUpgrading(_ pair: CFPair) -> Bool {
  pair.open()
  write(pair.write, Array("STARTTLS\r\n".utf8))
  var answer: [UInt8] = []
  while answer.count < 8 {
    let (count, bytes) = read(pair.read, 8 - answer.count)
    if count <= 0 { return false }
    answer += bytes
  }
  return answer == Array("220 go\r\n".utf8)
}

/// The numbers of the error of both streams, if they are the same. A stream finds out when it is used.
func failure(of pair: CFPair) -> String {
  _ = (read(pair.read), write(pair.write, [0]))
  let (one, other) = (CFReadStreamGetError(pair.read), CFWriteStreamGetError(pair.write))
  return one == other ? "\(one.domain): \(one.error)" : "\(one) and \(other)"
}

private func pointer(_ object: AnyObject) -> UnsafeRawPointer {
  UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
}

/// What a failed check of a chain without a trusted root may be.
let isUntrusted: Set<String> = [
  "3: \(StreamError.TLS.unknownRoot.rawValue)", "3: \(StreamError.TLS.unknownIssuer.rawValue)",
]

#endif
