// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A stream as the body of an upload of URLSession's, which reads it on a thread of its own and without a run loop, to a
// small HTTP server on the core's streams.

import CoreFoundation
import Foundation
import FoundationNetworking
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

/// Answers one request, whose body is chunked, with the number of bytes in it.
///
/// `@unchecked Sendable`: what changes is touched on the base's thread only, or is in `Shared`.
private final class UploadServer: @unchecked Sendable {
  private let listener: Listener
  private let base: EventBase
  private var received: [UInt8] = []
  private var isContinued = false
  let body = Shared<[UInt8]?>(nil)

  init() throws {
    listener = try Listener(address: #require(SocketAddress(ip: "127.0.0.1", port: 0)))
    base = try EventBase.startThread()
    listener.schedule(on: base) { [self] pair, _ in serve(pair) }
  }

  var url: URL { URL(string: "http://127.0.0.1:\(listener.localAddress.port ?? 0)/upload")! }

  private func serve(_ pair: StreamPair) {
    pair.input.setClient(.all) { [self] input, event in
      switch event {
      case .hasBytesAvailable:
        input.withAvailableBytes { bytes in
          bytes.withUnsafeBytes { received += $0 }
          return bytes.byteCount
        }
        answer(pair)
      case .endEncountered, .errorOccurred: pair.close()
      default: break
      }
    }
    pair.schedule(on: base)
    pair.open()
  }

  private func answer(_ pair: StreamPair) {
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return }
    let head = String(decoding: received[..<end], as: UTF8.self).lowercased()
    if head.contains("expect: 100-continue"), !isContinued {
      isContinued = true
      _ = try? pair.output.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8).span.bytes)
    }
    guard let body = unchunked(received[end...]) else { return }
    self.body.with { $0 = body }
    let text = "\(body.count)"
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
    _ = try? pair.output.write(Array(reply.utf8).span.bytes)
    pair.close()
  }

  /// `nil` if the last chunk is not there.
  private func unchunked(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = bytes
    var body: [UInt8] = []
    while let line = rest.firstRange(of: Array("\r\n".utf8)) {
      guard let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16) else {
        return nil
      }
      rest = rest[line.upperBound...]
      // With the empty line behind it: an answer before that could be lost to a reset.
      if size == 0 { return rest.count >= 2 ? body : nil }
      guard rest.count >= size + 2 else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return nil
  }
}

@Suite struct URLSessionBodyTests {
  /// Uploads what `stream` has, and waits for the answer.
  private func upload(_ stream: InputStream, to server: UploadServer) -> (status: Int?, text: String?) {
    var request = URLRequest(url: server.url)
    request.httpMethod = "POST"
    request.httpBodyStream = stream
    let answer = Shared<(Int?, String?)>((nil, nil))
    let done = Gate()
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: request) { data, response, _ in
      answer.with {
        $0 = ((response as? HTTPURLResponse)?.statusCode, data.map { String(decoding: $0, as: UTF8.self) })
      }
      done.open()
    }
    task.resume()
    if !done.wait(seconds: 20) { task.cancel() }
    session.finishTasksAndInvalidate()
    return answer.value
  }

  // S219
  @Test func aBoundStreamIsABody() throws {
    let server = try UploadServer()
    let pair = try FoundationPair(boundWithSize: 1 << 20)
    let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    pair.output.open()
    #expect(writeAll(pair.output, sent))
    pair.output.close()
    let (status, text) = upload(pair.input, to: server)
    #expect(status == 200)
    #expect(text == "300000")
    #expect(server.body.value == sent)
  }

  // S219: what one connection receives, another sends. The stream of a native socket is open by the time it is asked.
  @Test func aSocketStreamIsABody() throws {
    let server = try UploadServer()
    let (kernel, sent) = (KernelSocketPair(), Array("from a socket".utf8))
    kernel.second.send(sent)
    kernel.second.shutdownWrite()
    // URLSession may hold the stream for longer than this test: so it has a descriptor of its own.
    let pair = CFPair(socket: dup(kernel.first))
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue))
    let (status, text) = upload(SocketInputStream(pair.read), to: server)
    #expect(status == 200)
    #expect(text == "\(sent.count)")
    #expect(server.body.value == sent)
  }

  // S219: written while it is sent, through a pair with room for a little of it. Without `waitsForBytes` URLSession ends the
  // body at its first look.
  @Test func aBodyThatIsStillWrittenIsSentWhole() throws {
    let server = try UploadServer()
    let pair = try FoundationPair(boundWithSize: 1_000)
    let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let body = try #require(pair.input as? SocketInputStream)
    #expect(!body.waitsForBytes)
    body.waitsForBytes = true
    #expect(!body.hasBytesAvailable, "it is not open yet")
    nonisolated(unsafe) let output = pair.output
    let written = onThread {
      output.open()
      _ = writeAll(output, sent)
      output.close()
    }
    let (status, text) = upload(body, to: server)
    #expect(status == 200)
    #expect(text == "300000")
    #expect(server.body.value == sent)
    #expect(written.wait(seconds: 20))
    #expect(!body.hasBytesAvailable, "it is at its end")
  }
}
