// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("echod", .timeLimit(.minutes(2)))
struct EchodTests {
  /// Starts the server, and waits for its first line.
  private func start(_ more: String...) throws -> (process: DemoProcess, port: UInt16) {
    let process = DemoProcess(["echod"] + more)
    // With --json the line is on standard error.
    #expect(process.collect { ($0.output + $0.errors).contains(UInt8(ascii: "\n")) })
    let line = (process.outputSoFar + process.errorsSoFar).prefix { $0 != "\n" }
    #expect(line.hasPrefix("listening on "))
    if more.contains("--unix") { return (process, 0) }
    return (process, try #require(line.split(separator: ":").last.flatMap { UInt16($0) }))
  }

  private func echo(_ fd: Int32, _ bytes: [UInt8]) -> [UInt8] {
    startThread {
      _ = SocketCalls.sendAll(fd, bytes)
      shutdown(fd, Int32(SHUT_WR))
    }
    defer { close(fd) }
    return SocketCalls.readAll(fd)
  }

  @Test("what arrives is sent back, to the end", arguments: ["--verbose", "--closure"])
  func echoes(_ option: String) throws {
    let (process, port) = try start(option)
    #expect(echo(SocketCalls.connect(port: port), Array("to and fro".utf8)) == Array("to and fro".utf8))
    #expect(echo(SocketCalls.connect(port: port), []) == [])
    let big = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let isSame = echo(SocketCalls.connect(port: port), big) == big
    #expect(isSame)
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(
      result.signal == SIGINT && result.errorLines.contains("interrupted, 5000010 bytes"),
      "\(result.errorText)")
  }

  @Test("a client that does not read holds nobody up, and is not read from any more")
  func slowReader() throws {
    let (process, port) = try start("--json")
    let slow = SocketCalls.connect(port: port)
    defer { close(slow) }
    // More than all buffers between take: the send below stops when the server has stopped reading.
    var timeout = timeval(tv_sec: 0, tv_usec: 500_000)
    setsockopt(slow, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    #expect(!SocketCalls.sendAll(slow, [UInt8](repeating: 1, count: 50_000_000)))
    #expect(echo(SocketCalls.connect(port: port), [1, 2, 3]) == [1, 2, 3])
    process.send(signal: SIGTERM)
    let result = process.wait()
    #expect(result.status == 143 && result.text.contains(#""status":143"#), "\(result.text)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }

  @Test("several threads serve, and each connection's context is released")
  func threads() throws {
    let (process, port) = try start("--threads", "2", "--json", "--events")
    for number in UInt8(1)...6 { #expect(echo(SocketCalls.connect(port: port), [number]) == [number]) }
    #expect(process.collect { $0.errorText.contains("6: done, 1 bytes") })
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.text.contains(#""connections":6"#), "\(result.status) \(result.text)\(result.errorText)")
    #expect(result.text.contains(#""retains":12,"releases":12"#), "\(result.text)")
    #expect(result.errorLines.contains("1: read hasBytesAvailable 1"), "\(result.errorText)")
  }

  // 10,000 clients, or as many as the hard limit of descriptors lets this process have.
  @Test("ten thousand clients that are connected at the same time are all served", .timeLimit(.minutes(4)))
  func crowd() throws {
    let limit = DescriptorLimit()
    defer { limit.restore() }
    // The server has the same hard limit, and both have other descriptors besides.
    let count = min(isSanitized ? 1_000 : 10_000, limit.highest - 200)
    try #require(count >= 1_000, "the hard limit of descriptors, \(limit.highest), allows no crowd")
    // It is started with too low a limit, which it raises.
    limit.set(500)
    let (process, port) = try start("--threads", "2", "--json")
    limit.set(limit.highest)
    let crowd = ClientCrowd()
    // One connection first, so that what the server makes once is not counted.
    #expect(crowd.connect(1, port: port) && crowd.exchange { _ in [1] } == 1)
    let before = process.privateBytes
    #expect(crowd.connect(count, port: port))
    #expect(crowd.exchange { Array("client \($0)\n".utf8) } == count)
    #expect(crowd.exchange { [UInt8(truncatingIfNeeded: $0)] } == count, "they are all still there")
    let memory = process.privateBytes - before
    print("echod: \(count) clients at the same time, \(memory / (count - 1)) bytes of memory a connection")
    #expect(crowd.end() == count)
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.text.contains(#""connections":\#(count),"#), "\(result.text)\(result.errorText)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }

  @Test("a number of threads that is none from 1 to 64 is refused", arguments: ["0", "65", "-1", "abc", ""])
  func badThreads(_ text: String) {
    let result = DemoProcess.run("echod", "--threads", text)
    #expect(result.code == 64 && result.output.isEmpty)
    #expect(
      result.errorText.contains("'\(text)'") && result.errorText.contains("--threads"), "\(result.errorText)")
  }

  @Test("--once ends after one connection, with what came of it")
  func once() throws {
    let (process, port) = try start("--once")
    #expect(echo(SocketCalls.connect(port: port), Array("once".utf8)) == Array("once".utf8))
    let result = process.wait()
    #expect(result.code == 0 && result.errorLines.last?.hasPrefix("1 connections, 4 bytes, in ") == true)
    #expect(SocketCalls.connect(port: port) < 0)
  }

  @Test("a client that resets breaks --once, and nobody else")
  func reset() throws {
    let (process, port) = try start("--once")
    let fd = SocketCalls.connect(port: port)
    #expect(SocketCalls.sendAll(fd, [1]) && SocketCalls.readAll(fd, limit: 1) == [1])
    SocketCalls.resetOnClose(fd)
    close(fd)
    let result = process.wait()
    #expect(result.code == 3 && result.errorText.contains("error: POSIX 104"), "\(result.errorText)")
  }

  @Test("a Unix-domain socket is there while the server is, and no longer")
  func unix() throws {
    let folder = TemporaryFolder()
    let (process, _) = try start("--unix", folder.file("s"))
    #expect(process.outputSoFar == "listening on unix:\(folder.file("s"))\n")
    #expect(echo(SocketCalls.connect(path: folder.file("s")), [7]) == [7])
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
    #expect(access(folder.file("s"), F_OK) != 0)
  }

  @Test("a port in use, and an address that is not this machine's, end it with 2")
  func badAddress() {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = DemoProcess.run("echod", "\(server.port)")
    #expect(result.code == 2 && result.output.isEmpty)
    #expect(
      result.errorLines == ["error: POSIX 98 Address already in use (127.0.0.1:\(server.port), listen)"])
    #expect(DemoProcess.run("echod", "--host", "192.0.2.1").code == 2)
    #expect(DemoProcess.run("echod", "--host", "nonsense").code == 64)
    #expect(DemoProcess.run("echod", "--unix", "/tmp/x", "80").code == 64)
  }

  @Test("with a time limit it ends when nothing happens")
  func timeLimit() {
    let result = DemoProcess.run("echod", "--timeout", "0.3")
    #expect(result.code == 6 && result.text.hasPrefix("listening on 127.0.0.1:"), "\(result.errorText)")
  }

  @Test("send and receive of the program work with it")
  func together() throws {
    let (process, port) = try start("--once")
    let result = DemoProcess.run("send", "localhost", "\(port)", "--text", "both sides", "--receive", "--nul")
    #expect(result.code == 0 && result.text == "both sides\0\n", "\(result.errorText)")
    #expect(process.wait().code == 0)
  }
}
