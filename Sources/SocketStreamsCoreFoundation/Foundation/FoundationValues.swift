// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Values as they pass between Swift, Foundation and CoreFoundation: property values, statuses, errors.

import CoreFoundation
public import Foundation
import SocketStreams

extension Stream {
  /// Sets a property to a value of Swift's, such as a `String`, a number, a `StreamSocketSecurityLevel` or a dictionary of
  /// them, which Apple's platforms bridge by themselves.
  /// - Returns: Whether the stream knows the key and takes the value.
  @discardableResult
  public func setProperty(_ property: Any?, forKey key: Stream.PropertyKey) -> Bool {
    setProperty(property.map(foundationObject(_:)), forKey: key)
  }
}

/// The object that CoreFoundation understands: for a constant, its value; within collections, too. A value that Swift has put
/// into a box of its own comes out of it. CoreFoundation cannot be asked what an object is that is none of Foundation's: that
/// becomes an object which no key takes for a value, and so does a missing value. A null is not that: it has a meaning.
func foundationObject(_ value: Any) -> AnyObject {
  switch value {
  case let value as any OptionalValue where value.isMissing: NSObject()
  case let text as String: NSString(string: text)
  case let constant as any RawRepresentable: foundationObject(constant.rawValue)
  case let dictionary as [AnyHashable: Any]: foundationDictionary(dictionary)
  case let array as [Any]: NSArray(array: array.map(foundationObject(_:)))
  default: (value as AnyObject) as? NSObject ?? NSObject()
  }
}

/// What an `Optional` says of itself inside an `Any`, where it would become a null.
private protocol OptionalValue {
  var isMissing: Bool { get }
}

extension Optional: OptionalValue {
  fileprivate var isMissing: Bool {
    guard let self else { return true }
    return (self as? any OptionalValue)?.isMissing ?? false
  }
}

private func foundationDictionary(_ dictionary: [AnyHashable: Any]) -> NSDictionary {
  let result = NSMutableDictionary()
  for (key, value) in dictionary {
    guard let key = foundationObject(key.base) as? NSObject else { continue }
    result[key] = foundationObject(value)
  }
  return result
}

extension Stream.Status {
  init(_ status: StreamStatus) {
    self = Stream.Status(rawValue: UInt(status.rawValue)) ?? .error
  }
}

extension NSError {
  /// The same domain, code and texts.
  convenience init(cfError error: CFError) {
    let domain = CFErrorGetDomain(error).map { String($0) }
    let information = CFErrorCopyUserInfo(error) as AnyObject as? [String: Any]
    self.init(domain: domain ?? NSCocoaErrorDomain, code: CFErrorGetCode(error), userInfo: information)
  }
}
