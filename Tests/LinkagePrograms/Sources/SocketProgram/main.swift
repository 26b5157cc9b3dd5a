// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that has the module in it.
import Sockets

printSocketStreams()
