// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Calls of many threads on one pair", .timeLimit(.minutes(3)))
struct ManyCallersTests {
  // F13, S118.
  @Test("what each of several threads writes arrives in its order, single bytes", arguments: Carrier.allCases)
  func orderOfBytes(carrier: Carrier) throws {
    try order(carrier, perThread: 20_000, unit: 1) { output, thread, number in
      let byte = UInt8(thread << 6 | number & 63)
      while try output.write([byte]) == nil { _ = output.waitUntilReady(timeout: .seconds(20)) }
    }
  }

  // F13, S118.
  @Test(
    "what each of several threads writes arrives in its order, moved buffers unbroken",
    arguments: Carrier.allCases)
  func orderOfBuffers(carrier: Carrier) throws {
    try order(carrier, perThread: 2_000, unit: 500) { output, thread, number in
      let byte = UInt8(thread << 6 | number & 63)
      try output.write(moving: StreamBuffer([UInt8](repeating: byte, count: 500)))
    }
  }

  private func order(
    _ carrier: Carrier, perThread: Int, unit: Int,
    write: @escaping @Sendable (WriteStream, Int, Int) throws -> Void
  ) throws {
    let base = try EventBase.startThread(named: "both")
    let link = try carrier.connect()
    if carrier != .bound { link.far.open() }
    let bytes = Shared<[UInt8]>([])
    let ended = Gate()
    link.far.input.setClient(.all) { stream, event in
      switch event {
      case .hasBytesAvailable:
        _ = stream.withAvailableBytes { lent in
          lent.withUnsafeBytes { raw in bytes.with { $0 += raw } }
          return lent.byteCount
        }
      case .openCompleted: break
      default:
        stream.close()
        ended.open()
      }
    }
    link.far.input.schedule(on: base)
    link.near.output.schedule(on: base)
    let failures = Shared(0)
    let threads = (0..<4).map { thread in
      onThread { [output = link.near.output] in
        do { for number in 0..<perThread { try write(output, thread, number) } } catch {
          failures.with { $0 += 1 }
        }
      }
    }
    for thread in threads { #expect(thread.wait(seconds: 60)) }
    link.near.output.close()
    #expect(ended.wait(seconds: 60))
    #expect(failures.value == 0)
    let all = bytes.value
    #expect(all.count == 4 * perThread * unit)
    var next = [0, 0, 0, 0]
    var isBroken = false
    for start in stride(from: 0, to: all.count - unit + 1, by: unit) {
      let thread = Int(all[start] >> 6)
      isBroken = isBroken || all[start] & 63 != UInt8(next[thread] & 63)
      isBroken = isBroken || all[start..<start + unit].contains { $0 != all[start] }
      next[thread] += 1
    }
    #expect(!isBroken)
    #expect(next == [Int](repeating: perThread, count: 4))
    base.stop()
    base.join()
  }

  // S96, S118; rule 7 of the architecture.
  @Test(
    "any calls from any threads, with a close or an abort among them, end cleanly",
    arguments: Carrier.allCases)
  func storm(carrier: Carrier) throws {
    let bases = [try EventBase.startThread(named: "storm 1"), try EventBase.startThread(named: "storm 2")]
    let seed = UInt64.random(in: 0...UInt64.max)
    let tokens = Tokens()
    for round in 0..<(carrier == .bufferevent ? 15 : 40) {
      let link = try carrier.connect()
      if carrier != .bound { link.far.open() }
      let pair = link.near
      let threads = (0..<5).map { thread in
        onThread {
          var random = Randoms(seed: seed &+ UInt64(round * 10 + thread))
          for _ in 0..<200 { anyCall(pair, link.far, bases, tokens, &random) }
          if thread == 0 { if round % 2 == 0 { pair.close() } else { pair.abort() } }
        }
      }
      for thread in threads { #expect(thread.wait(seconds: 30), "seed \(seed), round \(round)") }
      #expect(pair.input.status == .closed || pair.input.status == .error)
      #expect(throws: StreamError.self) { try pair.output.write([1]) }
      link.far.close()
    }
    #expect(eventually(within: 20) { tokens.count == 0 }, "seed \(seed)")
    for base in bases {
      base.stop()
      base.join()
    }
  }
}

/// One call that a random number chooses, on one half or both.
private func anyCall(
  _ pair: StreamPair, _ far: StreamPair, _ bases: [EventBase], _ tokens: Tokens, _ random: inout Randoms
) {
  let base = bases[Int.random(in: 0...1, using: &random)]
  let count = Int.random(in: 1...5_000, using: &random)
  switch Int.random(in: 0...15, using: &random) {
  case 0:
    pair.input.setClient(.all) { [token = tokens.make()] stream, _ in
      _ = try? stream.read(upTo: 3_000)
      withExtendedLifetime(token) {}
    }
  case 1:
    pair.output.setClient(.all) { [token = tokens.make()] stream, event in
      if event == .canAcceptBytes { _ = try? stream.write([1, 2, 3]) }
      withExtendedLifetime(token) {}
    }
  case 2: pair.input.removeClient()
  case 3: pair.schedule(on: base)
  case 4: pair.input.schedule(on: base)
  case 5: pair.unschedule(from: base)
  case 6: pair.output.unschedule(from: base)
  case 7: _ = try? pair.input.read(upTo: count)
  case 8: _ = pair.input.withAvailableBytes { min($0.byteCount, 7) }
  case 9: _ = try? pair.output.write([UInt8](repeating: 1, count: count))
  case 10: _ = try? far.output.write([UInt8](repeating: 2, count: count))
  case 11: _ = try? far.input.read(upTo: count)
  case 12: _ = pair.input.waitUntilReady(timeout: .microseconds(50))
  case 13: _ = try? pair.output.flush(timeout: .microseconds(50))
  case 14:
    pair.input.setProperty(.idleTimeout, to: count % 2 == 0 ? .seconds(100) : nil)
    _ = pair.input.property(.bytesRead)
  default:
    _ = (
      pair.input.debugDescription, pair.output.status, pair.output.canAcceptBytes,
      pair.input.hasBytesAvailable
    )
  }
}
