// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When the events of secured streams of CoreFoundation's come, and how their connections end.

#if TLS

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite("Events of CoreFoundation's secured streams", .timeLimit(.minutes(2)))
struct SecuredEventTests {
  // S55, S150
  @Test("the opening is told before the handshake, and bytes and room after it")
  func order() throws {
    let (pair, listener) = try CFPair.unopened()
    let (reader, writer) = (CFClient(), CFClient())
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    #expect(pair.secure(believing))
    pair.open()
    let socket = try #require(listener.accept())
    #expect(turn { reader.has(.openCompleted) && writer.has(.openCompleted) })
    settle()
    #expect(reader.events == [CFStreamEventType.openCompleted.rawValue])
    #expect(writer.events == [CFStreamEventType.openCompleted.rawValue])
    #expect(!CFWriteStreamCanAcceptBytes(pair.write) && !CFReadStreamHasBytesAvailable(pair.read))
    #expect(CFReadStreamGetStatus(pair.read) == .open && CFWriteStreamGetStatus(pair.write) == .open)
    #expect(pair.peerCertificates == nil)

    let peer = try SecureServer()
    peer.take(socket)
    #expect(turn { writer.has(.canAcceptBytes) })
    settle()
    #expect(!reader.has(.hasBytesAvailable))
    #expect(pair.peerCertificates?.count == 1)
    #expect(write(pair.write, Array("hello".utf8)) == 5)
    #expect(turn { reader.has(.hasBytesAvailable) })
    #expect(read(pair.read).bytes == Array("hello".utf8))
    pair.close()
  }

  // S150, S46
  @Test("a write during the handshake takes nothing, and waits for its end")
  func blockedWrite() throws {
    let (pair, listener) = try CFPair.unopened()
    #expect(pair.secure(believing))
    pair.open()
    let socket = try #require(listener.accept())
    let output = Handed(pair.write)
    let taken = Shared<CFIndex?>(nil)
    let isDone = onThread {
      let count = write(output.value, Array("early".utf8))
      taken.with { $0 = count }
    }
    // A record of the handshake, and nothing behind it.
    #expect(eventually { peek(socket).count > 5 })
    let hello = peek(socket)
    #expect(hello[0] == 22 && hello.count == 5 + (Int(hello[3]) << 8 | Int(hello[4])))
    #expect(taken.value == nil)
    let peer = try SecureServer()
    peer.take(socket)
    #expect(isDone.wait(seconds: 20))
    #expect(taken.value == 5)
    #expect(read(pair.read).bytes == Array("early".utf8))
    pair.close()
  }

  // S55, S87, S188: room that was told of in the clear is told of again.
  @Test("a stream secured later is told of room once more, when the handshake is done")
  func roomAgain() throws {
    let server = try SecureServer("localhost", .upgrade)
    let pair = CFPair(port: server.port)
    let (reader, writer) = (CFClient(), CFClient())
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    pair.open()
    #expect(turn { writer.has(.canAcceptBytes) })
    write(pair.write, Array("STARTTLS\r\n".utf8))
    #expect(turn { reader.has(.hasBytesAvailable) && writer.count(.canAcceptBytes) == 2 })
    #expect(read(pair.read).bytes == Array("220 go\r\n".utf8))
    settle()
    #expect(writer.count(.canAcceptBytes) == 2 && reader.count(.hasBytesAvailable) == 1)
    #expect(pair.secure(believing))
    #expect(turn { writer.count(.canAcceptBytes) == 3 })
    #expect(CFWriteStreamCanAcceptBytes(pair.write))
    #expect(write(pair.write, Array("hello".utf8)) == 5)
    #expect(turn { reader.count(.hasBytesAvailable) == 2 })
    #expect(read(pair.read).bytes == Array("hello".utf8))
    pair.close()
  }

