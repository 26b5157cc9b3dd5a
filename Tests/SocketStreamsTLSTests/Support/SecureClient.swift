// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A client for tests: opened, secured, and waited for without any base. No assertions.
#if TLS

import SocketStreams
import SocketStreamsTLS

/// A pair that was secured before it was opened, once that has worked or failed.
struct SecureClient {
  let pair: StreamPair

  init(
    _ host: String = "localhost", port: UInt16, _ settings: TLSSettings? = nil,
    options: ConnectionOptions = ConnectionOptions()
  ) throws {
    pair = StreamPair(host: host, port: port, options: options)
    try pair.startTLS(settings ?? .trusting())
    pair.open()
    try wait()
  }

  /// - Parameter opening: Whether the pair is to be opened, and not open already.
  init(securing pair: StreamPair, _ settings: TLSSettings, opening: Bool = false) throws {
    self.pair = pair
    try pair.startTLS(settings)
    if opening { pair.open() }
    try wait()
  }

  private func wait() throws {
    guard pair.output.waitUntilReady(timeout: .seconds(60)) else {
      pair.abort()
      throw RawFailure("neither secured nor failed in 60 s")
    }
  }

  /// Why it failed; `nil` if it is secured.
  var failure: StreamError? { pair.output.error }

  /// What was agreed upon.
  var peer: TLSPeer? { pair.input.property(.tlsPeer) }

  /// Sends bytes, and reads as many.
  func echo(_ count: Int = 1_000) throws -> Bool {
    guard try writeAll(pattern(count), to: pair.output, seconds: 60) == count else { return false }
    return try read(count, from: pair.input, seconds: 60) == pattern(count)
  }

  /// Reads to the end, having closed the output; whether there was nothing before it.
  func finish() throws -> Bool {
    pair.output.close()
    let rest = try readToEnd(pair.input, seconds: 60)
    pair.input.close()
    return rest == []
  }

  /// The failure of reading to the end; `nil` if it ends well.
  func readFailure() -> StreamError? {
    do {
      guard try readToEnd(pair.input, seconds: 60) != nil else { return .posix(0, "no end in 60 s") }
      return nil
    } catch { return error as? StreamError }
  }
}

#endif
