// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of the frames that reading the code, or trying to use them, found.
import SocketStreams
import Testing

@Suite("Found by reading: frames", .timeLimit(.minutes(3)))
struct FoundInFrames {
  @Test("closing a writer while another thread writes harms nobody")
  func closeDuringWrite() throws {
    for _ in 0..<(isSanitized ? 50 : 300) {
      let (mine, other) = try StreamPair.connected()
      let base = try EventBase.startThread()
      let writer = FramedWriter(mine.output, on: base)
      mine.open()
      other.open()
      let started = Gate()
      let done = onThread {
        for number in 0..<200 {
          writer.write([UInt8](repeating: 1, count: 500))
          if number == 3 { started.open() }
        }
      }
      #expect(started.wait(seconds: 10))
      writer.close()
      #expect(done.wait(seconds: 10))
      #expect(writer.queuedByteCount == 0)
      mine.close()
      other.close()
    }
  }

  // F6
  @Test(
    "after a write that timed out the next has its own time, whoever writes it", arguments: [true, false])
  func timeAfterTimeout(inHandler: Bool) throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let log = FramedLog()
    _ = try fill(link.pair.output)
    let writer = FramedWriter(link.pair.output, on: base) { writer, event in
      log.note(event)
      if inHandler, case .failed(_, 1, _) = event {
        writer.write([2], timeout: .milliseconds(300), tag: 2)
        // As much as would tell of a limit that has passed already.
        writer.write([], tag: 3)
      }
    }
    writer.write([1], timeout: .milliseconds(50), tag: 1)
    #expect(log.hears("w 1: POSIX 110, 0"))
    let start = monotonicSeconds()
    if !inHandler { writer.write([2], timeout: .milliseconds(300), tag: 2) }
    #expect(log.hears("w 2: time limit, 0"))
    #expect(monotonicSeconds() - start >= 0.25)
    #expect(log.hears("w 2: POSIX 110, 0"))
    link.pair.abort()
  }

  // G3, G4
  @Test("a pair whose peer has ended is closed after its reads, which there are none of any more")
  func closeAfterEnd() throws {
    for work: FramedPair.Work in [.reads, [.reads, .writes]] {
      let link = try TCPLink()
      let base = try EventBase.startThread()
      let framed = FramedLink(link.pair, on: base)
      link.peer.shutdownWrite()
      #expect(framed.log.hears("ended"))
      framed.framed.close(after: work)
      #expect(link.peer.receiveEnd() == 0)
      #expect(eventually { link.pair.input.status == .closed && link.pair.output.status == .closed })
    }
  }

  @Test("a stream that had ended or failed before there was a reader tells it so")
  func overBefore() throws {
    for fails in [true, false] {
      let link = try TCPLink()
      let base = try EventBase.startThread()
      let told = Gate()
      link.pair.input.setClient(.all) { stream, event in
        if event == .hasBytesAvailable { stream.withAvailableBytes { $0.byteCount } }
        if event == .endEncountered || event == .errorOccurred { told.open() }
      }
      link.pair.schedule(on: base)
      if fails { link.peer.reset() } else { link.peer.shutdownWrite() }
      #expect(told.wait(seconds: 10))
      let framed = FramedLink(link.pair, on: base)
      #expect(framed.log.hears(fails ? "ended POSIX 104" : "ended"))
    }
  }

  // E6
  @Test(
    "all the bytes that are in the kernel when the time is over win over the limit, not only the first piece")
  func manyBytesWin() throws {
    let link = try TCPLink()
    let base = try EventBase()
    let log = FramedLog()
    let reader = FramedReader(link.pair.input, on: base) { _, event in
      log.note(event)
      if case .opened = event { return }
      base.stop()
    }
    let bytes = pattern(200_000)
    reader.read(.exactly(bytes.count), timeout: .milliseconds(1), tag: 1)
    base.execute { base.stop() }
    base.run()
    // They come while nobody looks, and the time passes.
    link.peer.send(bytes)
    let fd = try #require(link.pair.input.property(.socketNativeHandle))
    #expect(eventually { waitingBytes(fd) >= 65_536 })
    let late = monotonicSeconds() + 0.02
    #expect(eventually { monotonicSeconds() > late })
    base.run()
    #expect(log.all.last == "1: 200000 bytes")
    withExtendedLifetime(reader) {}
  }

  @Test("a read that another thread queues while an announcement is looked at finds its bytes")
  func readDuringLook() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { _, event in log.note(event) }
    mine.open()
    other.open()
    for tag in 0..<(isSanitized ? 500 : 5_000) {
      // Announced with no read queued; the read comes at the same time.
      try other.output.write([0x61, 0x0A])
      reader.read(.line(), tag: tag)
      guard log.hears("\(tag): \"a\"", within: 10) else {
        #expect(Bool(false), "round \(tag)")
        break
      }
    }
    mine.close()
    other.close()
  }

  @Test(
    "an owner who reads again whatever happens does not keep the base's thread for itself",
    arguments: [true, false])
  func readsAgain(endless: Bool) throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let ended = Gate()
    let reader = FramedReader(mine.input, on: base) { reader, event in
      switch event {
      case .frame, .failed: reader.read(endless ? .exactly(0) : .line())
      case .ended: ended.open()
      case .opened, .partial, .timeLimitPassed: break
      }
    }
    reader.read(endless ? .exactly(0) : .line())
    mine.open()
    other.open()
    other.close()
    let turned = Gate()
    base.schedule(after: .milliseconds(20)) { turned.open() }
    #expect(turned.wait(seconds: 20))
    #expect(endless || ended.wait(seconds: 20))
    reader.close()
    mine.close()
  }
}
