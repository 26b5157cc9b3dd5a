// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The core's errors as CoreFoundation's two kinds: the CFError object, and the older pair of numbers.

import CoreFoundation
import SocketStreams

extension StreamError {
  /// In the user info: the number of the domain, where that does not follow from the domain's name.
  private static var domainNumberKey: CFString { "SocketStreamsErrorDomain".cfString }
  /// The domain of ``Misuse``.
  private static var ownDomain: CFString { "SocketStreams".cfString }

  /// The error as an object, with the text of ``description``; of a failure of TLS, the reason too.
  var cfError: CFError {
    switch domain {
    case .posix: makeError(kCFErrorDomainPOSIX, Int(code))
    case .tls: makeError(kCFErrorDomainOSStatus, Int(code))
    // CFNetwork has few words for a failed lookup; the resolver's own code is in the user info.
    case .resolver:
      makeError(kCFErrorDomainCFNetwork, Int(CFNetworkErrors.cfHostErrorUnknown.rawValue), lookup: code)
    case .streams: makeError(Self.ownDomain, Int(code))
    default: makeError(kCFErrorDomainCFNetwork, Int(code))
    }
  }

  private func makeError(_ name: CFString, _ number: Int, lookup: Int32? = nil) -> CFError {
    var information: [(key: CFString, value: CFTypeRef)] = [
      (kCFErrorLocalizedDescriptionKey, description.cfString),
      (Self.domainNumberKey, Int32(domain.rawValue).cfNumber),
    ]
    // What went wrong with TLS is only in its words: of its code no one has a text.
    if domain == .tls { information.append((kCFErrorLocalizedFailureReasonKey, reasonAndDetail.cfString)) }
    if let lookup { information.append((kCFGetAddrInfoFailureKey, lookup.cfNumber)) }
    var keys = unsafe information.map {
      unsafe UnsafeRawPointer?(Unmanaged.passUnretained($0.key).toOpaque())
    }
    var values = unsafe information.map {
      unsafe UnsafeRawPointer?(Unmanaged.passUnretained($0.value).toOpaque())
    }
    return withExtendedLifetime(information) {
      unsafe CFErrorCreateWithUserInfoKeysAndValues(nil, name, number, &keys, &values, information.count)
    }
  }

  private var reasonAndDetail: String { detail.isEmpty ? reason : "\(reason): \(detail)" }

  /// The number of the domain of any error, and the code in it.
  static func numbers(of error: CFError) -> (domain: CFIndex, code: Int32) {
    let code = Int32(truncatingIfNeeded: CFErrorGetCode(error))
    let information = CFErrorCopyUserInfo(error)
    if let number = information?.number(domainNumberKey) {
      return (CFIndex(number), information?.number(kCFGetAddrInfoFailureKey) ?? code)
    }
    let name: CFString? = CFErrorGetDomain(error)
    if let name, CFEqual(name, kCFErrorDomainCFNetwork),
      let lookup = information?.number(kCFGetAddrInfoFailureKey)
    {
      return (CFIndex(kCFStreamErrorDomainNetDB), lookup)
    }
    let plain = plainDomains.first { name != nil && CFEqual($0.name, name) }
    return (plain?.number ?? CFStreamErrorDomain.custom.rawValue, code)
  }

  /// The domains of which the number says all, as for the streams of files.
  private static var plainDomains: [(number: CFIndex, name: CFString)] {
    [
      (CFStreamErrorDomain.POSIX.rawValue, kCFErrorDomainPOSIX),
      (CFStreamErrorDomain.macOSStatus.rawValue, kCFErrorDomainOSStatus),
      (11, kCFErrorDomainMach),
    ]
  }

  /// The error object for a pair of numbers that any stream may have reported.
  static func makeError(_ domain: CFIndex, _ code: Int32) -> CFError {
    if let plain = plainDomains.first(where: { $0.number == domain }) {
      return CFErrorCreate(nil, plain.name, CFIndex(code), nil)
    }
    return StreamError(Domain(rawValue: domain), code: code, operation: "stream").cfError
  }
}

extension CFDictionary {
  fileprivate func number(_ key: CFString) -> Int32? {
    guard let value = unsafe CFDictionaryGetValue(self, Unmanaged.passUnretained(key).toOpaque()) else {
      return nil
    }
    let object = unsafe Unmanaged<CFTypeRef>.fromOpaque(value).takeUnretainedValue()
    // Whoever made the error may have put any number there.
    return Double(object: object).flatMap { Int32(exactly: $0.rounded(.towardZero)) }
  }
}

@c(SocketStreamsErrorNumbers)
func errorNumbers(
  _ error: UnsafeRawPointer, _ domain: UnsafeMutablePointer<Int>, _ code: UnsafeMutablePointer<Int32>
) {
  let error = unsafe Unmanaged<CFError>.fromOpaque(error).takeUnretainedValue()
  unsafe (domain.pointee, code.pointee) = StreamError.numbers(of: error)
}

@c(SocketStreamsCreateError)
func createError(_ domain: Int, _ code: Int32) -> UnsafeRawPointer {
  unsafe UnsafeRawPointer(Unmanaged.passRetained(StreamError.makeError(domain, code)).toOpaque())
}
