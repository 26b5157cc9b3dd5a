// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A server for tests, made of the library's streams: it secures what it accepts, and sends back what comes. No
// assertions.
#if TLS

import SocketStreams
import SocketStreamsTLS

/// One listener on 127.0.0.1 with a base of its own.
final class SecureServer: Sendable {
  /// What it does with a connection.
  enum Service: Sendable {
    /// Sends back what comes, and ends when the peer does.
    case echo
    /// Sends so many bytes of `pattern`, and ends at once.
    case burst(Int)
    /// Leaves it to the test.
    case none
  }

  let base: EventBase
  private let listener: Listener
  private let accepted = Shared<[StreamPair]>([])
  private let ended = Shared<[StreamError?]>([])
  private let agreed = Shared<[TLSPeer]>([])

  var port: UInt16 { listener.localAddress.port ?? 0 }
  /// What it has accepted and not forgotten.
  var pairs: [StreamPair] { accepted.value }
  /// How connections ended, with a failure or without, in order.
  var ends: [StreamError?] { ended.value }
  /// What was agreed upon with each peer whose handshake is done, in order.
  var peers: [TLSPeer] { agreed.value }

  init(_ settings: TLSSettings, service: Service = .echo) throws {
    listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    base = try EventBase.startThread(named: "secure server")
    listener.schedule(on: base) { [accepted, ended, agreed, weak base] pair, _ in
      guard let base, (try? pair.startTLS(settings)) != nil else { return pair.abort() }
      if case .none = service {} else { Self.serve(pair, service, accepted, ended, agreed) }
      accepted.with { $0.append(pair) }
      pair.schedule(on: base)
      pair.open()
    }
  }

  deinit {
    listener.close()
    forget()
    base.stop()
    base.join()
  }

  /// Cuts what is open.
  func forget() {
    for pair in accepted.with({ pairs in
      defer { pairs = [] }
      return pairs
    }) { pair.abort() }
  }

  /// Waits until `count` connections have ended, and tells how the last did.
  func hasEnded(_ count: Int = 1, within seconds: Double = 30) -> Bool {
    eventually(within: seconds) { ended.value.count >= count }
  }

  private static func serve(
    _ pair: StreamPair, _ service: Service, _ accepted: Shared<[StreamPair]>,
    _ ended: Shared<[StreamError?]>,
    _ agreed: Shared<[TLSPeer]>
  ) {
    // The list of pairs keeps them until they end.
    let end: @Sendable (ReadStream) -> Void = { input in
      ended.with { $0.append(input.error) }
      accepted.with { $0.removeAll { $0.input === input } }
    }
    let isKnown = Shared(false)
    /// Before the first byte of the answer: the peer may look when it has that.
    let meet: @Sendable (ReadStream) -> Void = { input in
      guard let peer = input.property(.tlsPeer) else { return }
      isKnown.with { isKnown in
        if !isKnown { agreed.with { $0.append(peer) } }
        isKnown = true
      }
    }
    let greeted = Shared(false)
    pair.input.setClient(.all) { [weak output = pair.output] input, event in
      guard let output else { return }
      switch event {
      case .openCompleted, .canAcceptBytes: break
      case .hasBytesAvailable:
        meet(input)
        Self.pump(input, output)
      case .endEncountered, .errorOccurred:
        // Both halves, before the list lets go of them.
        output.close()
        input.close()
        end(input)
      }
    }
    pair.output.setClient([.canAcceptBytes]) { [weak input = pair.input] output, _ in
      guard let input else { return }
      let isFirst = greeted.with { wasGreeted in
        defer { wasGreeted = true }
        return !wasGreeted
      }
      meet(input)
      switch service {
      case .burst(let count) where isFirst:
        try? output.write(moving: StreamBuffer(pattern(count)))
        output.close()
      default: Self.pump(input, output)
      }
    }
  }

  private static func pump(_ input: ReadStream, _ output: WriteStream) {
    // What is not taken stays to be read, once the output tells of room.
    guard output.canAcceptBytes else { return }
    input.withAvailableBytes { bytes in ((try? output.write(bytes)) ?? nil) ?? 0 }
  }
}

#endif
