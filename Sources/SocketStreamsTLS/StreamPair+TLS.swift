// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's owner asks for TLS.

#if TLS

#endif
