// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("cfread", .timeLimit(.minutes(2)))
struct CFReadTests {
  private static let text = "Hello from server 你好\n"

  private func run(_ mode: LoopbackServer.Mode, _ more: String...) -> DemoResult {
    let server = LoopbackServer(mode)
    defer { server.stop() }
    return DemoProcess(["cfread", "127.0.0.1:\(server.port)"] + more).wait()
  }

  private func refused(_ more: String...) -> DemoResult {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    return DemoProcess(["cfread", "127.0.0.1:\(port)"] + more).wait()
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

  @Test("the steps come in order, the events on the thread, and the whole text from the main thread")
  func steps() {
    let result = run(LoopbackServer.hello, "--events")
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    let steps = [
      "thread net started", "scheduled", "opening", "net: read hasBytesAvailable 25",
      #"net: text "Hello from server 你好\n""#, "net: read endEncountered", "thread net joined",
      "end, 25 bytes",
    ]
    #expect(inOrder(steps, in: result.errorLines), "\(result.errorText)")
    #expect(!result.errorText.contains("openCompleted"))
  }

  @Test("with a mask of all events open completed is told too, and first")
  func allEvents() {
    let result = run(LoopbackServer.hello, "--events", "--mask", "31")
    let events = ["net: read openCompleted", "net: read hasBytesAvailable 25", "net: read endEncountered"]
    #expect(result.code == 0 && inOrder(events, in: result.errorLines), "\(result.errorText)")
  }

  @Test(
    "retains and releases of the context are balanced",
    arguments: [("before", 1), ("after", 1), ("twice", 2)])
  func context(_ order: String, _ count: Int) {
    let result = run(LoopbackServer.hello, "--context-trace", "--set-client", order)
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    #expect(result.errorLines.contains("retain \(count) release \(count)"), "\(result.errorText)")
    for number in 1...count {
      #expect(result.errorLines.count { $0 == "context \(number) retain 1" } == 1, "\(result.errorText)")
      #expect(result.errorLines.count { $0 == "context \(number) release 1" } == 1, "\(result.errorText)")
    }
  }

  @Test("a second client replaces the first, whose context is released after the second's was retained")
  func twice() {
    let lines = run(LoopbackServer.hello, "--context-trace", "--set-client", "twice").errorLines
    #expect(
      inOrder(["context 1 retain 1", "context 2 retain 1", "context 1 release 1"], in: lines), "\(lines)")
  }

  @Test("a refused port is an error event, though open said yes")
  func refusedPort() {
    let result = refused("--events", "--open-twice")
    #expect(result.code == 2 && result.output.isEmpty)
    let lines = ["open true, open again false", "net: read errorOccurred", "failed: POSIX 111"]
    #expect(inOrder(lines, in: result.errorLines), "\(result.errorText)")
  }

  @Test("without events or without a callback nothing is called, and the time limit ends it")
  func nothingAsked() {
    for option in [["--mask", "0"], ["--null-callback"]] {
      let server = LoopbackServer(LoopbackServer.hello)
      defer { server.stop() }
      let words = ["cfread", "127.0.0.1:\(server.port)", "--events", "--context-trace", "--timeout", "0.3"]
      let result = DemoProcess(words + option).wait()
      #expect(result.code == 6 && result.output.isEmpty)
      #expect(result.errorLines.contains("client set: true") && !result.errorText.contains("net: "))
      #expect(result.errorLines.contains("retain 0 release 0"), "\(result.errorText)")
    }
  }

  @Test("a client that is removed in its callback is not called again, and released afterwards")
  func clearInCallback() {
    let result = run(LoopbackServer.hello, "--clear-in-callback", "--context-trace")
    let lines = [
      "context 1 retain 1", "client removed, released in its own callback: false", "context 1 release 1",
      "retain 1 release 1",
    ]
    #expect(result.code == 0 && inOrder(lines, in: result.errorLines), "\(result.errorText)")
    #expect(!result.errorText.contains("event after it was ended"))
  }

  @Test(
    "a stream that is off the loop says nothing, and then everything", arguments: ["direct", "bufferevent"])
  func unschedule(_ transport: String) {
    let result = run(LoopbackServer.hello, "--unschedule", "300", "--events", "--transport", transport)
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
    "a stream that was never scheduled can be polled, or waits in a read", arguments: ["--poll", "--block"])
  func withoutLoop(_ way: String) {
    let result = run(LoopbackServer.hello, way)
    #expect(result.code == 0 && result.text == Self.text, "\(result.errorText)")
    #expect(
      result.errorLines.contains { $0.hasSuffix("read 25") }
        && result.errorLines.contains { $0.hasSuffix("read 0") })
    #expect(run(.early, way).errorLines.last == "end, 0 bytes")
    let silent = run(.silent, way, "--timeout", "0.3")
    #expect(silent.code == 6, "\(silent.errorText)")
  }

  @Test("a reset is no end, on a loop, polled, or in a blocking read", arguments: [nil, "--poll", "--block"])
  func reset(_ way: String?) {
    let server = LoopbackServer(.rst)
    defer { server.stop() }
    let result = DemoProcess(["cfread", "127.0.0.1:\(server.port)"] + (way.map { [$0] } ?? [])).wait()
    #expect(result.code == 3 && result.text == "partial\n", "\(result.errorText)")
    #expect(result.errorLines.contains { $0.hasPrefix("error: POSIX 104 Connection reset by peer (") })
  }

  @Test("a blocking read on a refused port answers -1")
  func blockingRefused() {
    let result = refused("--block")
    #expect(result.code == 2 && result.errorLines.first == "read -1", "\(result.errorText)")
    #expect(refused("--poll").code == 2)
  }

  @Test("a loop that is asked to stop before it runs ends at once")
  func stopNow() {
    let result = run(.silent, "--stop-now", "--events", "--context-trace")
    let lines = ["opening", "thread net joined", "context 1 release 1", "retain 1 release 1"]
    #expect(result.code == 0 && inOrder(lines, in: result.errorLines), "\(result.errorText)")
    #expect(result.elapsed < .seconds(8), "the time limit is 10 s")
  }

  @Test("early, silent, split and ten million bytes are as for receive")
  func modes() {
    let early = run(.early)
    #expect(
      early.code == 0 && early.output.isEmpty && early.errorLines == ["end, 0 bytes"], "\(early.errorText)")
    #expect(run(.silent, "--timeout", "0.3").code == 6)
    #expect(run(.split(Array("héllo 你好\n".utf8))).text == "héllo 你好\n")
    let big = run(LoopbackServer.big, "--json")
    #expect(
      big.text.contains(#""received":10000000"#) && big.text.contains(#""retains":1,"releases":1"#),
      "\(big.text)")
  }

  @Test(
    "a missing host and what is not a port are wrong arguments",
    arguments: [":80", "host", "host:", "h:1:2", "[::1:80"])
  func badEndpoint(_ text: String) {
    let result = DemoProcess.run("cfread", text)
    #expect(result.code == 64 && result.errorLines.count == 3, "\(result.errorText)")
  }

  @Test("SIGINT ends a read that waits, on a loop or blocking", arguments: [nil, "--poll", "--block"])
  func interrupt(_ way: String?) {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = DemoProcess(["cfread", "127.0.0.1:\(server.port)"] + (way.map { [$0] } ?? []))
    server.waitForConnections(1)
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.signal == SIGINT, "\(result.status) \(result.errorText)")
  }
}
