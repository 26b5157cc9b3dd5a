// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The short examples of the documents that are no programs of their own, each in a function, and a run of some of them.

import SocketStreams

func pairs() throws {
  let remote = StreamPair(host: "example.org", port: 7)
  let local = try StreamPair(unixPath: "/run/service.sock")
  let typed = try StreamPair("[::1]:8080")  // as somebody wrote it
  print(remote.input.status, local.input.status, typed.input.status)
}

func limits(_ pair: StreamPair) {
  pair.input.setProperty(.connectTimeout, to: .seconds(5))
  pair.input.setProperty(.readTimeout, to: .seconds(30))
  pair.output.setProperty(.outputLimit, to: 16_384)
}

func send(_ bytes: [UInt8], to output: WriteStream) {
  var sent = 0
  output.setClient([.canAcceptBytes]) { output, _ in
    while sent < bytes.count, let count = try? output.write(bytes.span.bytes.extracting(sent...)) {
      sent += count
    }
    if sent == bytes.count { output.close() }
  }
}

func contentLength(of header: [UInt8]) -> Int? {
  let fields = String(decoding: header, as: UTF8.self).split(separator: "\r\n")
  return fields.lazy.compactMap { field in
    field.lowercased().hasPrefix("content-length:") ? Int(field.dropFirst(15).filter { $0 != " " }) : nil
  }.first
}

func readRequest(_ pair: StreamPair, on base: EventBase, whole: @escaping @Sendable ([UInt8]) -> Void) {
  let reader = FramedReader(pair.input, on: base) { reader, event in
    switch event {
    case .frame(let header, tag: 1):
      guard let length = contentLength(of: header), 0...1_000_000 ~= length else { return reader.close() }
      reader.read(.exactly(length), timeout: .seconds(30), tag: 2)
    case .frame(let body, _): whole(body)
    case .failed, .ended: reader.close()
    case .opened, .partial, .timeLimitPassed: break
    }
  }
  reader.read(.through(Array("\r\n\r\n".utf8), limit: 8_192), timeout: .seconds(10), tag: 1)
}

func sendAll(_ messages: [[UInt8]], to output: WriteStream, on base: EventBase) throws {
  let writer = FramedWriter(output, on: base) { _, event in
    if case .written(let number) = event { print("message \(number) is with the kernel") }
  }
  for (number, message) in messages.enumerated() {
    try writer.write(message, prefixedBy: LengthPrefix(.fourBytes), timeout: .seconds(10), tag: number)
  }
  writer.closeAfterWrites()
}

func stayInTouch(on base: EventBase) -> ReconnectingClient {
  ReconnectingClient(host: "chat.example.org", port: 1025, on: base) { _, event in
    guard case .connected(let pair) = event else { return print(event) }
    let writer = FramedWriter(pair.output, on: base)
    let reader = FramedReader(pair.input, on: base) { reader, event in
      switch event {
      case .frame(let line, _):
        print(String(decoding: line, as: UTF8.self))
        reader.read(.line())
      case .ended: pair.close()
      case .failed, .opened, .partial, .timeLimitPassed: break
      }
    }
    reader.read(.line())
    writer.write(Array("iam:Ann\n".utf8))
  }
}

func countAll(of pair: StreamPair) -> Int {
  let input = pair.input
  var total = 0
  input.open()
  while input.waitUntilReady(timeout: .seconds(5)), input.hasBytesAvailable {
    total += input.withAvailableBytes { bytes in bytes.byteCount }
  }
  return total
}

func onAThreadOfItsOwn(_ pair: StreamPair) throws {
  let base = try EventBase.startThread(named: "network")
  pair.schedule(on: base)
  pair.open()
}

func onThisThread(_ pair: StreamPair) throws {
  let base = try EventBase()
  pair.schedule(on: base)
  pair.open()
  base.schedule(after: .milliseconds(100)) { base.stop() }
  base.run()
}

actor Tally {
  private let base: EventBase
  private var events = 0

  init(on base: EventBase) { self.base = base }

  nonisolated var unownedExecutor: UnownedSerialExecutor { base.asUnownedSerialExecutor() }

  nonisolated func follow(_ stream: ReadStream) {
    stream.setClient(.all) { _, _ in
      self.assumeIsolated { tally in tally.events += 1 }
    }
    stream.schedule(on: base)
  }
}

try pairs()
let (near, far) = try StreamPair.connected()
limits(near)
send(Array(repeating: 0x2E, count: 1_000_000), to: near.output)
try onAThreadOfItsOwn(near)
print("\(countAll(of: far)) bytes, then \(far.input.status)")
try onThisThread(StreamPair.bound())
