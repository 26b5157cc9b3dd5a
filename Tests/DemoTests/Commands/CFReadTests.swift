// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("cfread", .timeLimit(.minutes(2)))
struct CFReadTests {
  private static let text = "Hello from server 你好\n"

  private func run(_ streams: Streams, _ mode: LoopbackServer.Mode, _ more: String...) -> DemoResult {
    let server = LoopbackServer(mode)
    defer { server.stop() }
    return DemoProcess(["cfread", "127.0.0.1:\(server.port)"] + streams.words + more).wait()
  }

  private func refused(_ streams: Streams, _ more: String...) -> DemoResult {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    return DemoProcess(["cfread", "127.0.0.1:\(port)"] + streams.words + more).wait()
  }

  /// Whether `lines` come in this order, with others between.
  private func inOrder(_ lines: [String], in all: [String]) -> Bool {
    var rest = all[...]
    for line in lines {
      guard let index = rest.firstIndex(of: line) else { return false }
      rest = rest[(index + 1)...]
    }
    return true
  }

  @Test(
    "the steps come in order, the events on the thread, and the whole text from the main thread",
    arguments: Streams.forReading)
  func steps(_ streams: Streams) {
    let result = run(streams, LoopbackServer.hello, "--events")
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    let steps = [
      "thread net started", "scheduled", "opening", "net: read hasBytesAvailable 25",
      #"net: text "Hello from server 你好\n""#, "net: read endEncountered", "thread net joined",
      "end, 25 bytes",
    ]
    #expect(inOrder(steps, in: result.errorLines), "\(result.errorText)")
    #expect(!result.errorText.contains("openCompleted"))
  }

  @Test("with a mask of all events open completed is told too, and first", arguments: Streams.forReading)
  func allEvents(_ streams: Streams) {
    let result = run(streams, LoopbackServer.hello, "--events", "--mask", "31")
    let events = ["net: read openCompleted", "net: read hasBytesAvailable 25", "net: read endEncountered"]
    #expect(result.code == 0 && inOrder(events, in: result.errorLines), "\(result.errorText)")
  }

  /// The number of `retain N release N`, the last line of a trace.
  private func balance(_ result: DemoResult) -> Int? {
    guard let words = result.errorLines.last(where: { $0.hasPrefix("retain ") })?.split(separator: " ") else {
      return nil
    }
    return words.count == 4 && words[1] == words[3] ? Int(words[1]) : nil
  }

  @Test(
    "retains and releases of the context are balanced", arguments: Streams.forReading,
    [("before", 1), ("after", 1), ("twice", 2)])
  func context(_ streams: Streams, _ client: (order: String, count: Int)) {
    let result = run(streams, LoopbackServer.hello, "--context-trace", "--set-client", client.order)
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    let total = balance(result) ?? 0
    // CoreFoundation retains around its calls too.
    #expect(streams == .own ? total == client.count : total >= client.count, "\(result.errorText)")
    for number in 1...client.count {
      let lines = result.errorLines.filter { $0.hasPrefix("context \(number) ") }
      #expect(lines.count { $0.contains(" retain ") } == lines.count { $0.contains(" release ") }, "\(lines)")
      #expect(lines.first == "context \(number) retain 1", "\(result.errorText)")
    }
  }

