// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A client made of C functions and a context, as in CoreFoundation: counts what a stream brings.

import SocketStreams

final class Counter {
  var bytes = 0
}

/// Counts the bytes of `stream` until it ends. The registration holds the counter.
func count(_ stream: ReadStream, with counter: Counter) {
  var context = StreamClientContext(info: Unmanaged.passUnretained(counter).toOpaque())
  context.retain = { info in Unmanaged<Counter>.fromOpaque(info!).retain().toOpaque() }
  context.release = { info in Unmanaged<Counter>.fromOpaque(info!).release() }

  let events: StreamEvents = [.hasBytesAvailable, .endEncountered, .errorOccurred]
  let callback: StreamClientCallback = { stream, event, info in
    let stream = ReadStream.fromOpaque(stream)
    let counter = Unmanaged<Counter>.fromOpaque(info!).takeUnretainedValue()
    switch StreamEvent(rawValue: event) {
    case .hasBytesAvailable: counter.bytes += stream.withAvailableBytes { $0.byteCount }
    default: print("\(counter.bytes) bytes, and the stream is \(stream.status)")
    }
  }
  stream.setClient(events, callback: callback, context: context)
}

let base = try EventBase()
let pair = StreamPair.bound()
count(pair.input, with: Counter())
pair.schedule(on: base)
pair.open()
try pair.output.write(Array("counted".utf8))
pair.output.close()
base.schedule(after: .milliseconds(100)) { base.stop() }
base.run()
