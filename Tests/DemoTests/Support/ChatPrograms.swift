// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The chat's servers and clients, as programs.

import Testing

/// The servers that a chat client has to work with.
enum ChatServerKind: String, CaseIterable, Sendable {
  /// The program's own.
  case own
  /// Of lines, on Twisted.
  case twisted
  /// The tutorial's, with its faults.
  case seed

  /// Those that keep to the protocol.
  static let faultless: [ChatServerKind] = [.own, .twisted]

  /// What it tells of somebody who joins.
  func joined(_ name: String) -> String { self == .seed ? "\(name) has joined" : "\(name) joined" }
}

/// A chat server that runs until it is killed or dropped.
final class ChatServerProcess {
  let port: UInt16
  private let program: DemoProcess?
  private let script: ServerProcess?

  init(_ kind: ChatServerKind) throws {
    switch kind {
    case .own:
      let (program, port) = try DemoProcess.chatd()
      (self.program, self.port, script) = (program, port, nil)
    case .twisted, .seed:
      let name = kind == .seed ? "seedchat.py" : "chatd.py"
      let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
      let path = folders.joined(separator: "/") + "/Servers/" + name
      let script = try ServerProcess(ServerProcess.python, ["-B", path])
      (self.script, program) = (script, nil)
      // Twisted takes its time to be imported.
      port = try script.number(after: "port ", seconds: 60)
    }
  }

  deinit { kill() }

  /// Ends it at once, as a machine that loses power does, but that the kernel says so to all clients.
  func kill() {
    script?.kill()
    if let program, program.isRunning {
      program.send(signal: 9)
      _ = program.wait()
    }
  }
}

extension DemoProcess {
  /// Starts `chatd`, and waits for its first line.
  static func chatd(_ more: String...) throws -> (process: DemoProcess, port: UInt16) {
    let process = DemoProcess(["chatd"] + more)
    // With --json the line is on standard error.
    #expect(process.collect { ($0.output + $0.errors).contains(UInt8(ascii: "\n")) })
    let line = (process.outputSoFar + process.errorsSoFar).prefix { $0 != "\n" }
    #expect(line.hasPrefix("listening on "))
    if more.contains("--unix") { return (process, 0) }
    return (process, try #require(line.split(separator: ":").last.flatMap { UInt16($0) }))
  }

  /// Starts `chat`, with standard input that the test writes to.
  static func chat(_ name: String, port: UInt16, _ more: String...) -> DemoProcess {
    DemoProcess(["chat", "127.0.0.1", "\(port)", "--name", name] + more, keepsInput: true)
  }

  /// Waits until standard output has a line, or more of the same.
  @discardableResult
  func shows(_ line: String, count: Int = 1) -> Bool {
    collect { result in result.text.split(separator: "\n").count { $0 == line } >= count }
  }

  /// Waits until standard error has a line that begins so.
  @discardableResult
  func tells(_ start: String, count: Int = 1) -> Bool {
    collect { result in result.errorLines.count { $0.hasPrefix(start) } >= count }
  }
}
