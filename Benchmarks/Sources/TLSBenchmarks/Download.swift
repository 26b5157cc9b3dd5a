// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import SocketStreamsTLS

/// Asks for a path, reads to the end, and prints the bytes a second.
struct Download {
  let port: UInt16
  let root: String
  let path: String

  func run() throws {
    let base = try EventBase()
    let pair = StreamPair(host: loopback, port: port)
    try pair.startTLS(clientSettings(root: root, resumes: false))
    nonisolated(unsafe) var (count, start, room) = (0, 0.0, [UInt8](repeating: 0, count: 131_072))
    pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { input, event in
      switch event {
      case .hasBytesAvailable:
        var bytes = room.mutableSpan
        var space = bytes.mutableBytes
        while let taken = try? input.read(into: &space), taken > 0 { count += taken }
      case .endEncountered: base.stop()
      default: TLSBenchmarks.complain("\(input.error.map { "\($0)" } ?? "failed")")
      }
    }
    pair.output.setClient([.canAcceptBytes]) { output, _ in
      guard start == 0 else { return }
      start = now()
      _ = try? unsafe output.write(Array("GET \(path) HTTP/1.0\r\n\r\n".utf8).span.bytes)
    }
    pair.schedule(on: base)
    pair.open()
    base.run()
    print("bulk \((Double(count) / (now() - start) / 1e5).rounded() / 10) MB a second")
    pair.close()
  }
}
