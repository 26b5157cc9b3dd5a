// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A server with state of its own, in lines (GET key, SET key value), on one thread, until SIGTERM: KeyValueServer [port]

import SocketStreams

/// Everything that the connections share. It lives on the base's thread: an actor of that base, whose handlers are there
/// already when they are called.
actor Store {
  private let base: EventBase
  private var values: [String: String] = [:]
  private var clients: [Int: FramedPair] = [:]
  private var count = 0

  init(on base: EventBase) { self.base = base }

  nonisolated var unownedExecutor: UnownedSerialExecutor { base.asUnownedSerialExecutor() }

  func serve(_ pair: StreamPair) {
    count += 1
    let number = count
    let writer = FramedWriter(pair.output, on: base, queueLimit: 1_000_000) { _, event in
      if case .failed = event { pair.abort() }
    }
    let reader = FramedReader(pair.input, on: base) { reader, event in
      self.assumeIsolated { store in store.heard(event, from: number) }
    }
    clients[number] = FramedPair(reader: reader, writer: writer)
    reader.read(.line(limit: 4_096))
    pair.open()
  }

  private func heard(_ event: FramedReadEvent, from number: Int) {
    guard let client = clients[number] else { return }
    switch event {
    case .frame(let line, _):
      client.writer.write(
        Array((answer(String(decoding: line, as: UTF8.self)) + "\n").utf8), timeout: .seconds(60))
      client.reader.read(.line(limit: 4_096))
    case .failed, .ended:
      clients[number] = nil
      client.close(after: .writes)
    case .opened, .partial, .timeLimitPassed: break
    }
  }

  private func answer(_ line: String) -> String {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.count) {
    case ("GET", 2): return values[words[1]].map { "VALUE \($0)" } ?? "NONE"
    case ("SET", 3):
      values[words[1]] = words[2]
      return "OK"
    default: return "ERROR say GET key or SET key value"
    }
  }

  /// Says goodbye: each client gets the answers that it waits for.
  func close() {
    for client in clients.values { client.close(after: .writes) }
    clients = [:]
  }
}

let base = try EventBase()
let store = Store(on: base)
let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0
let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: port)!)
listener.schedule(on: base) { pair, _ in
  store.assumeIsolated { $0.serve(pair) }
}
try base.onSignal(15) {
  listener.drain(within: .seconds(5)) { _ in base.stop() }
  store.assumeIsolated { $0.close() }
}
print("listening on \(listener.localAddress)")
base.run()
