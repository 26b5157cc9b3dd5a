// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The life of one half, told what happened and asked what is due.
import Testing

@testable import SocketStreams

@Suite("The life of one half")
struct StreamLifecycleTests {
  private func opened(_ direction: StreamLifecycle.Direction, _ mask: StreamEvents = .all) -> StreamLifecycle
  {
    var life = StreamLifecycle(direction)
    _ = life.clientChanged(mask)
    _ = life.open()
    _ = life.transportOpened(ready: direction == .writing)
    return life
  }

  private func drain(_ life: inout StreamLifecycle) -> [StreamEvent] {
    var told: [StreamEvent] = []
    var served: StreamEvents = []
    while let event = life.nextEvent(except: served) {
      told.append(event)
      served.insert(StreamEvents(event))
    }
    return told
  }

  // S24, S41
  @Test("a new half is not open, and what its transport does is nothing to it")
  func new() {
    var life = StreamLifecycle(.reading)
    _ = life.clientChanged(.all)
    _ = life.transportOpened(ready: true)
    _ = life.bytesArrived()
    _ = life.transportEnded()
    _ = life.transportFailed()
    #expect(life.status == .notOpen && life.effects == [] && drain(&life) == [])
  }

  // S32
  @Test("a second open is refused and changes nothing")
  func openedTwice() {
    var life = StreamLifecycle(.reading)
    let isFirst = life.open()
    #expect(isFirst)
    let before = life
    #expect(!life.open() && life == before)
    for isEnd in [true, false] {
      var life = opened(.reading)
      _ = isEnd ? life.transportEnded() : life.transportFailed()
      let before = life
      #expect(!life.open() && life == before)
    }
  }

  // S33
  @Test("close before open does nothing, and a later open works")
  func closeFirst() {
    var life = StreamLifecycle(.writing)
    life.closeRequested()
    #expect(life.status == .notOpen && !life.isOver)
    #expect(life.open() && life.status == .opening)
  }

  // S50, S79, S86
  @Test("a write half hears that it is open, then once that there is room")
  func writing() {
    var life = opened(.writing)
    #expect(life.status == .open)
    #expect(drain(&life) == [.openCompleted, .canAcceptBytes])
    _ = life.roomAppeared()
    #expect(drain(&life) == [])
    _ = life.didWrite(room: false)
    #expect(drain(&life) == [])
    _ = life.roomAppeared()
    #expect(drain(&life) == [.canAcceptBytes])
    _ = life.didWrite(room: true)
    #expect(drain(&life) == [.canAcceptBytes])
  }

  // S81 to S83
  @Test("a read half hears of bytes once, and again after a read")
  func reading() {
    var life = opened(.reading)
    #expect(drain(&life) == [.openCompleted])
    _ = life.bytesArrived()
    _ = life.bytesArrived()
    #expect(drain(&life) == [.hasBytesAvailable])
    _ = life.bytesArrived()
    #expect(drain(&life) == [])
    _ = life.didRead(left: true)
    #expect(drain(&life) == [.hasBytesAvailable])
    _ = life.didRead(left: false)
    #expect(drain(&life) == [])
    _ = life.bytesArrived()
    #expect(drain(&life) == [.hasBytesAvailable])
  }

  // S51
  @Test("an opening that fails tells the failure and no completion")
  func failedOpening() {
    var life = StreamLifecycle(.reading)
    _ = life.clientChanged(.all)
    _ = life.open()
    _ = life.transportFailed()
    #expect(life.status == .error && drain(&life) == [.errorOccurred] && life.isOver)
  }

  // S29
  @Test("closing a half that failed leaves it failed")
  func closeAfterError() {
    var life = opened(.reading)
    _ = life.transportFailed()
    life.closeRequested()
    #expect(life.status == .error && drain(&life) == [])
  }

  // S94
  @Test("after the end there is no failure, and after a failure no end")
  func oneTerminal() {
    var ended = opened(.reading)
    _ = ended.transportEnded()
    _ = ended.transportFailed()
    #expect(ended.status == .atEnd && drain(&ended) == [.openCompleted, .endEncountered])
    var failed = opened(.reading)
    _ = failed.transportFailed()
    _ = failed.transportEnded()
    #expect(failed.status == .error && drain(&failed) == [.openCompleted, .errorOccurred])
  }

  // S71, D4
  @Test("a half ignores the other direction's data event in its mask")
  func foreignEvents() {
    #expect(!opened(.reading).mask.contains(.canAcceptBytes))
    #expect(!opened(.writing).mask.contains(.hasBytesAvailable))
    #expect(
      opened(.reading).mask.contains([.openCompleted, .hasBytesAvailable, .errorOccurred, .endEncountered]))
    #expect(!opened(.reading, .canAcceptBytes).wantsData)
    #expect(opened(.reading, .hasBytesAvailable).wantsData)
  }

  // S72, S74
  @Test("an event outside the mask changes the status and waits")
  func masked() {
    var life = opened(.reading, [])
    _ = life.transportEnded()
    #expect(life.status == .atEnd && drain(&life) == [] && !life.effects.contains(.deliver))
    #expect(life.clientChanged(.endEncountered).contains(.deliver))
    #expect(drain(&life) == [.endEncountered])
    _ = life.clientChanged(.all)
    #expect(drain(&life) == [], "nothing follows the terminal event")
  }

  // What keeps a half on its loop (S22, S115)
  @Test("a half stays on its loop while it is opening or open, or has something to tell")
  func stays() {
    var life = StreamLifecycle(.reading)
    #expect(!life.effects.contains(.stayOnLoop))
    _ = life.open()
    #expect(life.effects.contains(.stayOnLoop) && !life.effects.contains(.watch))
    _ = life.transportOpened(ready: false)
    #expect(life.effects.contains([.stayOnLoop, .watch]))
    _ = life.transportEnded()
    #expect(life.effects == [], "nobody wants to hear of the end")
    _ = life.clientChanged(.endEncountered)
    #expect(life.effects == [.deliver, .stayOnLoop])
    #expect(life.nextEvent(except: []) == .endEncountered)
    #expect(life.effects == [])
  }

  // S110, L1: the watch is what makes bytes be noticed.
  @Test("bytes that were told of and not read stop the watch, and a read resumes it")
  func watch() {
    var life = opened(.reading)
    #expect(life.effects.contains(.watch))
    _ = life.bytesArrived()
    #expect(!life.effects.contains(.watch))
    _ = drain(&life)
    #expect(!life.effects.contains(.watch))
    _ = life.didRead(left: false)
    #expect(life.effects.contains(.watch))
  }

  @Test("what is to be done are levels: asking twice answers the same")
  func levels() {
    var life = opened(.reading)
    _ = life.bytesArrived()
    let copy = life
    let first = life.effects
    #expect(first == life.effects && life == copy)
  }
}
