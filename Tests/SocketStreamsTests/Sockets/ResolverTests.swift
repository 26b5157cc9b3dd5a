// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("Resolvers", .timeLimit(.minutes(1)))
struct ResolverTests {
  private let loopback = ["127.0.0.1", "::1"].map { SocketAddress(ip: $0, port: 80)! }

  // B5, S166, report 5
  @Test("an unknown name fails in the resolver's domain with a code of its own")
  func unknownName() async throws {
    let error = try #require(await resolved(SystemResolver.shared, "no-such-host.invalid").error)
    #expect(error.domain == .resolver)
    #expect(error.code != 0)
    #expect(error.operation == "resolve no-such-host.invalid")
  }

  // B3
  @Test("names come from the hosts file, without those that are there twice")
  func hostsFile() async throws {
    let addresses = try await resolved(SystemResolver.shared, "localhost", port: 4711, family: .ipv4).get()
    #expect(addresses == [SocketAddress(ip: "127.0.0.1", port: 4711)])
  }

  // A2, S11
  @Test(
    "numeric hosts are answered by themselves, without a thread",
    arguments: ["127.0.0.1", "::1", "[::1]", "fe80::1%1", "192.0.2.1"])
  func numericHosts(host: String) async throws {
    let resolver = SystemResolver { _, _ in fatalError("a numeric host was looked up") }
    #expect(try await resolved(resolver, host).get() == [SocketAddress(ip: host, port: 80)])
    #expect(resolver.pool.threadCount == 0)
    #expect(try await resolved(StaticResolver([:]), host).get() == [SocketAddress(ip: host, port: 80)])
  }

  // S12
  @Test("an empty name and one with a zero byte do not exist; C would take them for another")
  func impossibleNames() async {
    for host in ["", "localhost\0", "\0localhost"] {
      let error = await resolved(SystemResolver.shared, host).error
      #expect(error?.domain == .resolver && error?.code == EAI_NONAME)
    }
  }

