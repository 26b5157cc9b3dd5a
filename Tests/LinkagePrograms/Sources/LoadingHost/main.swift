// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that uses libFoundation, and then loads the shared library that its argument names.
import Foundation

precondition(Data("libFoundation".utf8).count == 13)
let library = dlopen(CommandLine.arguments[1], RTLD_NOW)!
typealias Function = @convention(c) () -> Void
unsafeBitCast(dlsym(library, "printSocketStreams")!, to: Function.self)()
