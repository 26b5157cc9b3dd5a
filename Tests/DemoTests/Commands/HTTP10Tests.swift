// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `http10` against nginx.

import Glibc
import Testing

@Suite("http10 and nginx", .timeLimit(.minutes(2)))
struct HTTP10Tests {
  private static let page = Array("<html><body>ok</body></html>\n".utf8)
  private static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  private let nginx: Nginx
  private let demo: HTTP10

  init() throws {
    nginx = try Nginx()
    try nginx.serve("index.html", Self.page)
    try nginx.serve("a.png", Self.picture)
    demo = HTTP10(nginx)
  }

  // Q1, Q2, Q3, Q5
  @Test("the header is shown, and HTML is saved as get.html, as it was served")
  func page() throws {
    let result = demo.type("GET / HTTP/1.0\nHost: localhost\n\n")
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.lines.first == "HTTP/1.1 200 OK")
    #expect(result.lines.contains("Content-Type: text/html") && result.lines.contains("Connection: close"))
    #expect(result.lines.last == "saved \(demo.folder.path)/get.html (29 bytes)")
    #expect(try demo.saved("get.html") == Self.page)
    #expect(demo.folder.names == ["get.html"])
    #expect(result.errorLines == ["connected to 127.0.0.1:\(nginx.port)", "1 replies over 1 connections"])
  }

  // Q5
  @Test("a picture is saved as picture.png")
  func picture() throws {
    let result = demo.get("/a.png")
    #expect(
      result.code == 0 && result.lines.last?.hasSuffix("picture.png (8 bytes)") == true, "\(result.text)")
    #expect(try demo.saved("picture.png") == Self.picture)
  }

  // R8, A23
  @Test("one client makes a new connection between two requests, when it is told to")
  func reconnect() throws {
    let result = demo.type("GET / HTTP/1.0\n\n/reconnect\nGET /a.png HTTP/1.0\n\n", "--events")
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.lines.count { $0 == "HTTP/1.1 200 OK" } == 2)
    #expect(demo.folder.names == ["get.html", "picture.png"])
    #expect(result.errorLines.count { $0 == "read openCompleted" } == 2)
    #expect(result.errorLines.count { $0 == "read endEncountered" } <= 2)
    #expect(result.errorLines.last == "2 replies over 2 connections")
  }

  // R8
  @Test("who types gets each reply after the blank line, before the input ends")
  func typed() {
    let process = demo.start()
    process.write("GET / HTTP/1.0\n")
    process.write("\n")
    #expect(process.collect { $0.text.contains("get.html (29 bytes)\n") }, "\(process.errorsSoFar)")
    process.write("/reconnect\nGET /a.png HTTP/1.0\n\n")
    #expect(process.collect { $0.text.contains("picture.png (8 bytes)\n") }, "\(process.errorsSoFar)")
    #expect(process.isRunning)
    process.closeInput()
    #expect(process.wait().code == 0)
  }

  // E16
  @Test("several requests of HTTP/1.1 go over one connection, one of them without a body")
  func keepAlive() throws {
    let host = " HTTP/1.1\nHost: a\n\n"
    let result = demo.type("GET /\(host)HEAD /\(host)GET /a.png\(host)GET /nope\(host)GET /\(host)")
    #expect(result.code == 5, "\(result.errorText)")
    #expect(
      result.lines.filter { $0.hasPrefix("HTTP/") }.map { $0.split(separator: " ")[1] } == [
        "200", "200", "200", "404", "200",
      ])
    #expect(result.lines.count { $0.hasPrefix("saved ") } == 3)
    #expect(result.errorLines.count { $0.hasPrefix("connected to ") } == 1)
  }

  @Test("a request over a connection that the server has ended is an error that says what to do")
  func forgottenReconnect() {
    let result = demo.type("GET / HTTP/1.0\n\nGET / HTTP/1.0\n\n")
    #expect(result.code == 3 && result.lines.count { $0.hasPrefix("HTTP/") } == 1, "\(result.errorText)")
    #expect(
      result.errorLine
        == "POSIX 107 Transport endpoint is not connected (127.0.0.1:\(nginx.port), write): /reconnect makes a new connection",
      "\(result.errorText)")
  }

  // The table of the system's description, row 1
  @Test("nonsense is refused by the server, and what was saved before is not touched")
  func garbage() throws {
    try TextFile.write("before", to: demo.folder.file("get.html"))
    let result = demo.type("GARBAGE\n\n")
    #expect(result.code == 5 && result.lines.first == "HTTP/1.1 400 Bad Request", "\(result.errorText)")
    #expect(result.errorLine == "HTTP 400 Bad Request (127.0.0.1:\(nginx.port), read)")
    #expect(try demo.saved("get.html") == Array("before".utf8))
    #expect(demo.folder.names == ["get.html"])
  }

  // Row 2
  @Test("a page that is not there is status 5, and its body is not saved")
  func notFound() {
    let result = demo.get("/nope", "--json")
    #expect(result.code == 5 && demo.folder.names.isEmpty)
    #expect(result.text.contains(#""replies":[{"status":404,"bytes":153,"saved":null}]"#), "\(result.text)")
    let shown = demo.get("/nope")
    #expect(shown.code == 5 && shown.lines.first == "HTTP/1.1 404 Not Found")
    #expect(shown.lines.contains("Content-Length: 153"))
  }

  // Row 3
  @Test("a request without a blank line gets no reply, and that is said after the time limit")
  func noBlankLine() {
    let result = demo.type("GET / HTTP/1.0\n", "--timeout", "0.3")
    #expect(result.code == 6 && result.output.isEmpty && demo.folder.names.isEmpty)
    #expect(
      result.errorLine?.hasSuffix(", read): no reply came to a request without a blank line at its end")
        == true,
      "\(result.errorText)")
  }

  @Test("a reply of HTTP/0.9 is shown as far as its first line, and refused")
  func oldProtocol() {
    let result = demo.type("GET /\n\n")
    #expect(result.code == 4 && result.lines == ["<html><body>ok</body></html>"])
    #expect(result.errorLine?.hasPrefix("reply 2 no status line (127.0.0.1:") == true, "\(result.errorText)")
  }

  @Test("after a failure the next request is sent all the same, and the first failure decides")
  func goesOn() {
    let result = demo.type("GET /nope HTTP/1.0\n\n/reconnect\nGET / HTTP/1.0\n\nGET / HTTP/1.0\n\n")
    #expect(result.code == 5 && demo.folder.names == ["get.html"])
    #expect(result.errorLines.count { $0.hasPrefix("error: ") } == 2, "\(result.errorText)")
  }

  @Test("the summary in JSON is all there is on standard output")
  func json() {
    let result = demo.type("GET / HTTP/1.0\n\n/reconnect\nHEAD / HTTP/1.0\n\n", "--json")
    #expect(result.code == 0 && result.lines.count == 1, "\(result.errorText)")
    #expect(
      result.text.hasPrefix(
        #"{"command":"http10","target":"127.0.0.1:\#(nginx.port)","status":0,"connections":2,"sent":37,"#))
    let file = demo.folder.file("get.html").replacing("/", with: "\\/")
    let entries = [
      #"{"status":200,"bytes":29,"saved":"\#(demo.folder.file("get.html"))"}"#,
      #"{"status":200,"bytes":0,"saved":null}"#,
    ]
    #expect(
      result.text.replacing(file, with: demo.folder.file("get.html")).contains(
        entries.joined(separator: ",")),
      "\(result.text)")
    #expect(result.text.contains(#""socketsLeft":0"#) && result.text.contains(#""error":null"#))
  }

  @Test("a body goes to its file while it comes, and not into memory", arguments: ["direct", "bufferevent"])
  func memory(_ transport: String) throws {
    try nginx.serve("big", zeros: 400_000_000)
    #expect(symlink("/dev/null", demo.folder.file("get.bin.part")) == 0)
    // What the address sanitizer keeps of freed memory is not the program's.
    let process = demo.start(
      ["--transport", transport], environment: ["ASAN_OPTIONS": "quarantine_size_mb=1"])
    process.write("GET /big HTTP/1.0\n\n")
    #expect(
      process.collect(seconds: 60) { $0.text.contains("get.bin (400000000 bytes)\n") },
      "\(process.errorsSoFar)")
    let peak = try peakMemory(of: process.pid)
    #expect(peak < 200_000, "\(peak) kB")
    process.closeInput()
    #expect(process.wait().code == 0)
  }

  /// In kilobytes.
  private func peakMemory(of pid: pid_t) throws -> Int {
    let status = try TextFile.read("/proc/\(pid)/status").split(separator: "\n")
    let line = try #require(status.first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.filter(\.isNumber)))
  }
}
