// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Random scripts over the pure life of one half, checked against the invariants that hold for every script. A failure
// names the seed among the test's arguments; the environment variable SOCKETSTREAMS_SEED plays it again.
import Testing

@testable import SocketStreams

@Suite("Random lives of one half")
struct ModelTests {
  enum Step: CaseIterable {
    case open, opened, arrived, read, readSome, ended, failed, close, client, deliver, deliverOne
  }

  /// A half, what it has told so far, and what may not happen any more.
  private struct Model {
    var life: StreamLifecycle
    var generator: SeededGenerator
    var script: [Step] = []
    var told: [StreamEvent] = []
    /// Told to the client that is set now.
    var toldToClient: [StreamEvent] = []
    var isClosed = false
    /// The data event was told, and neither use nor another client has followed.
    var isAnnounced = false

    init(_ direction: StreamLifecycle.Direction, _ seed: UInt64) {
      life = StreamLifecycle(direction)
      generator = SeededGenerator(seed: seed)
    }

    var dataEvent: StreamEvent { life.direction == .reading ? .hasBytesAvailable : .canAcceptBytes }
    var isOver: Bool { isClosed || told.last == .endEncountered || told.last == .errorOccurred }

    mutating func play(_ step: Step) {
      script.append(step)
      let before = life.status
      var change: StatusChange?
      switch step {
      case .open:
        change = .open
        let isFirst = life.open()
        #expect(isFirst == (before == .notOpen))
      case .opened:
        change = .transportOpened
        _ = life.transportOpened(ready: generator.oneIn(2))
      case .arrived: _ = life.direction == .reading ? life.bytesArrived() : life.roomAppeared()
      case .read, .readSome:
        isAnnounced = false
        let isLeft = step == .readSome
        _ = life.direction == .reading ? life.didRead(left: isLeft) : life.didWrite(room: isLeft)
      case .ended:
        guard life.direction == .reading else { return }
        change = .transportEnded
        _ = life.transportEnded()
      case .failed:
        change = .transportFailed
        _ = life.transportFailed()
      case .close:
        change = .close
        isClosed = isClosed || before != .notOpen
        life.closeRequested()
      case .client:
        isAnnounced = false
        toldToClient = []
        _ = life.clientChanged(StreamEvents(rawValue: UInt(generator.below(32))))
      case .deliver: deliver(atMost: .max)
      case .deliverOne: deliver(atMost: 1)
      }
      // I6
      let expected = change.flatMap { StatusTable.next(before, on: $0) } ?? before
      #expect(life.status == expected, "the table alone moves the status")
      #expect(life.status != .reading && life.status != .writing)
      check()
    }

    /// One round of delivery, as a half does it.
    private mutating func deliver(atMost limit: Int) {
      var served: StreamEvents = []
      for _ in 0..<limit {
        let isDue = life.effects.contains(.deliver)
        guard let event = life.nextEvent(except: served) else {
          if served == [] { #expect(!isDue, "what is due can be taken") }
          return
        }
        #expect(isDue, "what is taken was due")
        // I2, I3
        #expect(!isOver, "\(event) after the last event")
        // I5
        #expect(life.mask.contains(StreamEvents(event)), "\(event) is not asked for")
        // I1
        if event == .openCompleted {
          #expect(!told.contains(.openCompleted), "opened twice")
          #expect(toldToClient == [], "opened is the first event of a client")
        }
        // I4
        if event == dataEvent {
          #expect(!isAnnounced, "told twice without a use")
          #expect(life.status == .open)
          isAnnounced = true
        }
        told.append(event)
        toldToClient.append(event)
        served.insert(StreamEvents(event))
      }
    }

    private func check() {
      let effects = life.effects
      #expect(
        !effects.contains(.deliver) || effects.contains(.stayOnLoop), "who has to tell stays on the loop")
      #expect(!effects.contains(.watch) || life.status == .open)
      // I10: an open half either watches its transport, or has told its client or is about to.
      if life.status == .open {
        let hasSpoken = life.events.isAnnounced || life.events.waiting.contains(StreamEvents(dataEvent))
        #expect(effects.contains(.watch) != hasSpoken)
      }
      if isOver { #expect(!effects.contains(.deliver) && life.isOver) }
    }
  }

  // I1 to I6, I10, I11
  @Test("no script breaks the rules", arguments: scriptSeeds(40), [true, false])
  func anyScript(_ seed: UInt64, _ isReading: Bool) {
    for offset in 0..<20 {
      var model = Model(isReading ? .reading : .writing, seed &+ UInt64(offset) &* 7_919)
      let length = 5 + model.generator.below(60)
      for _ in 0..<length { model.play(Step.allCases[model.generator.below(Step.allCases.count)]) }
      finish(&model)
    }
  }

  /// I11: a client that wants all is told all that is still true.
  private func finish(_ model: inout Model) {
    model.play(.client)
    _ = model.life.clientChanged(.all)
    model.isAnnounced = false
    model.toldToClient = []
    model.play(.deliver)
    #expect(model.life.events.waiting == [])
    switch model.life.status {
    case .atEnd: #expect(model.told.last == .endEncountered)
    case .error where !model.isClosed: #expect(model.told.last == .errorOccurred)
    case .open: #expect(model.told.contains(.openCompleted))
    default: break
    }
  }
}
