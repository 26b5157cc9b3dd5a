// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What `send`, `receive` and `connect` differ in.

/// What a connection is for.
struct TransferPlan: Sendable {
  /// What is sent; `nil` for nothing.
  var source: ByteSource?
  /// Whether sending waits until the peer has ended its side.
  var sendsAfterEnd = false
  /// Whether the connection is done only when the peer has ended its side.
  var waitsForEnd = false
  /// Whether both sides may be silent for as long as they like until the source has ended, and what the peer had sent is
  /// read to the end even when it takes no more.
  var isConversation = false
  /// Whether what arrives is printed. Otherwise it is read and forgotten.
  var printsInput = false
  /// Whether the progress is that of reading. Otherwise it is that of writing.
  var countsInput = false
  var tellsEvents = false
  var isVerbose = false
}
