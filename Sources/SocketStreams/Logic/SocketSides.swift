// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The two sides of one connection: who still uses it, and what the descriptor is owed at the end.

/// Which of the two halves still use a connection, and how it has to end.
package struct SocketSides: Equatable, Sendable {
  /// How a connection ends once both sides are done with it.
  package enum Ending: Equatable, Sendable {
    /// Close the descriptor at once: nothing can be lost by it.
    case close
    /// Close it once the peer has what was sent: input may still arrive, and closing over it would reset.
    case closeAfterDelivery
    /// Close it so that the peer sees a reset.
    case abort
    /// Leave the descriptor open, as it was found: it belongs to somebody else.
    case giveBack
  }

  /// Whether the pair closes the descriptor.
  package var ownsDescriptor: Bool
  private var isReading = true
  private var isWriting = true
  private var sawEnd = false
  private var isBroken = false
  /// The owner asked for the connection to be cut.
  package private(set) var isAborted = false

  package init(ownsDescriptor: Bool) { self.ownsDescriptor = ownsDescriptor }

  /// Whether the writing side, on leaving, has to tell the peer the end by itself: closing does not, as the reading
  /// side goes on, and nobody else minds.
  package var owesEnd: Bool { ownsDescriptor && isReading && !isAborted && !isBroken }

  /// The peer's end of input was seen: closing cannot meet input that was not read.
  package mutating func endSeen() { sawEnd = true }
  /// The connection failed: there is nobody left to deliver to.
  package mutating func broke() { isBroken = true }
  /// The owner asked for the connection to be cut.
  package mutating func aborted() { isAborted = true }

  /// A side is done: closed or dropped, with nothing left to send and no event on any loop.
  /// - Returns: What to do with the descriptor, once, when the last side leaves.
  package mutating func left(_ direction: StreamLifecycle.Direction) -> Ending? {
    guard isReading || isWriting else { return nil }
    switch direction {
    case .reading: isReading = false
    case .writing: isWriting = false
    }
    if isReading || isWriting { return nil }
    if !ownsDescriptor { return .giveBack }
    if isAborted { return .abort }
    return sawEnd || isBroken ? .close : .closeAfterDelivery
  }
}
