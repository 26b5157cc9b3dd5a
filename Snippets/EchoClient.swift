// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Sends a line to an echo server and prints what comes back: EchoClient HOST PORT LINE

import SocketStreams

func echo(_ line: String, host: String, port: UInt16) throws {
  let base = try EventBase()
  let pair = StreamPair(host: host, port: port)
  pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { input, event in
    guard event == .hasBytesAvailable else { return base.stop() }
    input.withAvailableBytes { bytes in
      print(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, terminator: "")
      return bytes.byteCount
    }
  }
  pair.output.setClient([.canAcceptBytes]) { output, _ in
    _ = try? output.write(Array(line.utf8))
    output.close()  // sends the line, then says that no more comes
  }
  pair.schedule(on: base)
  pair.open()
  base.run()
  if let error = pair.input.error { throw error }
}

let arguments = CommandLine.arguments
if arguments.count == 4, let port = UInt16(arguments[2]) {
  do {
    try echo(arguments[3] + "\n", host: arguments[1], port: port)
  } catch {
    print(error)
  }
} else {
  print("usage: EchoClient HOST PORT LINE")
}
