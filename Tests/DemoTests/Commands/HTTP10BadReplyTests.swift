// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `http10` against servers that do it wrong.

import Glibc
import Testing

@Suite("http10 and bad replies", .timeLimit(.minutes(2)))
struct HTTP10BadReplyTests {
  private let server: BadHTTP
  private let demo: HTTP10

  init() throws {
    server = try BadHTTP()
    demo = HTTP10(server.port)
  }

  private var place: String { "(127.0.0.1:\(server.port), read)" }

  // MARK: - Headers

  // Q1
  @Test("what is typed goes out as it is, with CR LF, or on request with the ends that were typed")
  func sentAsTyped() throws {
    #expect(demo.type("GET /echo HTTP/1.0\nX:  a \u{4F60}\n\n").code == 0)
    #expect(try demo.saved("get.bin") == Array("GET /echo HTTP/1.0\r\nX:  a \u{4F60}\r\n\r\n".utf8))
    #expect(demo.type("GET /echo HTTP/1.0\nX: a\n\n", "--http1.0-raw").code == 0)
    #expect(try demo.saved("get.bin") == Array("GET /echo HTTP/1.0\nX: a\n\n".utf8))
  }

  @Test("a connection that is closed at once is status 4, and not silence")
  func early() {
    let result = demo.get("/early")
    #expect(result.code == 4 && result.output.isEmpty)
    #expect(result.errorLine == "reply 1 closed before a reply \(place)", "\(result.errorText)")
  }

