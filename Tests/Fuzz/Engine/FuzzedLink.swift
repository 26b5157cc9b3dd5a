// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two engines, what is between them, and what has to hold whatever happens there.

import COpenSSL
import SocketStreams

/// One engine, and what is known of it.
final class FuzzedSide {
  let engine: TLSEngine
  let wire = TestWire()
  /// What was written, and how much of it the other side has read.
  private(set) var written: [UInt8] = []
  private(set) var hasFinished = false
  private(set) var readCount = 0
  private(set) var last: IOResult?

  init(_ settings: TLSSettings, host: String?) {
    do {
      engine = try TLSEngine(settings, SSLContext.shared(for: settings), SecurityTarget(host: host, port: 1))
    } catch { fatalError("\(error)") }
    engine.attach(to: wire)
  }

  func write(_ count: Int) {
    guard engine.peer != nil, engine.canSend, !hasFinished, written.count < 200_000 else { return }
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: (written.count + $0) &* 7) }
    let result = engine.send(bytes.span.bytes)
    if engine.failure == nil {
      check(result == .bytes(count), "a write that was not taken: \(result)")
      written += bytes
    }
  }

  func finish() {
    guard engine.peer != nil, engine.failure == nil else { return }
    engine.finishSending()
    hasFinished = true
  }

  func changeKeys(isAsking: Bool) {
    guard engine.peer != nil, engine.failure == nil, !hasFinished else { return }
    let ssl = engine.connection.ssl
    if SSL_key_update(ssl, isAsking ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) == 1 {
      SSL_do_handshake(ssl)
    }
    ErrorQueue.clear()
  }

  /// Reads what `other` wrote, and checks that it is that.
  func read(_ count: Int, from other: FuzzedSide) {
    let peeked = engine.peek()
    var memory = [UInt8](repeating: 0, count: count)
    var span = memory.mutableSpan
    var bytes = span.mutableBytes
    let result = engine.receive(into: &bytes)
    if case .bytes(let got) = result {
      check(peeked != .end && got > 0 && got <= count, "bytes behind \(peeked)")
      let end = readCount + got
      check(end <= other.written.count, "more bytes than were written")
      check(memory[..<got] == other.written[readCount..<end], "other bytes than were written")
      readCount = end
    } else {
      check(peeked == result, "\(result), and \(peeked) before")
      if result == .end { check(other.hasFinished && readCount == other.written.count, "a false end") }
      if case .failed(let code) = result { check(engine.failure?.code == code, "a failure without a reason") }
    }
    if let last, last == .end { check(result == last, "\(result) behind \(last)") }
    if case .failed = last { check(result == last, "\(result) behind a failure") }
    if result == .wouldBlock { check(!engine.holdsInput, "input that is held back") }
    last = result
  }
}

/// A client and a server.
final class FuzzedLink {
  let client: FuzzedSide
  let server: FuzzedSide
  /// Somebody in between did something to the bytes.
  var isTampered = false

  init(_ choice: UInt8) {
    var (mine, other) = FuzzedLink.settings
    if choice & 4 != 0 { mine.maximumVersion = .tls12 }
    if choice & 8 != 0 { other.clientCertificates = .required }
    if choice & 16 != 0 { mine.resumesSessions = false }
    client = FuzzedSide(mine, host: "localhost")
    server = FuzzedSide(other, host: nil)
    // SSL_CTRL_SET_MAX_SEND_FRAGMENT: tickets in several records.
    if choice & 32 != 0 { SSL_ctrl(server.engine.connection.ssl, 52, 512, nil) }
  }

  /// Scripts/fuzz makes the certificates.
  private static let settings: (client: TLSSettings, server: TLSSettings) = {
    let folder = ".build/fuzz/engine/certificates"
    do {
      var client = TLSSettings.client()
      client.roots = .only(try TLSCertificate.certificates(inFile: "\(folder)/root.pem"))
      client.identity = try TLSIdentity(
        certificateFile: "\(folder)/client.pem", keyFile: "\(folder)/client.key")
      var server = TLSSettings.server(
        try TLSIdentity(certificateFile: "\(folder)/localhost.pem", keyFile: "\(folder)/localhost.key"))
      server.roots = client.roots
      return (client, server)
    } catch { fatalError("\(error)") }
  }()

  func shakeHands() {
    while client.engine.handshake() != .done || server.engine.handshake() != .done {
      _ = server.engine.handshake()
      client.wire.pass(to: server.wire)
      if client.engine.handshake() != .done { server.wire.pass(to: client.wire) }
    }
  }

  /// Does one thing of a script.
  func perform(_ what: UInt8, _ amount: UInt8, _ script: inout ArraySlice<UInt8>) {
    let (side, other) = what & 1 == 0 ? (client, server) : (server, client)
    let count = Int(amount)
    switch what >> 1 & 15 {
    case 0, 1: side.write(count * count / 4 + 1)
    case 2, 3, 4: side.wire.pass(to: other.wire, atMost: count == 0 ? .max : count)
    case 5, 6: side.read(count * 64 + 1, from: other)
    case 7: side.changeKeys(isAsking: amount & 1 == 0)
    case 8: side.finish()
    case 9: _ = side.engine.handshake()
    case 10:
      guard !side.wire.sent.isEmpty else { return }
      side.wire.sent[count % side.wire.sent.count] ^= 1 << (amount & 7)
      isTampered = true
    case 11:
      side.wire.sent += script.prefix(count)
      script = script.dropFirst(count)
      isTampered = isTampered || count > 0
    case 12:
      isTampered = isTampered || !side.wire.sent.isEmpty
      side.wire.sent.removeFirst(min(count, side.wire.sent.count))
    case 13:
      side.wire.isEnded = true
      isTampered = true
    case 14:
      side.wire.failure = 104
      isTampered = true
    default: _ = side.engine.peek()
    }
  }

  /// Lets everything through that is still on its way. Nobody having done anything to it, all arrives, and the end.
  func conclude() {
    for _ in 0..<20 {
      for (side, other) in [(client, server), (server, client)] {
        _ = side.engine.handshake()
        side.wire.pass(to: other.wire)
        for _ in 0..<20 { other.read(65_536, from: side) }
      }
    }
    guard !isTampered else { return }
    for (side, other) in [(client, server), (server, client)] {
      side.finish()
      side.wire.pass(to: other.wire)
      for _ in 0..<20 { other.read(65_536, from: side) }
      check(other.last == .end, "\(other.last, default: "nothing") at the end")
    }
    check(client.engine.failure == nil && server.engine.failure == nil, "a failure by itself")
  }
}