  // B1, report 5
  @Test("the answer never comes inside the call, even on the thread that answers")
  func answerComesAfterTheCall() async {
    let resolvers: [any Resolver] = [SystemResolver.shared, StaticResolver(["known": ["127.0.0.1"]])]
    for (resolver, host) in [
      (resolvers[0], "127.0.0.1"), (resolvers[0], ""), (resolvers[1], "known"), (resolvers[1], "no"),
    ] {
      let cameInside = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        EventLoop.shared.execute {
          let isInside = Shared(true)
          _ = resolver.resolve(host, port: 1, family: .any) { _ in
            continuation.resume(returning: isInside.value)
          }
          isInside.with { $0 = false }
        }
      }
      #expect(!cameInside)
    }
  }

  // A7
  @Test("the family keeps what is wanted and moves the preferred to the front")
  func families() async throws {
    let table = [
      "mixed": ["192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2"], "four": ["192.0.2.1"], "none": [],
    ]
    let resolver = StaticResolver(table)
    func ips(_ host: String, _ family: AddressFamily) async throws -> [String] {
      try await resolved(resolver, host, family: family).get().compactMap(\.ip)
    }
    #expect(try await ips("mixed", .any) == table["mixed"])
    #expect(try await ips("MIXED", .ipv4) == ["192.0.2.1", "192.0.2.2"])
    #expect(try await ips("mixed", .ipv6) == ["2001:db8::1", "2001:db8::2"])
    #expect(try await ips("mixed", .preferIPv4) == ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"])
    #expect(try await ips("mixed", .preferIPv6) == ["2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"])
    #expect(try await ips("four", .preferIPv6) == ["192.0.2.1"])
    // S166: no address at all counts as EAI_NODATA.
    #expect(await resolved(resolver, "four", family: .ipv6).error?.code == -5)
    #expect(await resolved(resolver, "none").error?.code == -5)
    #expect(await resolved(resolver, "unknown").error?.code == EAI_NONAME)
  }

  // B2
  @Test("names that a table does not have go to its fallback")
  func fallback() async throws {
    let inner = StaticResolver(["a": ["192.0.2.1"], "b": ["192.0.2.2"]])
    let outer = StaticResolver(["a": ["192.0.2.9"]], fallback: inner)
    #expect(try await resolved(outer, "a").get().first?.ip == "192.0.2.9")
    #expect(try await resolved(outer, "b").get().first?.ip == "192.0.2.2")
    #expect(await resolved(outer, "c").error?.code == EAI_NONAME)
  }

  @Test("those who ask the same at the same time share one look-up, each with its own port and preference")
  func coalescing() async throws {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 4, lookup: lookups.lookUp)
    let first = StartedLookup(resolver, "h")
    #expect(lookups.waitUntilBegun(1))
    let others = [
      StartedLookup(resolver, "h"), StartedLookup(resolver, "h", port: 81),
      StartedLookup(resolver, "h", family: .preferIPv6),
    ]
    #expect(resolver.pool.queuedCount == 0)
    lookups.letGo(1)
    #expect(first.addresses() == loopback)
    #expect(
      others.map { $0.addresses() } == [loopback, loopback.map { $0.withPort(81) }, loopback.reversed()])
    #expect(lookups.hosts.value == ["h"])

    // An answer is not kept: the next one to ask causes a look-up of its own.
    lookups.letGo(1)
    #expect(try await resolved(resolver, "h").get() == loopback)
    #expect(lookups.hosts.value == ["h", "h"])
  }

  // B4, report 76
  @Test("who gives up is not called, and does not take the answer from others")
  func cancelling() {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 1, lookup: lookups.lookUp)
    let (dropped, other) = (StartedLookup(resolver, "h"), StartedLookup(resolver, "h"))
    #expect(lookups.waitUntilBegun(1))
    dropped.cancel()
    dropped.cancel()
    lookups.letGo(2)
    #expect(other.addresses() == loopback)
    // The thread is at its next look-up, so it has told everybody of the first.
    #expect(StartedLookup(resolver, "next").addresses() == loopback)
    #expect(dropped.answerCount == 0)
  }

  @Test("a look-up that nobody waits for any more is not begun")
  func cancelledInTheQueue() {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 1, lookup: lookups.lookUp)
    let first = StartedLookup(resolver, "first")
    #expect(lookups.waitUntilBegun(1))
    let dropped = StartedLookup(resolver, "dropped")
    #expect(resolver.pool.queuedCount == 1)
    dropped.cancel()
    #expect(resolver.pool.queuedCount == 0)
    lookups.letGo(2)
    #expect(first.addresses() == loopback)
    #expect(StartedLookup(resolver, "last").addresses() == loopback)
    #expect(dropped.answerCount == 0)
    #expect(lookups.hosts.value == ["first", "last"])
  }

  // B1
  @Test("look-ups that hang fill the threads, and the others wait for their turn in order")
  func hungLookups() {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 2, lookup: lookups.lookUp)
    let started = ["a", "b", "c", "d", "e"].map { StartedLookup(resolver, $0) }
    #expect(lookups.waitUntilBegun(2))
    #expect(resolver.pool.threadCount == 2)
    #expect(resolver.pool.queuedCount == 3)
    #expect(Set(lookups.hosts.value) == ["a", "b"])
    for begun in 3...5 {
      lookups.letGo(1)
      #expect(lookups.waitUntilBegun(1))
      #expect(Array(lookups.hosts.value.suffix(from: 2)) == Array(["c", "d", "e"].prefix(begun - 2)))
    }
    lookups.letGo(2)
    #expect(started.allSatisfy { $0.addresses() == loopback })
    #expect(resolver.pool.threadCount == 2)
  }

  @Test("a thread without work ends after its time, and a new one starts when there is work again")
  func idleThreads() async throws {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 2, idleLimit: .milliseconds(10), lookup: lookups.lookUp)
    lookups.letGo(2)
    for _ in 0..<2 {
      #expect(try await resolved(resolver, "h").get() == loopback)
      #expect(eventually { resolver.pool.threadCount == 0 })
    }
  }

  @Test("a resolver that goes lets its threads end")
  func endOfResolver() async throws {
    let lookups = HungLookups()
    var resolver: SystemResolver? = SystemResolver(maximumThreads: 2, lookup: lookups.lookUp)
    lookups.letGo(1)
    _ = try await resolved(#require(resolver), "h")
    weak let pool = resolver?.pool
    resolver = nil
    #expect(eventually { pool == nil })
  }

  @Test("the program's signal handlers do not run on the resolver's threads")
  func signals() async throws {
    let isBlocked = Shared<[Int32: Bool]>([:])
    let resolver = SystemResolver { _, _ in
      var mask = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &mask)
      for signal in [SIGTERM, SIGINT, SIGCHLD, SIGPIPE, SIGALRM, SIGUSR1] {
        isBlocked.with { $0[signal] = sigismember(&mask, signal) == 1 }
      }
      return .success([])
    }
    _ = await resolved(resolver, "h")
    #expect(isBlocked.value.count == 6)
    #expect(isBlocked.value.values.allSatisfy { $0 })
  }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
