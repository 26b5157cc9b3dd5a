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

extension [UInt8] {
  /// The bytes of a `CFData`.
  init?(data object: CFTypeRef) {
    guard CFGetTypeID(object) == CFDataGetTypeID() else { return nil }
    let data: CFData = unsafe cast(object)
    self = unsafe Array(UnsafeBufferPointer(start: CFDataGetBytePtr(data), count: CFDataGetLength(data)))
  }

  /// The bytes of the file that a `CFURL` names, if it can be read and has no more than `limit`.
  init?(fileAt object: CFTypeRef, limit: Int) {
    guard CFGetTypeID(object) == CFURLGetTypeID() else { return nil }
    let url: CFURL = unsafe cast(object)
    guard let scheme = CFURLCopyScheme(url), String(scheme) == "file",
      let stream = CFReadStreamCreateWithFile(nil, url), CFReadStreamOpen(stream)
    else { return nil }
    defer { CFReadStreamClose(stream) }
    self = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while case let read = unsafe CFReadStreamRead(stream, &piece, piece.count), read != 0 {
      guard read > 0, count + read <= limit else { return nil }
      self += piece[..<read]
    }
  }

  /// The bytes as a `CFData`.
  var cfData: CFData { unsafe withUnsafeBufferPointer { unsafe CFDataCreate(nil, $0.baseAddress, $0.count) } }
}

extension [CFTypeRef] {
  /// The elements of a `CFArray`.
  init?(array object: CFTypeRef) {
    guard CFGetTypeID(object) == CFArrayGetTypeID() else { return nil }
    let array: CFArray = unsafe cast(object)
    self = []
    for index in 0..<CFArrayGetCount(array) {
      guard let element = unsafe element(CFArrayGetValueAtIndex(array, index)) else { return nil }
      append(element)
    }
  }

  /// The elements as a `CFArray`.
  var cfArray: CFArray {
    var callBacks = kCFTypeArrayCallBacks
    var elements = unsafe map { unsafe UnsafeRawPointer?(Unmanaged.passUnretained($0).toOpaque()) }
    return withExtendedLifetime(self) { unsafe CFArrayCreate(nil, &elements, count, &callBacks) }
  }
}

extension [String: CFTypeRef] {
  /// The entries of a `CFDictionary`, if all its keys are strings.
  init?(dictionary object: CFTypeRef) {
    guard CFGetTypeID(object) == CFDictionaryGetTypeID() else { return nil }
    let dictionary: CFDictionary = unsafe cast(object)
    let size = CFDictionaryGetCount(dictionary)
    var keys = unsafe [UnsafeRawPointer?](repeating: nil, count: size)
    var values = unsafe keys
    unsafe CFDictionaryGetKeysAndValues(dictionary, &keys, &values)
    self = [:]
    for index in 0..<size {
      guard let key = unsafe element(keys[index]).flatMap(String.init(object:)),
        let value = unsafe element(values[index])
      else { return nil }
      self[key] = value
    }
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

/// An object in a collection, which holds it.
@unsafe
private func element(_ pointer: UnsafeRawPointer?) -> CFTypeRef? {
  unsafe pointer.map { unsafe Unmanaged<CFTypeRef>.fromOpaque($0).takeUnretainedValue() }
}
