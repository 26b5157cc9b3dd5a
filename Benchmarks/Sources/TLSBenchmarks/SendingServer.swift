// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import SocketStreamsTLS

/// Answers the first bytes of each connection with as many as it was told, and ends. Serves until it is killed.
///
/// `@unchecked Sendable`: nothing changes after `init`.
final class SendingServer: @unchecked Sendable {
  private let settings: TLSSettings
  private let byteCount: Int
  private let block = [UInt8](repeating: 0x5a, count: 131_072)

  init(_ identity: TLSIdentity, byteCount: Int) {
    settings = .server(identity)
    self.byteCount = byteCount
  }

  func serve() throws {
    let base = try EventBase()
    let listener = try Listener(address: SocketAddress(ip: loopback, port: 0)!)
    print(listener.localAddress.port!)
    fflush(nil)
    listener.schedule(on: base) { [self] pair, _ in
      do throws(StreamError) { try accept(pair, on: base) } catch { pair.abort() }
    }
    base.run()
  }

  private func accept(_ pair: StreamPair, on base: EventBase) throws(StreamError) {
    let (byteCount, block) = (byteCount, block)
    // Both clients are called on the thread of the base.
    nonisolated(unsafe) var rest: Int?
    func goOn(_ output: WriteStream) {
      guard var count = rest else { return }
      while count > 0, let taken = try? unsafe output.write(block.span.bytes.extracting(first: count)) {
        count -= taken
      }
      rest = count
      if count == 0 { pair.output.close() }
    }
    pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) {
      [output = pair.output] input, event in
      switch event {
      case .hasBytesAvailable:
        input.withAvailableBytes { $0.byteCount }
        if rest == nil {
          rest = byteCount
          goOn(output)
        }
      default:
        input.close()
        output.close()
      }
    }
    pair.output.setClient([.canAcceptBytes]) { output, _ in goOn(output) }
    try pair.startTLS(settings)
    pair.schedule(on: base)
    pair.open()
  }
}
