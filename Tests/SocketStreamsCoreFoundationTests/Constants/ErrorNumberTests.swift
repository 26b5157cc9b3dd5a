// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The two forms of CoreFoundation's errors: the object, and the pair of numbers that CFReadStreamGetError gives.

import CoreFoundation
import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite("Error numbers")
struct ErrorNumberTests {
  /// An error of the core, the domain and code of the object, and the numbers.
  typealias Row = (error: StreamError, name: String, code: Int, domain: Int, number: Int32)

  private static let rows: [Row] = [
    (.posix(ECONNREFUSED, "connect"), "NSPOSIXErrorDomain", 111, 1, 111),
    (StreamError(.tls, code: -9807, operation: "handshake"), "NSOSStatusErrorDomain", -9807, 3, -9807),
    (StreamError(.http, code: 2, operation: "get"), "kCFErrorDomainCFNetwork", 2, 4, 2),
    (socks(0x5_0005), "kCFErrorDomainCFNetwork", 0x5_0005, 5, 0x5_0005),
    (
      StreamError(.resolver, code: EAI_NONAME, operation: "resolve"), "kCFErrorDomainCFNetwork", 2, 12,
      EAI_NONAME
    ),
    (StreamError(.resolver, code: -5, operation: "resolve"), "kCFErrorDomainCFNetwork", 2, 12, -5),
    (.misuse(.notOpen, "read"), "SocketStreams", 1, -1, 1),
  ]

  private static func socks(_ code: Int32) -> StreamError {
    StreamError(.init(rawValue: 5), code: code, operation: "proxy")
  }

  // S165 to S169, S175, S176
  @Test("an error of the core has an object's domain and code, and the numbers", arguments: rows)
  func numbers(row: Row) throws {
    let error = row.error.cfError
    #expect(text(CFErrorGetDomain(error)) == row.name)
    #expect(CFErrorGetCode(error) == row.code)
    #expect(numbersOfStream(failingWith: error) == [row.domain, Int(row.number)])
    #expect(StreamError.numbers(of: error) == (row.domain, row.number))
    #expect(text(CFErrorCopyDescription(error)) == row.error.description)
  }

  // S176
  @Test(
    "numbers make an object with the same numbers, in every domain",
    arguments: [-1, 1, 2, 3, 4, 5, 8, 11, 12])
  func roundTrip(domain: Int) {
    let error = StreamError.makeError(domain, 7)
    #expect(StreamError.numbers(of: error) == (domain, 7))
    #expect(numbersOfStream(failingWith: error) == [domain, 7])
  }

  // S167
  @Test("a failed lookup has the resolver's code in its user info")
  func lookup() throws {
    let error = StreamError(.resolver, code: EAI_AGAIN, operation: "resolve").cfError
    let information = try #require(CFErrorCopyUserInfo(error))
    let key = UnsafeRawPointer(Unmanaged.passUnretained(kCFGetAddrInfoFailureKey).toOpaque())
    let value = try #require(CFDictionaryGetValue(information, key))
    #expect(number(Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue()) == Int(EAI_AGAIN))
    #expect(CFErrorGetCode(error) == Int(CFNetworkErrors.cfHostErrorUnknown.rawValue))
  }

  // S175, S176
  @Test("an error that somebody else made has the numbers of its domain")
  func foreignErrors() {
    #expect(numbersOfStream(failingWith: foreign(kCFErrorDomainPOSIX, 2)) == [1, 2])
    #expect(numbersOfStream(failingWith: foreign(kCFErrorDomainOSStatus, -36)) == [2, -36])
    #expect(numbersOfStream(failingWith: foreign(kCFErrorDomainMach, 5)) == [11, 5])
    #expect(numbersOfStream(failingWith: foreign(kCFErrorDomainCocoa, 4)) == [-1, 4])
    #expect(numbersOfStream(failingWith: foreign("of.somebody".cf, 9)) == [-1, 9])
    #expect(numbersOfStream(failingWith: foreign(kCFErrorDomainCFNetwork, 303)) == [-1, 303])
  }

  // S167, S176
  @Test("CFNetwork's error of a failed lookup is read as one, whoever made it")
  func foreignLookup() {
    var code = EAI_FAIL
    let value = CFNumberCreate(nil, .sInt32Type, &code)!
    var keys: [UnsafeRawPointer?] = [
      UnsafeRawPointer(Unmanaged.passUnretained(kCFGetAddrInfoFailureKey).toOpaque())
    ]
    var values: [UnsafeRawPointer?] = [UnsafeRawPointer(Unmanaged.passUnretained(value).toOpaque())]
    let error = CFErrorCreateWithUserInfoKeysAndValues(nil, kCFErrorDomainCFNetwork, 2, &keys, &values, 1)!
    #expect(numbersOfStream(failingWith: error) == [12, Int(EAI_FAIL)])
    withExtendedLifetime(value) {}
  }

  // S164, S175
  @Test("a stream that has not failed has no numbers, whatever kind it is")
  func noError() {
    let pair = CFPair(boundWithSize: 16)
    let memory = CFWriteStreamCreateWithAllocatedBuffers(nil, nil)!
    #expect(CFReadStreamGetError(pair.read).domain == 0)
    #expect(CFReadStreamGetError(pair.read).error == 0)
    #expect(CFWriteStreamGetError(pair.write).domain == 0)
    #expect(CFWriteStreamGetError(memory).error == 0)
  }

  // S174 to S176
  @Test("both halves give the numbers of a refused connection, and the object agrees")
  func refused() throws {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    listener.close()
    pair.open()
    #expect(read(pair.read).count == -1)
    #expect(write(pair.write, [1]) == -1)
    for error in [CFReadStreamGetError(pair.read), CFWriteStreamGetError(pair.write)] {
      #expect(error.domain == CFStreamErrorDomain.POSIX.rawValue)
      #expect(error.error == ECONNREFUSED)
    }
    let object = try #require(CFReadStreamCopyError(pair.read))
    #expect(CFEqual(CFErrorGetDomain(object), kCFErrorDomainPOSIX))
    #expect(CFErrorGetCode(object) == Int(ECONNREFUSED))
    pair.close()
  }

  private func foreign(_ domain: CFString, _ code: Int) -> CFError { CFErrorCreate(nil, domain, code, nil) }

  /// What CFReadStreamGetError says of a stream that is no socket's, and that cannot be opened because of `error`.
  private func numbersOfStream(failingWith error: CFError) -> [Int] {
    var table = CFReadStreamCallBacks()
    table.version = 2
    table.open = { _, failure, isComplete, info in
      isComplete?.pointee = true
      failure?.pointee = .passRetained(Unmanaged<CFError>.fromOpaque(info!).takeUnretainedValue())
      return false
    }
    let stream = CFReadStreamCreate(nil, &table, Unmanaged.passUnretained(error).toOpaque())!
      .takeRetainedValue()
    #expect(!CFReadStreamOpen(stream))
    let numbers = CFReadStreamGetError(stream)
    withExtendedLifetime(error) {}
    return [numbers.domain, Int(numbers.error)]
  }
}
