// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import CLibEvent
import Glibc
import SocketStreams
import Testing

@Suite("Streams on a host's bufferevent", .timeLimit(.minutes(2)))
struct AdoptedBuffereventTests {
  /// A bufferevent of a host's, and what is at its other end.
  private func socketBufferevent(_ host: HostProgram) -> (bufferevent: OpaquePointer, peer: RawSocket) {
    var fds: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &fds) == 0)
    evutil_make_socket_nonblocking(fds[0])
    let made = bufferevent_socket_new(host.base, fds[0], Int32(BEV_OPT_CLOSE_ON_FREE.rawValue))!
    return (made, RawSocket(owning: fds[1]))
  }

  // Rule 6 of the architecture; S148, S152.
  @Test(
    "a socket bufferevent carries bytes both ways, exactly, and is freed with the streams",
    arguments: [false, true])
  func socket(isScheduledElsewhere: Bool) throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    let (bufferevent, peer) = socketBufferevent(host)
    let pair = StreamPair(adopting: bufferevent, on: adopted)
    host.run()
    let elsewhere = try EventBase.startThread(named: "elsewhere")
    let base = isScheduledElsewhere ? elsewhere : adopted
    let total = 1_000_000
    let sink = Sink(on: [base])
    sink.start(pair.input)
    pair.schedule(on: base)
    pair.open()
    let writer = onThread {
      var sent = 0
      while sent < total {
        let count = min(50_000, total - sent)
        peer.send(Pattern.bytes(at: sent, count))
        sent += count
      }
      peer.shutdownWrite()
    }
    let answer = Shared<[UInt8]?>(nil)
    #expect(writer.wait(seconds: 20))
    #expect(sink.finished.wait(seconds: 20))
    #expect(sink.received == total)
    #expect(sink.faults == [])

    let reader = onThread {
      let all = peer.receiveAll()
      answer.with { $0 = all }
    }
    try pair.output.write(moving: StreamBuffer(Array(Pattern.bytes(at: 0, 60_000))))
    try pair.output.write(moving: StreamBuffer(Array(Pattern.bytes(at: 60_000, 60_000))))
    pair.close()
    #expect(reader.wait(seconds: 20))
    #expect(answer.value?.count == 120_000)
    #expect(
      answer.value.map { Pattern.matches($0[..<60_000], at: 0) && Pattern.matches($0[60_000...], at: 60_000) }
        == true)
    #expect(host.leave(adopted))
    host.free()
    elsewhere.stop()
    elsewhere.join()
  }

  // Rule 6 of the architecture.
  @Test("one end of a host's bufferevent pair is the streams', the other the host's")
  func pair() throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    var ends: [OpaquePointer?] = [nil, nil]
    #expect(bufferevent_pair_new(host.base, 0, &ends) == 0)
    let (ours, theirs) = (ends[0]!, ends[1]!)
    // The host echoes.
    bufferevent_setcb(
      theirs, { bufferevent, _ in bufferevent_write_buffer(bufferevent, bufferevent_get_input(bufferevent)) },
      nil, nil, nil)
    bufferevent_enable(theirs, Int16(EV_READ | EV_WRITE))
    let pair = StreamPair(adopting: ours, on: adopted)
    host.run()
    pair.schedule(on: adopted)
    pair.open()
    let received = Shared<[UInt8]>([])
    let arrived = Signal()
    pair.input.setClient(.hasBytesAvailable) { stream, _ in
      while let piece = try? stream.read(upTo: 1_000), piece.withBytes({ $0.byteCount }) > 0 {
        piece.withBytes { bytes in bytes.withUnsafeBytes { raw in received.with { $0 += raw } } }
      }
      arrived.raise()
    }
    let message = Array(Pattern.bytes(at: 0, 50_000))
    var sent = 0
    while sent < message.count {
      #expect(pair.output.waitUntilReady(timeout: .seconds(20)))
      sent += try pair.output.write(Array(message[sent...])) ?? 0
    }
    #expect(eventually { received.value.count == message.count })
    #expect(received.value == message)
    #expect(pair.input.property(.socketNativeHandle) == nil)
    pair.close()
    adopted.sync {}
    let handle = HostProgram.Handle(theirs)
    adopted.sync { bufferevent_free(handle.pointer) }
    #expect(host.leave(adopted))
    host.free()
  }

  // Rule 6 of the architecture; S153.
  @Test("a bufferevent that is not freed is the host's again, with the bytes that nobody read")
  func givenBack() throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    let (bufferevent, peer) = socketBufferevent(host)
    let pair = StreamPair(adopting: bufferevent, on: adopted, freesWhenDone: false)
    host.run()
    let told = Signal()
    pair.input.setClient(.hasBytesAvailable) { stream, _ in
      _ = try? stream.read(upTo: 4)
      stream.removeClient()  // the rest is the host's to read
      told.raise()
    }
    pair.schedule(on: adopted)
    pair.open()
    peer.send(Array("read, rest".utf8))
    #expect(told.wait(seconds: 20))
    try pair.output.write(Array("bye".utf8))
    pair.close()
    #expect(peer.receive(3) == Array("bye".utf8))
    let handle = HostProgram.Handle(bufferevent)
    // From this thread the close takes effect in later passes of the loop.
    #expect(eventually { adopted.sync { evbuffer_get_length(bufferevent_get_input(handle.pointer)) > 0 } })

    let rest = adopted.sync { () -> [UInt8] in
      let bufferevent = handle.pointer
      var bytes = [UInt8](repeating: 0, count: 100)
      let count = bufferevent_read(bufferevent, &bytes, bytes.count)
      bufferevent_write(bufferevent, "more", 4)
      bufferevent_enable(bufferevent, Int16(EV_READ | EV_WRITE))
      return Array(bytes.prefix(count))
    }
    #expect(rest == Array(", rest".utf8))
    #expect(peer.receive(4) == Array("more".utf8))
    adopted.sync { bufferevent_free(handle.pointer) }
    #expect(peer.receiveEnd() == 0)
    #expect(host.leave(adopted))
    host.free()
  }

  // Rule 6 of the architecture; S119.
  @Test("invalidate with open streams on a host's bufferevent fails them, and leaves nothing on the base")
  func invalidate() throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    let (bufferevent, peer) = socketBufferevent(host)
    let pair = StreamPair(adopting: bufferevent, on: adopted)
    pair.schedule(on: adopted)
    pair.open()
    host.run()
    peer.send([1])
    #expect(pair.input.waitUntilReady(timeout: .seconds(20)))
    #expect(host.leave(adopted))
    // libevent frees a bufferevent in the pass after.
    event_base_loop(host.base, EVLOOP_NONBLOCK)
    #expect(host.eventCount == 0)
    #expect(peer.receiveEnd() == 0)
    host.free()
    #expect(throws: StreamError.self) { try pair.output.write([1]) }
    pair.close()
  }

  // Rule 6 of the architecture; S41, S153.
  @Test(
    "a bufferevent whose streams are closed before they were opened, or at once, is freed",
    arguments: [false, true])
  func neverUsed(opens: Bool) throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    let (bufferevent, peer) = socketBufferevent(host)
    do {
      let pair = StreamPair(adopting: bufferevent, on: adopted)
      if opens { pair.open() }
    }
    host.run()
    #expect(peer.receiveEnd() == 0)
    #expect(host.leave(adopted))
    host.free()
  }
}
