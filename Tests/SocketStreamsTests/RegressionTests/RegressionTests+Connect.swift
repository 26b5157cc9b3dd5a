// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Field reports: connecting", .timeLimit(.minutes(2)))
struct ConnectRegressions {
  private func options(_ table: [String: [String]]) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.resolver = StaticResolver(table)
    return options
  }

  // Field report 4
  @Test(
    "4: a name with two addresses fails although the second one answers", arguments: ["127.0.0.2", "::1"])
  func refusedFirstAddress(first: String) async {
    await #expect(processExitsWith: .success) { [first] in
      let refused = try RefusedPort(address: first)
      let listener = try RawListener(port: refused.port)
      var options = ConnectionOptions()
      options.resolver = StaticResolver(["two.test": [first, "127.0.0.1"]])
      var count = 0
      for round in 0..<20 {
        let base = round == 0 ? nil : count
        do {
          let pair = StreamPair(host: "two.test", port: refused.port, options: options)
          pair.open()
          #expect(eventually(within: 5) { pair.input.status == .open })
          #expect(listener.accept() != nil)
          pair.close()
        }
        #expect(eventually(within: 5) { base == nil || openSocketCount() == base! })
        if base == nil { count = settledSocketCount() }
      }
    }
  }

  // Field report 4
  @Test("4: a black hole before the address that answers costs well under a second and leaves no descriptor")
  func swallowedFirstAddress() async {
    await #expect(processExitsWith: .success) {
      let hole = try BlackHole(address: "127.0.0.2")
      let listener = try RawListener(port: hole.port)
      var options = ConnectionOptions()
      options.resolver = StaticResolver(["two.test": ["127.0.0.2", "127.0.0.1"]])
      let warm = StreamPair(address: listener.address)
      warm.open()
      #expect(listener.accept() != nil)
      #expect(eventually(within: 5) { warm.input.status == .open })
      let count = settledSocketCount()
      let begin = monotonicSeconds()
      let pair = StreamPair(host: "two.test", port: hole.port, options: options)
      pair.open()
      #expect(eventually(within: 5) { pair.input.status == .open })
      #expect(monotonicSeconds() - begin < 0.9)
      #expect(pair.input.property(.remoteAddress) == listener.address)
      #expect(eventually(within: 5) { openSocketCount() == count + 1 }, "only the winner")
    }
  }

  // Field report 5
  @Test("5: a host that does not resolve gives no failure at all, or gives it inside open")
  func unresolved() throws {
    let base = try EventBase.startThread()
    for resolver in [StaticResolver([:]), SystemResolver.shared] as [any Resolver] {
      var options = ConnectionOptions()
      options.resolver = resolver
      let pair = StreamPair(host: "no-such-host.invalid", port: 80, options: options)
      let log = PairLog()
      let (hasReturned, early) = (Shared(false), Shared(0))
      log.watch(pair, on: base, input: { _, _ in if !hasReturned.value { early.with { $0 += 1 } } })
      base.sync {
        #expect(pair.input.open())
        pair.output.open()
        hasReturned.with { $0 = true }
      }
      #expect(log.hears(.errorOccurred, .input, within: 20))
      #expect(log.hears(.errorOccurred, .output))
      pass(base)
      #expect(early.value == 0)
      #expect(log.events(.input) == [.errorOccurred] && log.events(.output) == [.errorOccurred])
      #expect(pair.input.error?.domain == .resolver)
      #expect(pair.input.error?.code != 0)
    }
  }

  // Field report 17
  @Test("17: each failed or timed-out connect leaves a descriptor open")
  func descriptorsOfFailures() async {
    await #expect(processExitsWith: .success) {
      let refused = try RefusedPort()
      let hole = try BlackHole()
      var options = ConnectionOptions()
      options.resolver = StaticResolver([:])
      options.connectTimeout = .milliseconds(50)
      func fail(_ host: String, _ port: UInt16, _ times: Int) {
        var rest = times
        while rest > 0 {
          let pairs = (0..<min(rest, 25)).map { _ in StreamPair(host: host, port: port, options: options) }
          for pair in pairs { pair.open() }
          #expect(eventually(within: 10) { pairs.allSatisfy { $0.input.status == .error } })
          rest -= pairs.count
        }
      }
      fail("127.0.0.1", refused.port, 1)
      let count = settledSocketCount()
      fail("127.0.0.1", refused.port, 500)
      fail("127.0.0.1", hole.port, 50)
      fail("bad.invalid", 80, 50)
      #expect(eventually(within: 5) { openSocketCount() == count })
    }
  }

  // Field report 34
  @Test("34: a server that accepts and closes at once makes end come before open, or no event at all")
  func acceptAndClose() throws {
    let listener = try RawListener()
    let serving = onThread {
      for _ in 0..<500 { listener.accept()?.close() }
    }
    let base = try EventBase.startThread()
    for round in 0..<500 {
      let pair = StreamPair(address: listener.address)
      let log = PairLog()
      log.watch(pair, on: base)
      pair.open()
      #expect(
        eventually(within: 5) {
          log.events(.input).contains { $0 == .endEncountered || $0 == .errorOccurred }
        })
      let events = log.events(.input)
      #expect(
        events == [.openCompleted, .endEncountered] || events == [.openCompleted, .errorOccurred]
          || events == [.errorOccurred], "round \(round): \(events)")
      #expect(
        log.events(.output).first == (events.first == .openCompleted ? .openCompleted : .errorOccurred)
          || log.events(.output).isEmpty)
      pair.close()
    }
    #expect(serving.wait(seconds: 10))
  }

  // Field report 61
  @Test("61: the error does not say which addresses were tried")
  func attempts() throws {
    let port = try RefusedPort(isShared: true)
    let second = try RefusedPort(address: "127.0.0.2", port: port.port, isShared: true)
    let pair = StreamPair(
      host: "two.test", port: port.port, options: options(["two.test": ["127.0.0.1", "127.0.0.2"]]))
    pair.open()
    #expect(eventually(within: 5) { pair.input.status == .error })
    let error = try #require(pair.input.error)
    #expect(
      error.attempts == [
        ConnectAttempt(address: SocketAddress(ip: "127.0.0.1", port: port.port)!, code: ECONNREFUSED),
        ConnectAttempt(address: SocketAddress(ip: "127.0.0.2", port: second.port)!, code: ECONNREFUSED),
      ])
    #expect(error.code == error.attempts.last?.code)
    #expect(pair.input.property(.connectAttempts) == error.attempts)
    for attempt in error.attempts { #expect("\(error)".contains("\(attempt.address)")) }
  }

  // Field report 62
  @Test("62: a second connect while one is under way is half accepted and both fail")
  func secondOpen() throws {
    let hole = try BlackHole()
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    let log = PairLog()
    log.watch(pair, on: base)
    #expect(pair.open())
    for _ in 0..<3 { #expect(!pair.input.open() && !pair.output.open()) }
    #expect(hole.open() != nil)
    #expect(log.hears(.openCompleted, .input, within: 10) && log.hears(.openCompleted, .output))
    let peer = try #require(hole.open())
    #expect(try pair.output.write([1]) == 1)
    #expect(peer.receive(1) == [1])
    peer.reset()
    #expect(log.hears(.errorOccurred, .input))
    #expect(!pair.open())
    pair.close()
    #expect(!pair.open())
    #expect(pair.input.status == .error)
    #expect(log.events(.input).filter { $0 == .openCompleted }.count == 1)
  }

  // Field report 67
  @Test("67: a Unix path at the size limit is cut off or overruns the structure")
  func unixPathSizes() throws {
    let directory = try SocketDirectory()
    let name = "sö" + "ß"
    let path = directory.file(name, length: 107)
    #expect(path.utf8.count == 107)
    let listener = try Listener(address: SocketAddress(unixPath: path))
    #expect(listener.localAddress.unixPath == path)
    let base = try EventBase.startThread()
    let accepted = Shared<[StreamPair]>([])
    listener.schedule(on: base) { pair, _ in accepted.with { $0.append(pair) } }
    let pair = try StreamPair(unixPath: path)
    pair.open()
    #expect(eventually(within: 5) { pair.input.status == .open && accepted.value.count == 1 })
    #expect(pair.input.property(.remoteAddress)?.unixPath == path)
    listener.close()
    for (bad, code) in [
      (directory.file(name, length: 108), ENAMETOOLONG), ("", EINVAL), ("\0abstract", EINVAL),
      ("a\0b", EINVAL),
    ] {
      let error = #expect(throws: StreamError.self) { try StreamPair(unixPath: bad) }
      #expect(error?.domain == .posix && error?.code == code)
    }
  }

  // Field report 68
  @Test("68: TCP-only options are set on a Unix socket and fail the connection")
  func optionsOnUnixSocket() throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file())
    var options = ConnectionOptions()
    options.noDelay = true
    options.keepAlive = ConnectionOptions.KeepAlive()
    let pair = try StreamPair(unixPath: directory.file(), options: options)
    pair.open()
    #expect(try writeAll([1], to: pair.output) == 1)
    #expect(listener.accept()?.receive(1) == [1])
    // By hand, the kernel's own answer.
    #expect(throws: StreamError.posix(EOPNOTSUPP, "setsockopt")) {
      try pair.input.setSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY, to: 1)
    }
    #expect(!pair.input.setProperty(.noDelay, to: true))
    #expect(pair.input.status == .open)
  }

  // Field report 76
  @Test("76: closing while a look-up is under way leaks or crashes later")
  func closeDuringLookup() async {
    await #expect(processExitsWith: .success) {
      let base = try EventBase.startThread()
      let resolver = SilentResolver()
      var options = ConnectionOptions()
      options.resolver = resolver
      let log = PairLog()
      func round() {
        let pair = StreamPair(host: "slow.test", port: 80, options: options)
        log.watch(pair, on: base)
        pair.open()
        #expect(resolver.asked.wait(seconds: 5))
        pair.close()
        #expect(resolver.cancelled.wait(seconds: 5))
      }
      round()
      let count = settledSocketCount()
      for _ in 0..<200 { round() }
      resolver.answerAll()
      base.stop()
      base.join()
      #expect(log.all.isEmpty)
      #expect(eventually(within: 5) { openSocketCount() <= count })
    }
  }
}

/// Answers only when it is too late.
final class SilentResolver: Resolver {
  private struct Request: ResolverRequest {
    let cancelled: Signal
    func cancel() { cancelled.raise() }
  }

  let asked = Signal()
  let cancelled = Signal()
  private let completions = Shared<[@Sendable (Result<[SocketAddress], StreamError>) -> Void]>([])

  func resolve(
    _ host: String, port: UInt16, family: AddressFamily,
    completion: @escaping @Sendable (Result<[SocketAddress], StreamError>) -> Void
  ) -> any ResolverRequest {
    completions.with { $0.append(completion) }
    asked.raise()
    return Request(cancelled: cancelled)
  }

  /// Answers after the cancel, which a resolver must not do, and of which a connector must not make anything.
  func answerAll() {
    let late = completions.with { completions in
      defer { completions = [] }
      return completions
    }
    for completion in late { completion(.success([SocketAddress(ip: "127.0.0.1", port: 9)!])) }
  }
}
