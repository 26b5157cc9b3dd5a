// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `chatd` with many clients, of which one never reads.

import Glibc
import Testing

@Suite("chatd with a crowd", .timeLimit(.minutes(5)))
struct ChatCrowdTests {
  /// The kernel takes some 100 kB for a client that does not read, before anything waits in the server.
  private static let queueLimit = 65_536

  // R2
  @Test(
    "of many clients one never reads: the others get each line at once, and that one is dropped at its queue limit",
    arguments: [100, ChatCrowd.isSlow ? 200 : 1_000])
  func oneNeverReads(_ count: Int) throws {
    let limit = RaisedDescriptorLimit()
    try #require(limit.count > count + 100, "ulimit -n is \(limit.count)")
    let (process, port) = try DemoProcess.chatd("--json", "--queue-limit", "\(Self.queueLimit)")
    let crowd = try ChatCrowd(port: port, count: count - 2)
    let slow = SocketCalls.connect(port: port, hasSmallBuffers: true)
    defer { close(slow) }
    #expect(SocketCalls.sendAll(slow, Array("iam:Slow\n".utf8)))
    #expect(crowd.hear(1))
    let speaker = try LineSocket(port: port)
    speaker.send("iam:Ann\n")
    #expect(speaker.line() == "Ann joined")
    #expect(crowd.hear(2))

    var times: [Duration] = []
    var linesAfterDrop: Int?
    let text = String(repeating: "x", count: 4_000)
    while linesAfterDrop ?? 0 < 5, times.count < 200 {
      let start = ContinuousClock.now
      speaker.send("msg:\(text)\n")
      // Two have joined, and one may have left.
      let before = linesAfterDrop == nil ? 2 : 3
      try #require(crowd.hear(before + times.count + 1), "line \(times.count + 1) did not come")
      times.append(ContinuousClock.now - start)
      while case let line = try #require(speaker.line()), line != "Ann: " + text {
        #expect(line == "Slow left" && linesAfterDrop == nil)
        linesAfterDrop = 0
      }
      linesAfterDrop = linesAfterDrop.map { $0 + 1 }
    }
    let dropped = try #require(linesAfterDrop, "not dropped after \(times.count) lines")
    // Otherwise what the limit is for was not tried.
    #expect(times.count - dropped >= Self.queueLimit / 4_006)
    times.sort()
    let (middle, slowest) = (times[times.count / 2], times[times.count - 1])
    print("chatd, \(count) clients, \(times.count) lines to all: \(middle) a line, the slowest \(slowest)")
    // The rule is 100 ms; the slowest has to do with what else the machine is doing.
    #expect(
      middle < .milliseconds(ChatCrowd.isSlow ? 2_000 : 100 * max(count / 100, 1)) && slowest < .seconds(10))

    process.send(signal: SIGINT)
    speaker.close()
    let result = process.wait()
    #expect(result.status == 130)
    #expect(result.text.contains(#""dropped":1"#), "\(result.text)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }
}
