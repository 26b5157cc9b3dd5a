// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The same with the module in it, of which it uses nothing.
import Files
import SocketStreamsCoreFoundation

printFileStreams(CommandLine.arguments[1])
