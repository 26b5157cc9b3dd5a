// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program as a process: what needs no connection.

import Glibc
import Testing

@Suite("The program as a process", .timeLimit(.minutes(2)))
struct ProcessTests {
  @Test("help that was asked for goes to standard output, at the width of COLUMNS")
  func help() throws {
    let result = DemoProcess.run("send", "--help", environment: ["COLUMNS": "80"])
    #expect(result.status == 0 && result.errors.isEmpty)
    try Golden("help-send.txt").expect(result.text)
    let wide = DemoProcess.run("send", "--help", environment: ["COLUMNS": "120"])
    #expect(wide.text.split(separator: "\n").contains { $0.count > 80 })
  }

  @Test("without COLUMNS and without a terminal the width is 80")
  func width() throws { try Golden("help-echod.txt").expect(DemoProcess.run("help", "echod").text) }

  @Test("the version is one line")
  func version() {
    let result = DemoProcess.run("--version")
    #expect(result.status == 0 && result.text == "demo 0.1.0 (SocketStreams)\n")
  }

  @Test("a usage error goes to standard error, with status 64 and nothing on standard output")
  func usage() {
    let result = DemoProcess.run("sned")
    #expect(result.status == 64 && result.output.isEmpty)
    #expect(result.errorLines.first == "Error: Unexpected argument 'sned'. Did you mean 'send'?")
    #expect(result.errorLines.count == 3)
  }

  @Test(
    "without a terminal NO_COLOR changes no byte, and CLICOLOR_FORCE adds colours that --color=never takes away"
  )
  func colors() {
    let plain = DemoProcess.run("--help").output
    #expect(DemoProcess.run("--help", environment: ["NO_COLOR": "1"]).output == plain)
    #expect(!plain.contains(0x1B))
    #expect(DemoProcess.run("--help", environment: ["CLICOLOR_FORCE": "1"]).output.contains(0x1B))
    #expect(DemoProcess.run("--help", environment: ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"]).output == plain)
  }

  @Test("without a standard output the output is lost, and that is an error")
  func noOutput() {
    let result = DemoProcess(["--help"], without: STDOUT_FILENO).wait()
    #expect(result.code == 7)
    let server = LoopbackServer(LoopbackServer.hello)
    defer { server.stop() }
    let received = DemoProcess(["receive", "127.0.0.1", "\(server.port)"], without: STDOUT_FILENO).wait()
    #expect(
      received.code == 7 && received.errorText.contains("POSIX 9 Bad file descriptor"),
      "\(received.errorText)")
    #expect(DemoProcess(["receive", "127.0.0.1", "\(server.port)"], without: STDERR_FILENO).wait().code == 0)
  }

  @Test("when the reader of standard output has gone, the program ends quietly with 141")
  func brokenPipe() {
    let result = DemoProcess(["help", "--man"], hasReader: false).wait()
    #expect(result.code == 141 && result.errors.isEmpty)
  }
}
