// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import SocketStreamsTLS

/// Connects, agrees and closes, one connection after the other, and prints how many a second that are.
///
/// `@unchecked Sendable`: the thread that runs the base is the only one that touches it.
final class Handshakes: @unchecked Sendable {
  private let port: UInt16
  private let settings: TLSSettings
  private let seconds: Int
  private let base: EventBase
  private var count = 0
  private var resumed = 0
  private var end = 0.0

  init(port: UInt16, root: String, seconds: Int, resumes: Bool) throws {
    self.port = port
    self.seconds = seconds
    settings = try clientSettings(root: root, resumes: resumes)
    base = try EventBase()
  }

  func run() throws {
    try next()
    let start = now()
    end = start + Double(seconds)
    base.run()
    let rate = (Double(count) / (now() - start)).rounded()
    print("handshakes \(rate) a second, \(resumed) of \(count) resumed")
  }

  private func next() throws(StreamError) {
    let pair = StreamPair(host: loopback, port: port)
    try pair.startTLS(settings)
    // A session for the next connection comes with the first bytes.
    pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { [self] input, event in
      if event == .errorOccurred { TLSBenchmarks.complain("\(input.error.map { "\($0)" } ?? "failed")") }
      input.withAvailableBytes { $0.byteCount }
      finish(pair)
    }
    pair.output.setClient([.canAcceptBytes]) { [self] output, _ in
      output.removeClient()
      if settings.resumesSessions {
        _ = try? unsafe output.write(Array("x".utf8).span.bytes)
      } else {
        finish(pair)
      }
    }
    pair.schedule(on: base)
    pair.open()
  }

  private func finish(_ pair: StreamPair) {
    if pair.input.status == .closed { return }
    count += 1
    if pair.input.property(.tlsPeer)?.isResumed == true { resumed += 1 }
    pair.close()
    if now() >= end { return base.stop() }
    do throws(StreamError) { try next() } catch { TLSBenchmarks.complain("\(error)") }
  }
}
