// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Addresses that lead nowhere: the same for every subcommand that connects.

import Glibc
import Testing

@Suite("Bad addresses", .timeLimit(.minutes(2)))
struct BadAddressTests {
  /// The arguments with which `command` connects to a host and a port.
  private func words(_ command: String, _ host: String, _ port: String) -> [String] {
    words(command, operands: command.hasPrefix("cfread") ? ["\(host):\(port)"] : [host, port])
  }

  private func words(_ command: String, operands: [String]) -> [String] {
    var words = command.split(separator: " ").map(String.init)
    words.insert(contentsOf: operands, at: 1)
    return words
  }

  private func run(_ words: [String], _ more: String...) -> DemoResult { DemoProcess(words + more).wait() }

  static let ownCommands = ["send", "receive", "connect", "cfread", "chat --name Ann"]
  static let commands =
    ownCommands + ["send --foundation", "receive --foundation", "cfread --corefoundation"]

  @Test("a name that does not exist is not resolved", arguments: commands)
  func unknownHost(_ command: String) {
    let result = run(words(command, "no-such-host.invalid", "80"))
    #expect(result.code == 2)
    let error = result.errorLines.last { $0.hasPrefix("error: ") } ?? ""
    #expect(error.hasPrefix("error: resolver -"), "\(result.errorText)")
    #expect(error.hasSuffix("(no-such-host.invalid:80, resolve)"), "\(result.errorText)")
  }

  @Test("a closed port refuses", arguments: commands)
  func refused(_ command: String) {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = run(words(command, "127.0.0.1", "\(port)"))
    #expect(result.code == 2 && result.output.isEmpty)
    let expected = "error: POSIX 111 Connection refused (127.0.0.1:\(port), connect)"
    #expect(result.errorLines.contains(expected), "\(result.errorText)")
  }

  @Test(
    "a URL, an empty host and what is not a port are wrong arguments",
    arguments: commands,
    [
      ("http://127.0.0.1", "80"), ("", "80"), ("127.0.0.1", "0"), ("127.0.0.1", "65536"),
      ("127.0.0.1", "abc"),
    ])
  func nonsense(_ command: String, _ address: (host: String, port: String)) {
    let result = run(words(command, address.host, address.port))
    #expect(result.code == 64 && result.output.isEmpty)
    #expect(result.errorLines.first?.hasPrefix("Error: ") == true && result.errorLines.count == 3)
  }

  @Test(
    "a server that never answers is given up after the time limit, and no socket is left", arguments: commands
  )
  func blackHole(_ command: String) {
    let server = LoopbackServer(.blackhole)
    defer { server.stop() }
    let result = run(words(command, "127.0.0.1", "\(server.port)"), "--timeout", "0.3", "--json")
    #expect(result.code == 6)
    let expected = "error: POSIX 110 Connection timed out (127.0.0.1:\(server.port), connect)"
    #expect(result.errorLines.contains(expected), "\(result.errorText)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }

  @Test("the second address is tried when the first refuses, and --events shows both", arguments: ownCommands)
  func twoAddresses(_ command: String) {
    // For chat any line is an answer, and then the end of its input is the end.
    let server = LoopbackServer(
      command == "send" ? .sink : command.hasPrefix("chat") ? .echo : LoopbackServer.hello)
    defer { server.stop() }
    let result = run(
      words(command, "two.test", "\(server.port)"), "--resolve", "two.test:127.0.0.2,127.0.0.1", "--events")
    #expect(result.code == 0, "\(result.errorText)")
    #expect(
      result.errorLines.contains("attempt 127.0.0.2:\(server.port) Connection refused"), "\(result.errorText)"
    )
    #expect(result.errorLines.contains("attempt 127.0.0.1:\(server.port)"), "\(result.errorText)")
  }

  @Test("when every address refuses, the summary names them all")
  func allRefuse() {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = run(
      words("send", "two.test", "\(port)"), "--resolve", "two.test:127.0.0.2,127.0.0.1", "--json")
    #expect(result.code == 2)
    #expect(result.text.contains("127.0.0.2:\(port)") && result.text.contains("127.0.0.1:\(port)"))
  }

  @Test("a mapping that is no address is a wrong argument")
  func badMapping() {
    #expect(run(words("send", "a", "80"), "--resolve", "a:b").code == 64)
    #expect(run(words("send", "a", "80"), "--resolve", "a").code == 64)
  }

  @Test(
    "a socket that is not there is not connected to, and a path that is too long is a wrong argument",
    arguments: commands)
  func unixPaths(_ command: String) {
    let missing = run(words(command, operands: ["--unix", "/no/such/socket"]))
    #expect(missing.code == 2)
    let expected = "error: POSIX 2 No such file or directory (unix:/no/such/socket, connect)"
    #expect(missing.errorLines.contains(expected), "\(missing.errorText)")
    let long = run(words(command, operands: ["--unix", "/" + String(repeating: "p", count: 107)]))
    #expect(long.code == 64 && long.errorLines.count == 3)
  }

  @Test("both a host and --unix are one too many", arguments: commands)
  func both(_ command: String) {
    #expect(run(words(command, "127.0.0.1", "80"), "--unix", "/s").code == 64)
  }
}
