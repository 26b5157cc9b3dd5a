// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Swift's values to and from CoreFoundation's objects, which do not bridge on Linux.

import CoreFoundation

extension String {
  /// A CoreFoundation string with the same characters.
  var cfString: CFString {
    var text = self
    return text.withUTF8 { bytes in
      unsafe CFStringCreateWithBytes(
        nil, bytes.baseAddress, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue, false)
    }
  }

  /// The characters of a CoreFoundation string. Halves of surrogate pairs become U+FFFD.
  init(_ string: CFString) {
    let length = CFStringGetLength(string)
    self.init(
      decoding: unsafe [UniChar](unsafeUninitializedCapacity: length) { room, count in
        unsafe CFStringGetCharacters(string, CFRange(location: 0, length: length), room.baseAddress)
        count = length
      }, as: UTF16.self)
  }

  /// The characters of any object, if that is a string.
  init?(object: CFTypeRef) {
    guard CFGetTypeID(object) == CFStringGetTypeID() else { return nil }
    self.init(unsafe cast(object))
  }
}

extension Bool {
  /// The truth of a `CFBoolean`, or of a `CFNumber`, which is what Foundation's numbers are.
  init?(object: CFTypeRef) {
    switch CFGetTypeID(object) {
    case CFBooleanGetTypeID(): self = CFBooleanGetValue(unsafe cast(object))
    case CFNumberGetTypeID(): self = (Double(object: object) ?? 0) != 0
    default: return nil
    }
  }

  var cfBoolean: CFBoolean { self ? kCFBooleanTrue : kCFBooleanFalse }
}

extension Double {
  /// The value of a `CFNumber`.
  init?(object: CFTypeRef) {
    guard CFGetTypeID(object) == CFNumberGetTypeID() else { return nil }
    self = 0
    guard unsafe CFNumberGetValue(cast(object), .doubleType, &self) else {
      return nil
    }
  }

  var cfNumber: CFNumber {
    var value = self
    return unsafe CFNumberCreate(nil, .doubleType, &value)
  }
}

extension Int32 {
  var cfNumber: CFNumber {
    var value = self
    return unsafe CFNumberCreate(nil, .sInt32Type, &value)
  }
}

extension CFError {
  var rawPointer: UnsafeRawPointer { unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }
}

/// The object as its own type, which was asked for before. Swift has no checked cast to a type of CoreFoundation's.
@unsafe
private func cast<Object: AnyObject>(_ object: CFTypeRef) -> Object {
  unsafe Unmanaged.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}
