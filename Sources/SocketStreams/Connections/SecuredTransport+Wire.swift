// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a secured transport leaves to the one below as it is: descriptors, events and limits.

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
}
