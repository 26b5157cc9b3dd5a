// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Answers each line with its words in reverse order, to any number of clients on one thread: LineServer [port]

import SocketStreams

/// Answers the lines of one client until it ends, goes quiet for a minute, or says QUIT.
func serve(_ pair: StreamPair, on base: EventBase) {
  let writer = FramedWriter(pair.output, on: base, queueLimit: 1_000_000) { _, event in
    if case .failed = event { pair.abort() }  // it does not read what it asked for
  }
  let reader = FramedReader(pair.input, on: base) { reader, event in
    switch event {
    case .frame(let line, _):
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      if words == ["QUIT"] { return FramedPair(reader: reader, writer: writer).close(after: .writes) }
      let answer = Array(words.reversed().joined(separator: " ").utf8) + Array("\r\n".utf8)
      writer.write(answer, timeout: .seconds(60))
      reader.read(.line(limit: 4_096), timeout: .seconds(60))
    case .failed(let error, _):
      if error.isFrameTooLong { writer.write(Array("a line has at most 4096 bytes\r\n".utf8)) }
      FramedPair(reader: reader, writer: writer).close(after: .writes)
    case .opened, .partial, .timeLimitPassed, .ended: break
    }
  }
  reader.read(.line(limit: 4_096), timeout: .seconds(60))
  pair.open()
}

let base = try EventBase()
let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0
let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: port)!)
listener.schedule(on: base) { pair, _ in serve(pair, on: base) }
print("listening on \(listener.localAddress)")
base.run()
