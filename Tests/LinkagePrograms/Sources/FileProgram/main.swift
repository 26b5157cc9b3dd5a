// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that knows nothing of this package.
import Files

printFileStreams(CommandLine.arguments[1])
