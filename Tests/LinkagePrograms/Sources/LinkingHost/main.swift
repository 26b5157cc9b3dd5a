// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that is linked with OwnLibrary, behind libFoundation, which it uses too.
import Foundation
import Sockets

precondition(Data("libFoundation".utf8).count == 13)
printSocketStreams()