  @Test("a server that closes before a request was typed has given no reply to it either")
  func closedWhileIdle() {
    let early = LoopbackServer(.early)
    defer { early.stop() }
    let idle = HTTP10(early.port)
    let process = idle.start(["--events"])
    #expect(process.collect { $0.errorText.contains("read endEncountered\n") })
    process.write("GET / HTTP/1.0\n\n")
    process.closeInput()
    let result = process.wait()
    #expect(
      result.code == 4 && result.errorLine?.hasPrefix("reply 1 closed before a reply ") == true,
      "\(result.errorText)")
  }

  @Test("of a header that is cut, the piece is shown")
  func halfHead() {
    let result = demo.get("/halfhead")
    #expect(result.code == 4 && result.lines == ["HTTP/1.1 200 OK", "Content-Len"])
    #expect(result.errorLine == "reply 3 closed inside the header \(place)", "\(result.errorText)")
  }

  @Test("of a header that stops, the piece is shown after the time limit")
  func halt() {
    let result = demo.get("/halt", "--timeout", "0.3")
    #expect(result.code == 6 && result.lines == ["HTTP/1.1 200 OK", "Content-Len"])
    #expect(result.errorLine?.hasSuffix(": the reply stopped after 28 bytes") == true, "\(result.errorText)")
  }

  // Q2, field report 20
  @Test("the output is the same, however the header is cut", arguments: ["/bytes", "/returns"])
  func cuts(_ path: String) throws {
    let result = demo.get(path)
    #expect(result.code == 0, "\(result.errorText)")
    #expect(
      result.lines == [
        "HTTP/1.1 200 OK", "Content-Length: 11", "Connection: close",
        "saved \(demo.folder.path)/get.bin (11 bytes)",
      ])
    #expect(try demo.saved("get.bin") == Array("hello world".utf8))
  }

  // Field report 20
  @Test("a header of 40 KB is read, and one of 3 MB is an error of its own")
  func longHeads() {
    let long = demo.get("/head40k")
    #expect(long.code == 0 && long.lines.contains { $0.count == 40_007 }, "\(long.errorText)")
    let longer = demo.get("/bighead")
    #expect(longer.code == 4 && longer.output.count < 1_000)
    #expect(longer.errorLine == "reply 4 header over 65536 bytes \(place)", "\(longer.errorText)")
  }

  @Test("an interim reply is shown, and the one after it counts")
  func interim() throws {
    let result = demo.get("/continue")
    #expect(result.code == 0 && result.lines.prefix(2) == ["HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"])
    #expect(try demo.saved("get.bin") == Array("hi".utf8))
  }

  @Test("bytes of a header that are no UTF-8 are shown as marks, and the body is not harmed")
  func badText() throws {
    let reply = demo.folder.file("reply")
    try TextFile.write(
      Array("HTTP/1.0 200 OK\r\nX: ".utf8) + [0xFF, 0xFE] + Array("\r\n\r\nhi".utf8), to: reply)
    let listen = "exec socat -d -d - TCP-LISTEN:0,bind=127.0.0.1 <\(reply)"
    let socat = try ServerProcess("/bin/sh", ["-c", listen])
    let client = HTTP10(try socat.number(after: "127.0.0.1:"))
    let result = client.get("/")
    #expect(
      result.code == 0 && result.lines.prefix(2) == ["HTTP/1.0 200 OK", "X: \u{FFFD}\u{FFFD}"],
      "\(result.errorText)")
    #expect(try client.saved("get.bin") == Array("hi".utf8))
  }

  // MARK: - Bodies

  // Q4, field report 25
  @Test("a body that is shorter than its length is an error that counts, and stays a .part")
  func short() throws {
    let result = demo.get("/short")
    #expect(result.code == 4 && demo.folder.names == ["get.bin.part"])
    #expect(
      result.errorLine
        == "reply 8 truncated 1234/100000 \(place): 1234 bytes are kept as \(demo.folder.path)/get.bin.part",
      "\(result.errorText)")
    let same = try demo.saved("get.bin.part") == Array(BadHTTP.body.prefix(1_234))
    #expect(same)
  }

  // Q3
  @Test("a body without a length ends with the connection")
  func noLength() throws {
    let result = demo.get("/nolength")
    #expect(result.code == 0 && result.lines.last?.hasSuffix("get.bin (100000 bytes)") == true)
    let same = try demo.saved("get.bin") == BadHTTP.body
    #expect(same && demo.folder.names == ["get.bin"])
  }

  // Q3
  @Test("a body in chunks is saved without them")
  func chunked() throws {
    #expect(demo.get("/chunked").code == 0)
    #expect(try demo.saved("get.bin") == Array("hello world".utf8))
  }

  // Q4
  @Test(
    "bad and missing chunks are errors",
    arguments: [
      ("/chunkcut", "reply 9 closed before the last chunk, after 15 bytes", 15),
      ("/chunknoend", "reply 9 closed before the last chunk, after 5 bytes", 5),
      ("/chunkbad", "reply 10 bad chunk size 'zz'", 0),
    ])
  func badChunks(_ path: String, _ error: String, _ count: Int) {
    let result = demo.get(path)
    #expect(result.code == 4 && demo.folder.names == ["get.bin.part"])
    #expect(
      result.errorLine?.hasPrefix("\(error) \(place): \(count) bytes are kept as ") == true,
      "\(result.errorText)")
  }

  // Field report 26
  @Test("the last bytes and the end in one go are a good reply, a thousand times")
  func lastBytesAndEnd() {
    let process = demo.start()
    process.write(String(repeating: "GET /chunked HTTP/1.0\n\n/reconnect\n", count: 1_000))
    process.closeInput()
    let result = process.wait(seconds: 100)
    #expect(result.code == 0 && result.lines.count { $0.hasSuffix("get.bin (11 bytes)") } == 1_000)
    #expect(result.errorLines.last == "1000 replies over 1001 connections")
  }

  @Test("a reset is a broken connection, and what came before it stays a .part")
  func reset() throws {
    let result = demo.get("/rst")
    #expect(result.code == 3 && demo.folder.names == ["get.bin.part"])
    #expect(
      result.errorLine?.hasPrefix("POSIX 104 Connection reset by peer \(place): 5000 bytes are kept as ")
        == true,
      "\(result.errorText)")
    let same = try demo.saved("get.bin.part") == Array(BadHTTP.body.prefix(5_000))
    #expect(same)
  }

  @Test("a body that stops is given up, and stays a .part")
  func stall() {
    let result = demo.get("/stall", "--timeout", "0.3")
    #expect(result.code == 6 && demo.folder.names == ["get.bin.part"])
    #expect(result.errorLine?.contains("; 100 bytes are kept as ") == true, "\(result.errorText)")
  }

  @Test("what comes behind the length is not saved, and is told of")
  func long() throws {
    let result = demo.get("/long")
    #expect(result.code == 0 && result.lines.last?.hasSuffix("get.bin (10 bytes)") == true)
    #expect(
      result.errorLines.contains("40 bytes after the end of the reply are ignored"), "\(result.errorText)")
    let same = try demo.saved("get.bin") == Array(BadHTTP.body.prefix(10))
    #expect(same)
  }

  @Test("an empty body is a file all the same")
  func empty() throws {
    #expect(demo.get("/zero").lines.last?.hasSuffix("get.html (0 bytes)") == true)
    #expect(try demo.saved("get.html").isEmpty)
  }

  @Test("a body takes the place of the one before only when it is whole")
  func replaced() throws {
    #expect(demo.get("/nolength").code == 0 && demo.get("/short").code == 4)
    #expect(demo.folder.names == ["get.bin", "get.bin.part"])
    #expect(try demo.saved("get.bin").count == 100_000)
    #expect(demo.get("/long").code == 0 && demo.folder.names == ["get.bin"])
  }

  // MARK: - Files and the user

  @Test("a folder where nothing can be saved is refused before a request is sent")
  func badFolder() throws {
    try TextFile.write("", to: demo.folder.file("file"))
    var folders = [("/no/such/folder", 2), (demo.folder.file("file"), 20)]
    // To the superuser a folder without permissions is open.
    if geteuid() != 0 {
      chmod(demo.folder.folder("closed"), 0o555)
      folders.append((demo.folder.file("closed"), 13))
    }
    for (folder, code) in folders {
      let process = DemoProcess(["http10", "127.0.0.1", "\(server.port)", "--out", folder])
      let result = process.wait()
      #expect(result.code == 7 && result.output.isEmpty)
      #expect(result.errorLine?.hasPrefix("POSIX \(code) ") == true, "\(result.errorText)")
      #expect(!result.errorText.contains("connected"))
    }
  }

  @Test("a file that cannot be made or written ends the command with 7", arguments: ["/", "/dev/full"])
  func badFile(_ target: String) {
    #expect(symlink(target, demo.folder.file("get.bin.part")) == 0)
    let result = demo.type("GET /ok HTTP/1.0\n\n/reconnect\nGET /ok HTTP/1.0\n\n")
    #expect(result.code == 7 && result.lines.count { $0.hasPrefix("HTTP/") } == 1)
    #expect(
      result.errorLine?.hasSuffix(", write): \(demo.folder.path)/get.bin.part") == true, "\(result.errorText)"
    )
  }

  @Test("nobody is told of a connection before there is one")
  func refused() {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = HTTP10(port).get("/")
    #expect(result.code == 2 && !result.errorText.contains("connected to"))
    #expect(result.errorLine == "POSIX 111 Connection refused (127.0.0.1:\(port), connect)")
  }

  @Test("SIGINT ends a wait as a shell expects, and no socket is left")
  func interrupt() {
    let process = demo.start(["--verbose"])
    process.write("GET /stall HTTP/1.0\n\n")
    #expect(process.collect { $0.text.contains("Content-Length: 100000\n") })
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.signal == SIGINT && result.errorLines.contains("sockets left: 0"), "\(result.errorText)")
  }

  @Test("when the reader of standard output has gone, the program ends quietly with 141")
  func brokenPipe() {
    let process = DemoProcess(
      ["http10", "127.0.0.1", "\(server.port)", "--out", demo.folder.path], keepsInput: true, hasReader: false
    )
    process.write("GET /ok HTTP/1.0\n\n")
    let result = process.wait()
    #expect(result.code == 141 && !result.errorText.contains("error"), "\(result.errorText)")
  }
}
