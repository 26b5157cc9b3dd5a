// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Needs SocketStreams alone, of which it uses something.
import SocketStreams

let pair = StreamPair.bound()
pair.open()
print(pair.input.status)
