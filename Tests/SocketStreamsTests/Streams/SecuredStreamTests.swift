// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Securing a pair", .timeLimit(.minutes(2)))
struct SecuredStreamTests {
  private let base: EventBase

  init() throws { base = try EventBase.startThread(named: "test") }

  /// Two pairs that are connected to each other.
  private func pairs(_ settings: ToySettings = ToySettings()) throws -> (mine: StreamPair, other: StreamPair)
  {
    let (mine, other) = try StreamPair.connected()
    try mine.secure(with: settings)
    return (mine, other)
  }

  /// The other side, used blocking.
  private func secure(_ other: StreamPair) throws {
    try other.secure(with: ToySettings())
    other.open()
  }

  private func receive(_ stream: ReadStream, _ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, stream.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try readSome(stream, count - bytes.count), !piece.isEmpty else { break }
      bytes += piece
    }
    return bytes
  }

  // S55, S150
  @Test("open completed is told at the connection; data events, and room, wait for the handshake")
  func events() throws {
    let (mine, other) = try pairs()
    let recorder = EventRecorder()
    recorder.attach(to: mine)
    mine.schedule(on: base)
    mine.open()
    #expect(recorder.wait { $0.count == 2 })
    base.settle()
    #expect(recorder.events(.read) == [.openCompleted] && recorder.events(.write) == [.openCompleted])
    #expect(mine.output.status == .open && !mine.output.canAcceptBytes && !mine.input.hasBytesAvailable)
    #expect(try mine.output.write([1]) == nil)
    try secure(other)
    #expect(other.output.waitUntilReady(timeout: .seconds(5)))
    #expect(recorder.wait { $0.contains { $0.event == .canAcceptBytes } })
    #expect(try other.output.write([1, 2, 3]) == 3)
    #expect(recorder.wait { $0.contains { $0.event == .hasBytesAvailable } })
    #expect(try readSome(mine.input, 10) == [1, 2, 3])
    mine.close()
  }

  @Test("a buffer that is moved in during the handshake goes first when it is done")
  func movedEarly() throws {
    let (mine, other) = try pairs()
    mine.schedule(on: base)
    mine.open()
    try mine.output.write(moving: StreamBuffer(pattern(100_000)))
    #expect(mine.output.property(.queuedByteCount) == 100_000)
    try secure(other)
    #expect(try receive(other.input, 100_000) == pattern(100_000))
    mine.close()
    #expect(try receive(other.input, 1) == [] && other.input.status == .atEnd)
  }

  enum Drivers: CaseIterable { case both, readerAlone, writerAlone, writerWithoutReader, nobody, separate }

  // Whoever is on a loop, or waits, gets the handshake done.
  @Test("the handshake needs neither both halves nor a loop", arguments: Drivers.allCases)
  func drivers(_ drivers: Drivers) throws {
    var (input, output): (ReadStream?, WriteStream)
    let (mine, other) = try pairs()
    (input, output) = (mine.input, mine.output)
    try other.secure(with: ToySettings())
    other.schedule(on: base)
    other.open()
    let second = try EventBase.startThread()
    defer { second.stop() }
    switch drivers {
    case .both, .separate:
      input?.schedule(on: base)
      output.schedule(on: drivers == .both ? base : second)
      mine.open()
    case .readerAlone:
      input?.schedule(on: base)
      mine.open()
    case .writerAlone:
      output.schedule(on: base)
      mine.open()
    case .writerWithoutReader:
      input = nil
      output.schedule(on: base)
      output.open()
    case .nobody: mine.open()
    }
    let isReady =
      drivers == .nobody ? output.waitUntilReady(timeout: .seconds(5)) : eventually { output.canAcceptBytes }
    #expect(isReady)
    #expect(try output.write(pattern(1_000)) == 1_000)
    #expect(try receive(other.input, 1_000) == pattern(1_000))
    withExtendedLifetime(input) {}
    mine.close()
    other.close()
  }

  // A7: the layer is the same over every transport.
  @Test(
    "over a bufferevent the handshake is done, too, on a loop or by whoever waits",
    arguments: Drivers.allCases)
  func bufferevent(_ drivers: Drivers) throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let accepted = Shared<StreamPair?>(nil)
    listener.schedule(on: base) { pair, _ in
      try? pair.secure(with: ToySettings())
      pair.output.setClient(.all) { stream, event in
        if event == .canAcceptBytes { _ = try? stream.write([1, 2, 3]) }
      }
      pair.schedule(on: self.base)
      pair.open()
      accepted.with { $0 = pair }
    }
    defer {
      listener.close()
      accepted.value?.close()
    }
    var options = ConnectionOptions()
    options.transport = .bufferevent
    let pair = StreamPair(address: listener.localAddress, options: options)
    try pair.secure(with: ToySettings())
    let second = try EventBase.startThread()
    defer { second.stop() }
    switch drivers {
    case .both: pair.schedule(on: base)
    case .separate:
      pair.input.schedule(on: base)
      pair.output.schedule(on: second)
    case .readerAlone: pair.input.schedule(on: base)
    case .writerAlone, .writerWithoutReader: pair.output.schedule(on: base)
    case .nobody: break
    }
    if drivers != .writerWithoutReader { pair.input.open() }
    pair.output.open()
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try pair.output.write([9]) == 1)
    if drivers != .writerWithoutReader { #expect(try receive(pair.input, 3) == [1, 2, 3]) }
    #expect(try receive(accepted.value!.input, 1) == [9])
    pair.close()
  }

  // H5, S174; field report 53
  @Test("a handshake that takes too long is one error on both halves, and the descriptor is closed")
  func tooLong() throws {
    let before = openSockets()
    do {
      let (mine, other) = try pairs(ToySettings(handshakeTimeout: .milliseconds(50)))
      let recorder = EventRecorder()
      recorder.attach(to: mine)
      mine.schedule(on: base)
      mine.open()
      #expect(recorder.wait { $0.count { $0.event == .errorOccurred } == 2 })
      #expect(mine.input.error == .posix(ETIMEDOUT, "TLS handshake") && mine.output.error == mine.input.error)
      mine.close()
      withExtendedLifetime(other) {}
    }
    #expect(eventually { openSockets().subtracting(before).isEmpty })
  }

  // H5, rule 9
  @Test("the limit of connecting covers the handshake")
  func connectLimit() throws {
    let listener = try RawListener()
    let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: listener.port)!)
    pair.input.setProperty(.connectTimeout, to: .milliseconds(100))
    try pair.secure(with: ToySettings(handshakeTimeout: nil))
    pair.schedule(on: base)
    pair.open()
    #expect(eventually { pair.input.status == .error })
    #expect(pair.input.error == .posix(ETIMEDOUT, "TLS handshake"))
  }

  @Test("an engine is made for the host and port that the pair was made with")
  func target() throws {
    let seen = Shared<[SecurityTarget]>([])
    let settings = ToySettings(onMake: { target in seen.with { $0.append(target) } })
    try StreamPair(host: "name.test", port: 7).secure(with: settings)
    try StreamPair(address: SocketAddress(ip: "::1", port: 8)!).secure(with: settings)
    try StreamPair.connected().0.secure(with: settings)
    #expect(
      seen.value == [
        SecurityTarget(host: "name.test", port: 7), SecurityTarget(host: "::1", port: 8),
        SecurityTarget(host: nil, port: nil),
      ])
  }

  @Test("a peer that does not agree fails both halves with the engine's reason")
  func disagreement() throws {
    let (mine, other) = try pairs()
    mine.schedule(on: base)
    mine.open()
    other.open()
    _ = try other.output.write(Array("HTTP/1.1 400 Bad Request".utf8))
    #expect(eventually { mine.input.status == .error && mine.output.status == .error })
    #expect(mine.output.error?.tls == .protocolError)
    #expect(throws: StreamError.tls(.protocolError, "TLS handshake")) { try mine.output.write([1]) }
  }

  // G11, S162
  @Test("the end is the peer's own word; without it the connection was cut", arguments: [true, false])
  func end(isOrderly: Bool) throws {
    let (mine, other) = try pairs()
    mine.schedule(on: base)
    mine.open()
    try secure(other)
    #expect(other.output.waitUntilReady(timeout: .seconds(5)))
    _ = try other.output.write([7])
    if isOrderly {
      other.output.close()
    } else {
      shutdown(other.output.property(.socketNativeHandle)!, Int32(SHUT_WR))
    }
    #expect(try receive(mine.input, 1) == [7])
    #expect(mine.input.waitUntilReady(timeout: .seconds(5)))
    if isOrderly {
      #expect(try readSome(mine.input, 1) == [])
      #expect(try mine.output.write([8]) == 1)
      #expect(try receive(other.input, 1) == [8])
    } else {
      #expect(throws: StreamError.tls(.closedWithoutNotice, "read")) { try readSome(mine.input, 1) }
    }
  }

  @Test("a write half that is closed during the handshake says the end when it is done; reading goes on")
  func writerClosedEarly() throws {
    for isScheduled in [true, false] {
      let (mine, other) = try pairs()
      if isScheduled { mine.schedule(on: base) }
      mine.open()
      mine.output.close()
      try secure(other)
      #expect(try receive(other.input, 1) == [] && other.input.status == .atEnd)
      #expect(try other.output.write([5]) == 1)
      #expect(try receive(mine.input, 1) == [5])
    }
  }

  @Test("a pair that is closed during the handshake is over at once")
  func closedEarly() throws {
    let (mine, other) = try pairs()
    let isOver = Shared(false)
    mine.whenOver { isOver.with { $0 = true } }
    mine.schedule(on: base)
    mine.open()
    base.settle()
    mine.close()
    #expect(eventually { isOver.value })
    withExtendedLifetime(other) {}
  }

  // J13
  @Test("a pair that is open can be secured, by both sides, after plain bytes")
  func later() throws {
    let (mine, other) = try StreamPair.connected()
    let recorder = EventRecorder()
    recorder.attach(to: mine)
    mine.schedule(on: base)
    mine.open()
    other.open()
    _ = try other.output.write(Array("go\n".utf8))
    #expect(recorder.wait { $0.contains { $0.event == .hasBytesAvailable } })
    #expect(try readSome(mine.input, 3) == Array("go\n".utf8))
    try mine.output.write(moving: StreamBuffer(pattern(300_000)))
    try mine.secure(with: ToySettings())
    #expect(try mine.output.write([1]) == nil)
    #expect(try receive(other.input, 300_000) == pattern(300_000))
    try other.secure(with: ToySettings())
    #expect(other.output.waitUntilReady(timeout: .seconds(5)))
    #expect(eventually { mine.output.canAcceptBytes })
    #expect(try mine.output.write([1]) == 1)
    #expect(try receive(other.input, 1) == [1])
    mine.close()
  }

  // J13
  @Test(
    "bytes that came before, and were taken from the socket unread, are refused: nobody knows who sent them")
  func injected() throws {
    let (mine, other) = try StreamPair.connected()
    mine.open()
    other.open()
    _ = try other.output.write(Array("go\nevil".utf8))
    #expect(mine.input.waitUntilReady(timeout: .seconds(5)))
    var inside: StreamError?
    mine.input.withAvailableBytes { _ in
      do throws(StreamError) { try mine.secure(with: ToySettings()) } catch { inside = error }
      return 3
    }
    #expect(inside == .misuse(.busy, "start TLS"))
    #expect(throws: StreamError.misuse(.unreadBytes, "start TLS")) { try mine.secure(with: ToySettings()) }
    #expect(try readSome(mine.input, 4) == Array("evil".utf8))
    try mine.secure(with: ToySettings())
  }

  // J13
  @Test("bytes that a reader of frames holds are refused, too")
  func injectedIntoFrames() throws {
    let (mine, other) = try StreamPair.connected()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { _, event in log.note(event) }
    mine.open()
    other.open()
    _ = try other.output.write(Array("go\r\nevil".utf8))
    reader.read(.line())
    #expect(log.hears("0: \"go\""))
    #expect(throws: StreamError.misuse(.unreadBytes, "start TLS")) { try mine.secure(with: ToySettings()) }
    #expect(reader.takeBuffered() == Array("evil".utf8))
    try mine.secure(with: ToySettings())
    mine.close()
  }

  // J13
  @Test("what a writer of frames has queued when the pair is secured goes out before, as it is")
  func framesBefore() throws {
    let (pair, peer) = StreamPair.scripted()
    let log = FramedLog()
    let writer = FramedWriter(pair.output, on: base) { _, event in log.note(event) }
    pair.open()
    base.settle()
    peer.accept(3)
    writer.write(Array("220 go\r\n".utf8), tag: 1)
    writer.write(pattern(100_000), tag: 2)
    try pair.secure(with: ToySettings())
    writer.write([1], tag: 3)
    peer.accept(.max)
    #expect(log.hears("w 2: written"))
    let plain = Array("220 go\r\n".utf8) + pattern(100_000)
    #expect(eventually { peer.received == plain + Array("TOYHELLO".utf8) })
    #expect(!log.all.contains("w 3: written"))
    peer.send(Array("TOYHELLO".utf8))
    #expect(log.hears("w 3: written"))
    #expect(eventually { peer.received == plain + Array("TOYHELLO".utf8) + [1, 0, 1, 1 ^ 0x5a] })
    pair.close()
  }

  // J13
  @Test("an answer that is written on the first frame goes out before the handshake that follows at once")
  func answerBefore() throws {
    for _ in 0..<50 {
      let (mine, other) = try StreamPair.connected()
      let writer = FramedWriter(mine.output, on: base)
      let reader = FramedReader(mine.input, on: base) { _, event in
        guard case .frame = event else { return }
        writer.write(Array("220 go\n".utf8))
        try? mine.secure(with: ToySettings())
      }
      reader.read(.line())
      other.open()
      _ = try other.output.write(Array("STARTTLS\r\n".utf8))
      mine.open()
      #expect(try receive(other.input, 7) == Array("220 go\n".utf8))
      try other.secure(with: ToySettings())
      #expect(other.output.waitUntilReady(timeout: .seconds(5)))
      mine.close()
      other.close()
    }
  }

  // S189, S190
  @Test("settings can be changed and taken off until the handshake begins; the same ones again are no change")
  func changes() throws {
    let (mine, other) = try StreamPair.connected()
    let key = StreamProperty<ToySettings>(.securitySettings)
    #expect(mine.input.property(key) == nil)
    #expect(mine.input.setProperty(key, to: ToySettings(hello: [1])))
    #expect(mine.output.setProperty(key, to: ToySettings(hello: [2])))
    #expect(mine.input.property(key)?.hello == [2])
    #expect(mine.output.setProperty(key, to: nil) && mine.input.property(key) == nil)
    #expect(mine.input.setProperty(key, to: ToySettings()))
    mine.open()
    #expect(mine.output.setProperty(key, to: ToySettings()))
    #expect(
      !mine.output.setProperty(key, to: ToySettings(hello: [3])) && !mine.input.setProperty(key, to: nil))
    #expect(throws: StreamError.misuse(.secured, "start TLS")) {
      try mine.secure(with: ToySettings(hello: [3]))
    }
    try secure(other)
    #expect(mine.output.property(StreamProperty<String>(.securityPeer)) == nil)
    #expect(
      other.output.waitUntilReady(timeout: .seconds(5)) && mine.output.waitUntilReady(timeout: .seconds(5)))
    #expect(mine.output.property(StreamProperty<String>(.securityPeer)) == "toy")
    mine.close()
    #expect(mine.output.property(StreamProperty<String>(.securityPeer)) == "toy")
    #expect(throws: StreamError.self) { try mine.secure(with: ToySettings(hello: [3])) }
  }

  @Test("a pair in memory cannot be secured, nor one that is closed")
  func refused() throws {
    #expect(throws: StreamError.misuse(.unsupported, "start TLS")) {
      try StreamPair.bound().secure(with: ToySettings())
    }
    let (mine, _) = try StreamPair.connected()
    mine.open()
    mine.close()
    #expect(throws: StreamError.misuse(.notOpen, "start TLS")) { try mine.secure(with: ToySettings()) }
  }

  // J10
  @Test(
    "the owner is asked with no lock held, before a plain byte goes; no means an error",
    arguments: [true, false])
  func approval(isGiven: Bool) throws {
    let asked = Shared<StreamStatus?>(nil)
    let held = Shared<StreamPair?>(nil)
    let (mine, other) = try pairs(
      ToySettings(approval: {
        let pair = held.value!
        asked.with { $0 = pair.input.status }
        return isGiven && !pair.output.canAcceptBytes
      }))
    held.with { $0 = mine }
    defer { held.with { $0 = nil } }
    mine.schedule(on: base)
    mine.open()
    try secure(other)
    if isGiven {
      #expect(eventually { mine.output.canAcceptBytes })
    } else {
      #expect(eventually { mine.input.status == .error && mine.output.status == .error })
      #expect(mine.input.error?.tls == .notApproved)
    }
    #expect(asked.value == .open)
    mine.close()
  }

  @Test("bytes behind those that were read are announced, though no descriptor tells of them")
  func heldBytes() throws {
    let (mine, other) = try pairs()
    let received = Shared<[UInt8]>([])
    mine.input.setClient(.all) { stream, event in
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 7) { received.with { $0 += piece } }
    }
    mine.schedule(on: base)
    mine.open()
    try secure(other)
    #expect(other.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try other.output.write(pattern(20_000)) == 20_000)
    #expect(eventually { received.value.count == 20_000 })
    #expect(received.value == pattern(20_000))
    mine.close()
  }

  // I11
  @Test("halves move between loops during the handshake and afterwards, and nothing is lost")
  func moves() throws {
    let loops = try [base, EventBase.startThread(), EventBase.startThread()]
    defer { loops.dropFirst().forEach { $0.stop() } }
    let (mine, other) = try pairs()
    let received = Shared<[UInt8]>([])
    mine.input.setClient(.all) { stream, event in
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 5_000) {
        received.with { $0 += piece }
      }
    }
    mine.open()
    for loop in loops { mine.schedule(on: loop) }
    try other.secure(with: ToySettings())
    let sent = Shared(0)
    other.output.setClient(.all) { stream, event in
      guard event == .canAcceptBytes else { return }
      sent.with { count in
        while count < 1_000_000, let taken = try? stream.write(pattern(10_000, from: count)) {
          count += taken
        }
      }
    }
    other.schedule(on: loops[1])
    other.open()
    var turn = 0
    let isAll = eventually(within: 20) {
      turn += 1
      mine.input.schedule(on: loops[turn % 3])
      mine.output.schedule(on: loops[(turn / 2) % 3])
      return received.value.count >= 1_000_000
    }
    #expect(isAll && received.value == pattern(1_000_000))
    mine.close()
    other.close()
  }
}
