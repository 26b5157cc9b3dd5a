// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import Testing

@testable import SocketStreamsTLS

// J16
@Suite("Which sessions are kept")
struct SessionCacheTests {
  @Test("a session that serves again and again stays until another comes")
  func lasting() {
    var cache = SessionCache<String, Int>(capacity: 2, largestEntry: 2)
    #expect(cache.sessionWanted(for: "a") == nil)
    #expect(cache.sessionArrived(1, for: "a", isSingleUse: false) == [])
    #expect(cache.sessionWanted(for: "a") == 1 && cache.sessionWanted(for: "a") == 1)
    #expect(cache.sessionWanted(for: "b") == nil)
    #expect(cache.sessionArrived(2, for: "a", isSingleUse: false) == [1])
    #expect(cache.sessionWanted(for: "a") == 2)
    #expect(cache.count == 1)
  }

  @Test("sessions for single use are given out once, the newest first, and only so many are kept")
  func singleUse() {
    var cache = SessionCache<String, Int>(capacity: 2, largestEntry: 2)
    #expect(cache.sessionArrived(1, for: "a", isSingleUse: true) == [])
    #expect(cache.sessionArrived(2, for: "a", isSingleUse: true) == [])
    #expect(cache.sessionArrived(3, for: "a", isSingleUse: true) == [1])
    #expect(cache.sessionWanted(for: "a") == 3 && cache.sessionWanted(for: "a") == 2)
    #expect(cache.sessionWanted(for: "a") == nil)
    #expect(cache.count == 0)
  }

  @Test("sessions of one kind take the place of those of the other")
  func kinds() {
    var cache = SessionCache<String, Int>(capacity: 2, largestEntry: 2)
    _ = cache.sessionArrived(1, for: "a", isSingleUse: true)
    _ = cache.sessionArrived(2, for: "a", isSingleUse: true)
    #expect(cache.sessionArrived(3, for: "a", isSingleUse: false) == [1, 2])
    #expect(cache.sessionArrived(4, for: "a", isSingleUse: true) == [3])
    #expect(cache.sessionWanted(for: "a") == 4 && cache.sessionWanted(for: "a") == nil)
  }

  @Test("the key that was used longest ago gives way")
  func capacity() {
    var cache = SessionCache<String, Int>(capacity: 2, largestEntry: 2)
    _ = cache.sessionArrived(1, for: "a", isSingleUse: false)
    _ = cache.sessionArrived(2, for: "b", isSingleUse: false)
    #expect(cache.sessionWanted(for: "a") == 1)
    #expect(cache.sessionArrived(3, for: "c", isSingleUse: false) == [2])
    #expect(cache.sessionWanted(for: "b") == nil && cache.count == 2)
    // One more for a key that is there takes nobody's place.
    #expect(cache.sessionArrived(4, for: "a", isSingleUse: false) == [1])
    #expect(cache.sessionWanted(for: "c") == 3)
  }

  @Test("a failure takes all that is kept for that key, and no other")
  func failure() {
    var cache = SessionCache<String, Int>(capacity: 3, largestEntry: 2)
    _ = cache.sessionArrived(1, for: "a", isSingleUse: true)
    _ = cache.sessionArrived(2, for: "a", isSingleUse: true)
    _ = cache.sessionArrived(3, for: "b", isSingleUse: true)
    #expect(cache.connectionFailed(for: "a") == [1, 2])
    #expect(cache.connectionFailed(for: "a") == [])
    #expect(cache.sessionWanted(for: "a") == nil && cache.sessionWanted(for: "b") == 3)
  }
}

#endif
