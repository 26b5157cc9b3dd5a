// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("The tour", .timeLimit(.minutes(2)))
struct TourTests {
  @Test("the tour ends with a summary and 0, over either transport", arguments: ["direct", "bufferevent"])
  func tour(_ transport: String) {
    let result = DemoProcess.run("--transport", transport)
    #expect(result.code == 0 && result.errors.isEmpty, "\(result.errorText)")
    let lines = result.text.split(separator: "\n").map(String.init)
    let expected = [
      "[client] read openCompleted", "[client] write openCompleted", "[client] write canAcceptBytes",
      "[server] read hasBytesAvailable 22", #"[client] read hasBytesAvailable 22 "Hello from the client\n""#,
      "[main]   moving both halves to the base of the thread 'second'",
      #"[second] read hasBytesAvailable 26 "Hello from another thread\n""#,
      "[main]   closing the write half; the read half stays open", "[server] read endEncountered",
      #"[second] read hasBytesAvailable 18 "You sent 48 bytes\n""#, "[second] read endEncountered",
    ]
    for line in expected { #expect(lines.contains(line), "\(line) is not in\n\(result.text)") }
    #expect(!result.text.contains("unknown thread"))
    let last = lines.last ?? ""
    #expect(
      last.hasPrefix("tour done: ") && last.contains(" events on 3 threads, 48 bytes sent, 66 received, "))
    #expect(last.contains("context retained 2 times and released 2 times, 0 sockets left, "), "\(last)")
  }

  @Test("after the move no event of the read half comes from the first thread")
  func move() {
    let lines = DemoProcess.run().text.split(separator: "\n")
    let afterMove = lines.drop { !$0.hasPrefix("[main]   moving") }
    #expect(!afterMove.isEmpty && !afterMove.contains { $0.hasPrefix("[client] read") })
  }

  @Test("a reader of the output that goes away ends the tour quietly with 141")
  func brokenPipe() {
    let result = DemoProcess([], hasReader: false).wait()
    #expect(result.code == 141 && result.errors.isEmpty, "\(result.errorText)")
  }

  @Test("the tour has the same lines with and without colours")
  func colors() {
    let result = DemoProcess.run("--color", "always")
    #expect(result.code == 0 && !result.output.contains(0x1B))
  }
}
