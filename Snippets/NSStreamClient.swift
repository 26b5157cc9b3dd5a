// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation's own streams with a delegate, on the RunLoop of the main thread: NSStreamClient host port

import Foundation
import SocketStreamsCoreFoundation

/// Sends a line and prints what comes back, until the peer ends.
final class LineClient: NSObject, StreamDelegate {
  private let input: InputStream
  private let output: OutputStream
  private var unsent: [UInt8]

  init?(host: String, port: Int, line: String) {
    var input: InputStream?
    var output: OutputStream?
    Stream.getStreamsToHost(withName: host, port: port, inputStream: &input, outputStream: &output)
    guard let input, let output else { return nil }
    self.input = input
    self.output = output
    unsent = Array(line.utf8)
    guard setLimits(input) else { return nil }
  }

  func open() {
    for stream in [input, output] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .current, forMode: .default)
      stream.open()
    }
  }

  func close() {
    for stream in [input, output] as [Stream] {
      stream.close()
      stream.remove(from: .current, forMode: .default)
    }
  }

  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .hasBytesAvailable:
      var room = [UInt8](repeating: 0, count: 4096)
      let count = input.read(&room, maxLength: room.count)
      if count > 0 { print(String(decoding: room.prefix(count), as: UTF8.self), terminator: "") }
    case .hasSpaceAvailable:
      guard !unsent.isEmpty else { return }
      let count = output.write(unsent, maxLength: unsent.count)
      if count > 0 { unsent.removeFirst(count) }
    case .endEncountered, .errorOccurred:
      if let error = aStream.streamError { print(error) }
      close()
      CFRunLoopStop(CFRunLoopGetCurrent())
    default: break
    }
  }
}

/// A stream of CoreFoundation's where Foundation's is wanted: `stream as InputStream` on Apple's platforms.
func asInputStream(_ stream: CFReadStream) -> InputStream {
  SocketInputStream(stream)
}

/// The other way round: `stream as CFReadStream` on Apple's platforms.
func asReadStream(_ stream: InputStream) -> CFReadStream? {
  (stream as? SocketInputStream)?.cfReadStream
}

/// Gives up on a peer that is silent for ten seconds, or that cannot be reached in that time.
func setLimits(_ stream: InputStream) -> Bool {
  stream.setProperty(10, forKey: Stream.PropertyKey(rawValue: "SocketStreamsReadTimeout"))
    && stream.setProperty(10, forKey: Stream.PropertyKey(rawValue: "SocketStreamsConnectTimeout"))
}

let arguments = CommandLine.arguments.dropFirst()
if let host = arguments.first, let port = arguments.dropFirst().first.flatMap({ Int($0) }) {
  let client = LineClient(host: host, port: port, line: "hello\n")
  client?.open()
  CFRunLoopRun()
}
