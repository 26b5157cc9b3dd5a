// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("The key log")
struct KeyLogTests {
  // J18
  @Test("each connection's keys are appended as whole lines, for the owner only")
  func lines() throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/keys.log"
    var client = try TLSSettings.trusting()
    client.keyLogFile = path
    let context = try SSLContext(client)
    let server = try SSLContext(TLSSettings.serving())
    for _ in 0..<2 { #expect(MemoryHandshake(context, server).isDone) }
    let text = try shell("cat \(path)")
    let lines = text.split(separator: "\n")
    #expect(text.hasSuffix("\n"))
    #expect(lines.count { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") } == 2)
    #expect(lines.allSatisfy { $0.split(separator: " ").count == 3 })
    #expect(try shell("stat -c %a \(path)") == "600\n")
  }

  @Test("a server logs, too, and both can share a file")
  func shared() throws {
    let folder = TemporaryFolder()
    let path = try folder.write(Array("# kept\n".utf8), to: "keys.log")
    var (client, server) = (try TLSSettings.trusting(), try TLSSettings.serving())
    client.keyLogFile = path
    server.keyLogFile = path
    #expect(try MemoryHandshake(client, server).isDone)
    let text = try shell("cat \(path)")
    #expect(text.hasPrefix("# kept\n"))
    #expect(
      text.split(separator: "\n").count { $0.hasPrefix("CLIENT_RANDOM") || $0.contains("_SECRET") } >= 8)
  }

  @Test("a file that cannot be written is a fault of the settings, found before any connection")
  func unwritable() throws {
    let folder = TemporaryFolder()
    var settings = TLSSettings.client()
    for path in ["\(folder.path)/no/keys.log", folder.path] {
      settings.keyLogFile = path
      expectFault("the key log cannot be written: open \(path)", code: .badSettings) {
        try SSLContext(settings)
      }
    }
  }

  @Test("a file that goes away meanwhile harms nobody")
  func gone() throws {
    let folder = TemporaryFolder()
    _ = try shell("mkdir \(folder.path)/logs")
    var client = try TLSSettings.trusting()
    client.keyLogFile = "\(folder.path)/logs/keys.log"
    let context = try SSLContext(client)
    _ = try shell("rm -r \(folder.path)/logs")
    #expect(MemoryHandshake(context, try SSLContext(TLSSettings.serving())).isDone)
  }
}

#endif
