// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The constants come from a C module, whose name no user should have to know. CoreFoundation's own code is in libFoundation.

@_exported public import CSocketStreamsCF
import Foundation
