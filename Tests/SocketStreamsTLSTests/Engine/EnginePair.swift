// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A client's and a server's engine with nothing between them but arrays: a test says how many bytes pass, and when.
#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

/// Two engines.
final class EnginePair {
  let client: TLSEngine
  let server: TLSEngine
  let clientWire = TestWire()
  let serverWire = TestWire()

  init(
    client clientSettings: TLSSettings = EngineSettings.client,
    server serverSettings: TLSSettings = EngineSettings.server,
    host: String? = "localhost", port: UInt16 = 443
  ) throws {
    let target = SecurityTarget(host: host, port: port)
    client = try clientSettings.engine(for: target)
    server = try serverSettings.engine()
    client.attach(to: clientWire)
    server.attach(to: serverWire)
  }

  /// Two engines that agreed.
  static func connected(
    client: TLSSettings = EngineSettings.client, server: TLSSettings = EngineSettings.server,
    port: UInt16 = 443
  ) throws -> EnginePair {
    let pair = try EnginePair(client: client, server: server, port: port)
    let progress = pair.shakeHands()
    try #require(progress.client == .done && progress.server == .done, "\(pair.failures)")
    return pair
  }

  var failures: String {
    "client: \(client.failure, default: "-"), server: \(server.failure, default: "-")"
  }

  /// Goes on with the handshake until nothing moves any more, `step` bytes at a time.
  @discardableResult
  func shakeHands(step: Int = .max) -> (client: HandshakeProgress, server: HandshakeProgress) {
    while true {
      let progress = (client: client.handshake(), server: server.handshake())
      let hasMoved = [
        clientWire.pass(to: serverWire, atMost: step), serverWire.pass(to: clientWire, atMost: step),
      ]
      if !hasMoved.contains(true) { return progress }
    }
  }

  /// Passes all that was sent, both ways.
  func pass(atMost step: Int = .max) {
    clientWire.pass(to: serverWire, atMost: step)
    serverWire.pass(to: clientWire, atMost: step)
  }

  /// Ends both directions in order.
  func close() {
    client.finishSending()
    server.finishSending()
    pass()
    _ = client.readAll()
    _ = server.readAll()
  }
}

extension TLSEngine {
  /// Reads until there is no more at this moment, `step` bytes at a time.
  func readAll(step: Int = 65_536) -> (bytes: [UInt8], last: IOResult) {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: step)
    while true {
      var span = piece.mutableSpan
      var bytes = span.mutableBytes
      let result = receive(into: &bytes)
      guard case .bytes(let count) = result else { return (all, result) }
      all += piece[..<count]
    }
  }

  /// Reads once.
  func readOnce(_ count: Int = 65_536) -> (bytes: [UInt8], result: IOResult) {
    var piece = [UInt8](repeating: 0, count: count)
    var span = piece.mutableSpan
    var bytes = span.mutableBytes
    let result = receive(into: &bytes)
    guard case .bytes(let count) = result else { return ([], result) }
    return (Array(piece[..<count]), result)
  }

  /// Sends all, in pieces that an engine takes.
  @discardableResult
  func write(_ bytes: [UInt8]) -> IOResult {
    var result = IOResult.bytes(0)
    for start in stride(from: 0, to: bytes.count, by: largestSecuredPiece) {
      let piece = Array(bytes[start..<min(start + largestSecuredPiece, bytes.count)])
      result = send(piece.span.bytes)
    }
    return result
  }

  @discardableResult
  func write(_ text: String) -> IOResult { write(Array(text.utf8)) }
}

/// Settings for the tests' certificates.
enum EngineSettings {
  static let server = server("localhost")
  static let client = makeClient()

  static func server(_ name: String) -> TLSSettings {
    guard let settings = try? TLSSettings.serving(name) else { preconditionFailure("no identity \(name)") }
    return settings
  }

  private static func makeClient() -> TLSSettings {
    guard let settings = try? TLSSettings.trusting() else { preconditionFailure("no root") }
    return settings
  }
}

extension TLSSettings {
  /// An engine with them; unless told otherwise, for a peer of whom nothing is known.
  func engine(for target: SecurityTarget = SecurityTarget(host: nil, port: nil)) throws -> TLSEngine {
    try #require(try makeEngine(for: target) as? TLSEngine)
  }

  /// The same with something changed.
  func with(_ change: (inout TLSSettings) -> Void) -> TLSSettings {
    var changed = self
    change(&changed)
    return changed
  }

  func only(_ version: TLSVersion) -> TLSSettings {
    with {
      $0.minimumVersion = version
      $0.maximumVersion = version
    }
  }
}

#endif
