// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a secured transport leaves to the one below as it is, descriptors, events and limits, and how much it puts there.

extension SecuredTransport {
  func open() -> Opening { wire.open() }
  func attach(_ descriptor: Int32, on base: EventBase?) { wire.attach(descriptor, on: base) }
  var descriptor: Int32? { wire.descriptor }
  var hasSocket: Bool { wire.hasSocket }
  var usesDescriptor: Bool { wire.usesDescriptor }
  func listen(_ listener: any TransportListener) {}

  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {
    wire.watchArrivals(watch, on: loop, for: half)
  }

  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {
    wire.watchRoom(watch, on: loop, for: half)
  }

  func stopReceiving() { wire.stopReceiving() }
  func finishSending() { wire.finishSending() }

  var limits: FlowLimits { wire.limits }
  func setLimits(_ limits: FlowLimits) { wire.setLimits(limits) }

  /// How many plain bytes are secured at once: as many as one piece may have and the limit allows, if there is one.
  var pieceSize: Int {
    limits.outputLimit == 0 ? largestSecuredPiece : min(limits.outputLimit, largestSecuredPiece)
  }

  /// The wire has room for a piece: an empty queue always has, so that even without a queue whole pieces go.
  var wireHasRoom: Bool {
    let queued = wire.queuedCount
    return queued == 0 || limits.room(queued: queued, offered: pieceSize) == pieceSize
  }
}