  // S90, S163; field report 50
  @Test("all that was sent comes before the end, without a read that waits")
  func allThenEnd() throws {
    let sent = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
    let server = try SecureServer("localhost", .sends(sent))
    for _ in 0..<5 {
      let pair = CFPair(port: server.port)
      let reader = CFClient()
      let got = Shared<[UInt8]>([])
      reader.onRead = { stream, event in
        if event == .hasBytesAvailable { got.with { $0 += read(stream, 512).bytes } }
      }
      reader.attach(to: pair.read)
      schedule(pair.read)
      #expect(pair.secure(believing))
      CFReadStreamOpen(pair.read)
      #expect(turn(within: 20) { reader.has(.endEncountered) || reader.has(.errorOccurred) })
      #expect(!reader.has(.errorOccurred))
      #expect(got.value == sent)
      pair.close()
    }
  }

  // S162
  @Test(
    "closing tells the peer the end of TLS: with the last stream, or by wish with the write stream",
    arguments: [false, true])
  func closeNotify(isHalf: Bool) throws {
    let server = try SecureServer()
    let pair = CFPair(port: server.port)
    #expect(pair.secure(believing))
    #expect(CFWriteStreamSetProperty(pair.write, kSocketStreamsHalfClose, isHalf ? kCFBooleanTrue : nil))
    #expect(greet(pair) == "hello")
    CFWriteStreamClose(pair.write)
    if isHalf {
      #expect(server.hasEnded())
      #expect(read(pair.read).count == 0, "the server has answered it with its own")
    }
    CFReadStreamClose(pair.read)
    #expect(server.hasEnded())
    #expect(server.ends == [nil])
  }

  // S168; G11
  @Test("a connection that is cut off is no end")
  func cut() throws {
    let (pair, listener) = try CFPair.unopened()
    #expect(pair.secure(believing))
    pair.open()
    let peer = try SecureServer()
    peer.take(try #require(listener.accept()))
    #expect(greet(pair) == "hello")
    peer.cut()
    #expect(read(pair.read).count == -1)
    let error = CFReadStreamGetError(pair.read)
    #expect(error.domain == Int(kCFStreamErrorDomainSSL) && error.error == -9806)
    pair.close()
  }

  // S168, S173, S164, S51
  @Test("a failed handshake is told once to both streams, after their opening, with a code and a text")
  func failure() throws {
    let (pair, listener) = try CFPair.unopened()
    let (reader, writer) = (CFClient(), CFClient())
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    #expect(pair.secure(settings([])))
    pair.open()
    // Not before both are open: a stream that is opened after the failure is told of that alone.
    let server = try SecureServer("self-signed")
    server.take(try #require(listener.accept()))
    #expect(turn { reader.has(.errorOccurred) && writer.has(.errorOccurred) })
    settle()
    let expected = [CFStreamEventType.openCompleted, .errorOccurred].map(\.rawValue)
    #expect(reader.events == expected)
    #expect(writer.events == expected)
    let error = try #require(CFReadStreamCopyError(pair.read))
    #expect(CFEqual(CFErrorGetDomain(error), kCFErrorDomainOSStatus))
    #expect(isUntrusted.contains("3: \(CFErrorGetCode(error))"))
    #expect(isUntrusted.contains(SocketStreamsCoreFoundationTests.failure(of: pair)))
    let code = try #require(StreamError.TLS(rawValue: Int32(CFErrorGetCode(error))))
    let reason = StreamError.tls(code, "").reason
    #expect(text(CFErrorCopyDescription(error)).hasPrefix("TLS handshake: \(reason) (TLS \(code.rawValue): "))
    #expect(text(CFErrorCopyFailureReason(error)).hasPrefix("\(reason): "))
    #expect(pair.peerCertificates == nil)
    pair.close()
  }

  // OpenSSL would free what its functions on other threads use.
  @Test("a process may exit while connections are being secured")
  func exiting() async {
    await #expect(processExitsWith: .success) {
      let server = try SecureServer()
      for _ in 0..<4 {
        // Each keeps the server, too.
        onThread {
          while true {
            let pair = CFPair(port: server.port)
            pair.secure(believing)
            _ = greet(pair)
            pair.close()
          }
        }
      }
      #expect(eventually { server.received.count > 200 })
    }
  }

  /// What has come, which stays where it is.
  private func peek(_ socket: RawSocket) -> [UInt8] {
    var room = [UInt8](repeating: 0, count: 65_536)
    let count = recv(socket.fd, &room, room.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return Array(room.prefix(max(0, count)))
  }
}

#endif
