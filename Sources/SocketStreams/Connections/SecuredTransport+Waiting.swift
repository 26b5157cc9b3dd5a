// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What halves and waiting threads ask of the layer, and of no other transport: whose turn it is while both sides agree, on
// being secured or on being plain again.

extension SecuredTransport {
  /// Whether both sides are agreeing on how to secure the connection, or that it be plain again, so that nothing is taken yet.
  /// A write half that is gone has nothing to wait for but what is still here.
  var isSecuring: Bool { stage.isUnderWay || stage.isEnding && (!isFinishing || plainCount > 0) }
  /// Whether it is the peer's turn.
  var awaitsArrivals: Bool {
    let isPeersTurn = stage == .handshaking || awaitsEnd || stage.isAgreed && !engineCanSend
    return isPeersTurn && wire.queuedCount == 0
  }
  /// Whether bytes that arrive may be what the write half waits for.
  var isMovedByArrivals: Bool { isSecuring || awaitsArrivals }
  /// Whether it is the owner's turn, to approve or to read what came before the end: what arrives meanwhile is not taken, and
  /// so is no news.
  var awaitsOwner: Bool { stage == .approving || stage.isEnding && ending.isReadersTurn }
  /// Whether something is queued that can go whatever the owner says.
  var awaitsRoom: Bool { wire.queuedCount > 0 }
}
