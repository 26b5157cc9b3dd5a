// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A chat client: FramedChat name host port. Joins, says one line, and shows what the others say until the server ends.

import SocketStreams

/// A chat in lines: what others say is printed, `say` speaks.
final class Chat: Sendable {
  private let writer: FramedWriter

  init(name: String, host: String, port: UInt16, on base: EventBase) {
    let pair = StreamPair(host: host, port: port)
    writer = FramedWriter(pair.output, on: base)
    let reader = FramedReader(pair.input, on: base) { reader, event in
      switch event {
      case .frame(let line, _):
        print(String(decoding: line, as: UTF8.self))
        reader.read(.line(limit: 4_096))
      case .ended(let error):
        print(error.map { "disconnected: \($0)" } ?? "disconnected")
        base.stop()
      case .failed(let error, _):
        if error.isFrameTooLong { reader.close() }
      case .opened, .partial, .timeLimitPassed: break
      }
    }
    reader.read(.line(limit: 4_096))
    say("iam:\(name)")
    pair.open()
  }

  /// Sends one line, now or as soon as the connection is up.
  func say(_ text: String) { writer.write(Array("\(text)\n".utf8)) }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let port = UInt16(arguments[3]) else {
  fatalError("usage: FramedChat name host port")
}
let base = try EventBase()
let chat = Chat(name: arguments[1], host: arguments[2], port: port, on: base)
chat.say("msg:hello from \(arguments[1])")
base.run()