  // CoreFoundation releases first.
  @Test("a second client replaces the first, whose context is released after the second's was retained")
  func twice() {
    let lines = run(.own, LoopbackServer.hello, "--context-trace", "--set-client", "twice").errorLines
    #expect(
      inOrder(["context 1 retain 1", "context 2 retain 1", "context 1 release 1"], in: lines), "\(lines)")
  }

  @Test("a refused port is an error event, though open said yes", arguments: Streams.forReading)
  func refusedPort(_ streams: Streams) {
    let result = refused(streams, "--events", "--open-twice")
    #expect(result.code == 2 && result.output.isEmpty)
    let lines = ["open true, open again false", "net: read errorOccurred", "failed: POSIX 111"]
    #expect(inOrder(lines, in: result.errorLines), "\(result.errorText)")
  }

  @Test(
    "without events or without a callback nothing is called, and the time limit ends it",
    arguments: Streams.forReading)
  func nothingAsked(_ streams: Streams) {
    for option in [["--mask", "0"], ["--null-callback"]] {
      let server = LoopbackServer(LoopbackServer.hello)
      defer { server.stop() }
      let words = ["cfread", "127.0.0.1:\(server.port)", "--events", "--context-trace", "--timeout", "0.3"]
      let result = DemoProcess(words + streams.words + option).wait()
      #expect(result.code == 6 && result.output.isEmpty)
      #expect(result.errorLines.contains("client set: true") && !result.errorText.contains("net: "))
      #expect(result.errorLines.contains("retain 0 release 0"), "\(result.errorText)")
    }
  }

  @Test(
    "a client that is removed in its callback is not called again, and released afterwards",
    arguments: Streams.forReading)
  func clearInCallback(_ streams: Streams) {
    let result = run(streams, LoopbackServer.hello, "--clear-in-callback", "--context-trace")
    // CoreFoundation holds the context a second time, around its call.
    let count = streams == .own ? 1 : 2
    #expect(balance(result) == count, "\(result.errorText)")
    let lines = [
      "context 1 retain \(count)", "client removed, released in its own callback: false",
      "context 1 release \(count)",
    ]
    #expect(result.code == 0 && inOrder(lines, in: result.errorLines), "\(result.errorText)")
    #expect(!result.errorText.contains("event after it was ended"))
  }

  @Test(
    "a stream that is off the loop says nothing, and then everything",
    arguments: [(Streams.own, "direct"), (.own, "bufferevent"), (.coreFoundation, nil)]
      as [(Streams, String?)])
  func unschedule(_ streams: Streams, _ transport: String?) {
    let server = LoopbackServer(LoopbackServer.hello)
    defer { server.stop() }
    let words = ["cfread", "127.0.0.1:\(server.port)", "--unschedule", "300", "--events"]
    let result = DemoProcess(words + streams.words + (transport.map { ["--transport", $0] } ?? [])).wait()
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    let lines = [
      "net: read hasBytesAvailable 1", "unscheduled", "scheduled again", "net: read hasBytesAvailable 24",
      "net: read endEncountered",
    ]
    #expect(inOrder(lines, in: result.errorLines), "\(result.errorText)")
    #expect(!result.errorText.contains("event after it was ended"))
    #expect(result.elapsed >= .milliseconds(300))
  }

  @Test(
    "a stream that was never scheduled can be polled, or waits in a read", arguments: Streams.forReading,
    ["--poll", "--block"])
  func withoutLoop(_ streams: Streams, _ way: String) {
    let result = run(streams, LoopbackServer.hello, way)
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    #expect(
      result.errorLines.contains { $0.hasSuffix("read 25") }
        && result.errorLines.contains { $0.hasSuffix("read 0") })
    #expect(run(streams, .early, way).errorLines.last == "end, 0 bytes")
    let silent = run(streams, .silent, way, "--timeout", "0.3")
    #expect(silent.code == 6, "\(silent.errorText)")
  }

  @Test(
    "a reset is no end, on a loop, polled, or in a blocking read", arguments: Streams.forReading,
    [nil, "--poll", "--block"])
  func reset(_ streams: Streams, _ way: String?) {
    let server = LoopbackServer(.rst)
    defer { server.stop() }
    let result = DemoProcess(
      ["cfread", "127.0.0.1:\(server.port)"] + streams.words + (way.map { [$0] } ?? [])
    ).wait()
    #expect(result.code == 3 && result.text == "partial\n", "\(result.errorText)")
    #expect(result.errorLines.contains { $0.hasPrefix("error: POSIX 104 Connection reset by peer (") })
  }

  @Test("a blocking read on a refused port answers -1", arguments: Streams.forReading)
  func blockingRefused(_ streams: Streams) {
    let result = refused(streams, "--block")
    #expect(result.code == 2 && result.errorLines.first == "read -1", "\(result.errorText)")
    #expect(refused(streams, "--poll").code == 2)
  }

  @Test("a loop that is asked to stop before it runs ends at once", arguments: Streams.forReading)
  func stopNow(_ streams: Streams) {
    let result = run(streams, .silent, "--stop-now", "--events", "--context-trace")
    let lines = ["opening", "thread net joined", "context 1 release 1", "retain 1 release 1"]
    #expect(result.code == 0 && inOrder(lines, in: result.errorLines), "\(result.errorText)")
    #expect(result.elapsed < .seconds(8), "the time limit is 10 s")
  }

  @Test("early, silent, split and ten million bytes are as for receive", arguments: Streams.forReading)
  func modes(_ streams: Streams) {
    let early = run(streams, .early)
    #expect(
      early.code == 0 && early.output.isEmpty && early.errorLines == ["end, 0 bytes"], "\(early.errorText)")
    #expect(run(streams, .silent, "--timeout", "0.3").code == 6)
    #expect(run(streams, .split(Array("héllo 你好\n".utf8))).text == "héllo 你好\n")
    let big = run(streams, LoopbackServer.big, "--json")
    #expect(big.text.contains(#""received":10000000"#), "\(big.text)")
    if streams == .own { #expect(big.text.contains(#""retains":1,"releases":1"#), "\(big.text)") }
    #expect(big.text.contains(#""socketsLeft":0"#), "\(big.text)")
  }

  @Test(
    "a missing host and what is not a port are wrong arguments",
    arguments: [":80", "host", "host:", "h:1:2", "[::1:80"])
  func badEndpoint(_ text: String) {
    let result = DemoProcess.run("cfread", text)
    #expect(result.code == 64 && result.errorLines.count == 3, "\(result.errorText)")
  }

  @Test(
    "SIGINT ends a read that waits, on a loop or blocking", arguments: Streams.forReading,
    [nil, "--poll", "--block"])
  func interrupt(_ streams: Streams, _ way: String?) {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = DemoProcess(
      ["cfread", "127.0.0.1:\(server.port)"] + streams.words + (way.map { [$0] } ?? []))
    server.waitForConnections(1)
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.signal == SIGINT, "\(result.status) \(result.errorText)")
  }

  @Test(
    "what CoreFoundation has no place for is refused",
    arguments: ["--resolve=a:127.0.0.1", "--transport=direct"])
  func ownOnly(_ option: String) {
    let result = DemoProcess.run("cfread", "127.0.0.1:80", "--corefoundation", option)
    #expect(result.code == 64 && result.errorLines.count == 3, "\(result.errorText)")
    #expect(
      result.errorLines.first?.contains("does not go with --corefoundation") == true, "\(result.errorText)")
  }
}
