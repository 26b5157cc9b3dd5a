// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("A chain of byte buffers", .timeLimit(.minutes(1)))
struct EvbufferTests {
  // I7
  @Test("bytes come out as they went in, whichever way they went in")
  func roundTrip() {
    var buffer = Evbuffer()
    #expect(buffer.count == 0)
    append([1, 2, 3], to: &buffer)
    append(taking: [4, 5, 6, 7], offset: 1, to: &buffer)
    var other = Evbuffer()
    append([8, 9], to: &other)
    buffer.moveAll(from: &other)
    #expect(buffer.count == 8 && other.count == 0)
    #expect(take(3, from: &buffer) == [1, 2, 3])
    buffer.remove(1)
    #expect(take(10, from: &buffer) == [6, 7, 8, 9])
    #expect(take(10, from: &buffer) == [])
    buffer.remove(5)
  }

  // I7
  @Test("memory that is taken is freed, whether it is sent, removed, dropped, or holds nothing")
  func takesMemory() {
    // The address sanitizer is the judge.
    var buffer = Evbuffer()
    append(taking: [], offset: 0, to: &buffer)
    append(taking: [1], offset: 1, to: &buffer)
    append(taking: [1, 2], offset: 0, to: &buffer)
    buffer.remove(2)
    append(taking: [1, 2], offset: 0, to: &buffer)
    #expect(buffer.count == 2)
  }

  // Rule 6 of the design sketch: lending without a copy where it can be.
  @Test("the first run is as long as asked for, or as there are bytes")
  func firstRun() {
    var buffer = Evbuffer()
    #expect(buffer.withFirstRun(atLeast: 4) { $0.byteCount } == 0)
    append(taking: [1, 2], offset: 0, to: &buffer)
    append(taking: [3, 4, 5], offset: 0, to: &buffer)
    #expect(buffer.withFirstRun(atLeast: 0) { bytes($0) } == [1, 2])
    #expect(buffer.withFirstRun(atLeast: 2) { bytes($0) } == [1, 2])
    #expect(buffer.withFirstRun(atLeast: 3) { bytes($0) }.starts(with: [1, 2, 3]))
    #expect(buffer.withFirstRun(atLeast: 100) { bytes($0) } == [1, 2, 3, 4, 5])
    #expect(buffer.count == 5)
  }

  // I7
  @Test(
    "sending removes what the kernel took, in order, however many chunks there are",
    arguments: [1, 16, 17, 100])
  func send(chunks: Int) throws {
    let pair = SocketPair()
    var buffer = Evbuffer()
    var expected: [UInt8] = []
    for number in 0..<chunks {
      append(taking: [UInt8(number), UInt8(number)], offset: 0, to: &buffer)
      expected += [UInt8(number), UInt8(number)]
    }
    #expect(buffer.send(to: pair.first, atMost: 3) == .bytes(min(3, expected.count)))
    while buffer.count > 0 {
      guard case .bytes(let sent) = buffer.send(to: pair.first, atMost: .max), sent > 0 else {
        Issue.record("nothing was sent")
        return
      }
    }
    #expect(buffer.send(to: pair.first, atMost: .max) == .bytes(0))
    #expect(pair.receive(1_000) == expected)
  }

  // I7
  @Test("a full kernel is wouldBlock, and the rest goes out later")
  func wouldBlock() {
    let pair = SocketPair()
    var buffer = Evbuffer()
    let all = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 / 1_000) }
    append(all, to: &buffer)
    var got: [UInt8] = []
    var blocked = 0
    while buffer.count > 0 {
      switch buffer.send(to: pair.first, atMost: .max) {
      case .bytes: break
      case .wouldBlock:
        blocked += 1
        got += pair.receive(65_536)
      case let other:
        Issue.record("\(other)")
        return
      }
    }
    while got.count < all.count { got += pair.receive(65_536) }
    #expect(blocked > 0)
    #expect(got == all)
  }

  // Rule 10 of the architecture.
  @Test("sending to a peer that is gone is an errno, keeps the bytes, and raises no SIGPIPE")
  func brokenPipe() async {
    await #expect(processExitsWith: .success) {
      let pair = SocketPair()
      pair.closeSecond()
      // Unblocked and with its first disposition, which would end this process.
      let sent = onThread {
        var set = sigset_t()
        sigfillset(&set)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        var buffer = Evbuffer()
        append([1, 2, 3], to: &buffer)
        guard buffer.send(to: pair.first, atMost: .max) == .failed(EPIPE), buffer.count == 3 else { exit(1) }
      }
      guard sent.wait(seconds: 10) else { exit(2) }
    }
  }
}

private func append(_ bytes: [UInt8], to buffer: inout Evbuffer) { buffer.append(bytes.span.bytes) }

private func append(taking bytes: [UInt8], offset: Int, to buffer: inout Evbuffer) {
  let memory = malloc(max(1, bytes.count))!
  memory.copyMemory(from: bytes, byteCount: bytes.count)
  buffer.append(taking: memory, offset: offset, count: bytes.count - offset)
}

private func take(_ count: Int, from buffer: inout Evbuffer) -> [UInt8] {
  var result = [UInt8](repeating: 0, count: count)
  var memory = result.mutableSpan
  var span = memory.mutableBytes
  let taken = buffer.remove(into: &span)
  return Array(result.prefix(taken))
}

private func bytes(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { Array($0) } }
