// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program MQTTClient against mosquitto.

import Foundation
import Testing

@Suite("Program: MQTT on a background thread's run loop", .serialized, .timeLimit(.minutes(1)))
struct MQTTClientTests {
  /// A broker with one listener, on 127.0.0.1.
  private final class Broker {
    let server: ServerProcess
    let port: UInt16
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent(
      "\(UUID().uuidString).conf")

    /// - Parameter certificate: The name of the test certificate that it shows; `nil` if it speaks in the clear.
    init(certificate: String? = nil) throws {
      // The broker has to be told a port: one that is free now, and with luck still is when the broker asks for it.
      for attempt in 1... {
        let port = try TestPort.free()
        var lines = ["listener \(port) 127.0.0.1", "allow_anonymous true", "persistence false"]
        if let certificate {
          // Only who runs the tests may read the key; a broker of root's would become somebody else.
          lines += ["certfile \(TestCertificates.shared.certificate(certificate))", "user \(NSUserName())"]
          lines += ["keyfile \(TestCertificates.shared.key(certificate))"]
        }
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        let server = try ServerProcess("mosquitto", ["-c", file.path])
        do {
          try server.acceptConnections(on: port)
        } catch {
          if attempt < 5, server.printed.contains("Address already in use") { continue }
          throw error
        }
        (self.server, self.port) = (server, port)
        return
      }
      throw ServerProcess.NotReady(description: "no port for the broker")
    }

    deinit {
      server.kill()
      try? FileManager.default.removeItem(at: file)
    }
  }

  /// - Parameters:
  ///   - isTaken: Whether the streams take the level that the client asks for.
  ///   - level: What they say then.
  private func connect(
    _ client: MQTTClient?, isTaken: Bool = true, level: StreamSocketSecurityLevel = .none
  ) {
    client?.connect()
    // S188
    let level = level.rawValue
    #expect(client?.messages.next() == .secured([isTaken, isTaken], levels: [level, level]))
    #expect(client?.messages.next() == .connected(code: 0))
  }

  private func expectNothingLeft(_ client: inout MQTTClient?) {
    #expect(client?.waitForEnd() == true)
    #expect(client?.messages.isEmpty == true)
    #expect(client?.strayEvents == 0)
    weak let left = client
    client = nil
    #expect(eventually { left == nil }, "the client is still there")
  }

  /// Has one publish and the other receive, and both say goodbye.
  private func talk(_ reader: MQTTClient?, _ writer: MQTTClient?) {
    reader?.subscribe("a/#", quality: 1, id: 7)
    #expect(reader?.messages.next() == .subscribed(id: 7, quality: 1))

    writer?.publish("a/0", Array("at most once".utf8))
    #expect(reader?.messages.next() == .received(topic: "a/0", payload: Array("at most once".utf8)))
    writer?.publish("a/1", Array("at least once".utf8), id: 8)
    #expect(writer?.messages.next() == .published(id: 8))
    #expect(reader?.messages.next() == .received(topic: "a/1", payload: Array("at least once".utf8)))
    writer?.publish("b", [1])
    let long = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    writer?.publish("a/long", long, id: 9)
    #expect(writer?.messages.next() == .published(id: 9))
    let isSame = reader?.messages.next() == .received(topic: "a/long", payload: long)
    #expect(isSame)

    for client in [reader, writer] {
      client?.ping()
      #expect(client?.messages.next() == .pong)
      client?.disconnect()
      #expect(client?.messages.next() == .disconnected(domain: nil, code: nil))
    }
  }

  // T5, S78, S188, S215, S218
  @Test("two clients talk in the clear")
  func conversation() throws {
    let broker = try Broker()
    var reader: MQTTClient? = MQTTClient(host: "localhost", port: broker.port, id: "reader")
    var writer: MQTTClient? = MQTTClient(host: "127.0.0.1", port: broker.port, id: "writer")
    connect(reader)
    connect(writer)
    talk(reader, writer)
    expectNothingLeft(&reader)
    expectNothingLeft(&writer)
  }

  #if TLS
  // S188, S190, S192, S199, S215, S218
  @Test("two clients talk over TLS, which their streams are asked for after the opening")
  func securedConversation() async {
    await #expect(processExitsWith: .success) {
      trustTestRoot()
      let tests = MQTTClientTests()
      let broker = try Broker(certificate: "localhost")
      let level = StreamSocketSecurityLevel.negotiatedSSL
      var reader: MQTTClient? = MQTTClient(host: "localhost", port: broker.port, id: "reader", level: level)
      var writer: MQTTClient? = MQTTClient(host: "127.0.0.1", port: broker.port, id: "writer", level: level)
      tests.connect(reader, level: level)
      tests.connect(writer, level: level)
      tests.talk(reader, writer)
      tests.expectNothingLeft(&reader)
      tests.expectNothingLeft(&writer)
    }
  }

  // S168, S193
  @Test("a broker that nobody vouches for ends it with the error")
  func untrusted() throws {
    let broker = try Broker(certificate: "self-signed")
    let level = StreamSocketSecurityLevel.negotiatedSSL
    var client: MQTTClient? = MQTTClient(host: "localhost", port: broker.port, id: "client", level: level)
    client?.connect()
    #expect(client?.messages.next() == .secured([true, true], levels: [level.rawValue, level.rawValue]))
    guard case .disconnected(let domain, let code?) = client?.messages.next() else {
      Issue.record("no end")
      return
    }
    #expect(domain == NSOSStatusErrorDomain)
    #expect(isUntrusted.contains("3: \(code)"))
    expectNothingLeft(&client)
  }
  #else
  // S188, S177
  @Test("without TLS the streams refuse to be secured, and say so")
  func refusedLevel() throws {
    let broker = try Broker()
    var client: MQTTClient? = MQTTClient(
      host: "localhost", port: broker.port, id: "client", level: .negotiatedSSL)
    connect(client, isTaken: false)
    client?.disconnect()
    #expect(client?.messages.next() == .disconnected(domain: nil, code: nil))
    expectNothingLeft(&client)
  }
  #endif

  // S51, S165, S218
  @Test("a refused port ends it with the error")
  func refused() throws {
    let refused = try RefusedPort()
    var client: MQTTClient? = MQTTClient(host: "127.0.0.1", port: refused.port, id: "client")
    client?.connect()
    let none = StreamSocketSecurityLevel.none.rawValue
    #expect(client?.messages.next() == .secured([true, true], levels: [none, none]))
    #expect(client?.messages.next() == .disconnected(domain: NSPOSIXErrorDomain, code: Int(ECONNREFUSED)))
    expectNothingLeft(&client)
  }

  // S90, S94
  @Test("a broker that is killed ends it once")
  func killed() throws {
    let broker = try Broker()
    var client: MQTTClient? = MQTTClient(host: "localhost", port: broker.port, id: "client")
    connect(client)
    broker.server.kill()
    let last = client?.messages.next()
    let isEnd = last == .disconnected(domain: nil, code: nil)
    #expect(isEnd || last == .disconnected(domain: NSPOSIXErrorDomain, code: Int(ECONNRESET)))
    expectNothingLeft(&client)
  }
}
