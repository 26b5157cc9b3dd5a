// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Security stage")
struct SecurityStageTests {
  @Test("settings can be changed until there is a connection, and not afterwards")
  func changes() {
    var stage = SecurityStage.waiting
    #expect(stage.admitsChange && !stage.isUnderWay)
    stage.connected()
    #expect(stage == .handshaking && !stage.admitsChange && stage.isUnderWay)
    stage.agreed(asks: false)
    #expect(stage == .secured && !stage.admitsChange && !stage.isUnderWay)
  }

  @Test("an approval counts while it is waited for")
  func approval() {
    var stage = SecurityStage.handshaking
    stage.approved()
    #expect(stage == .handshaking)
    stage.agreed(asks: true)
    #expect(stage == .approving && stage.isUnderWay)
    var refused = stage
    stage.approved()
    #expect(stage == .secured)
    let isRefused = refused.gaveUp()
    refused.approved()
    #expect(isRefused && refused == .failed)
  }

  @Test("what is agreed upon cannot be given up, and what was given up is not agreed upon later")
  func givingUp() {
    var late = SecurityStage.handshaking
    var counts = [late.gaveUp()]
    late.agreed(asks: false)
    late.connected()
    counts.append(late.gaveUp())
    #expect(late == .failed && counts == [true, false])
    for other in [SecurityStage.secured, .waiting] {
      var stage = other
      let counts = stage.gaveUp()
      #expect(stage == other && !counts)
    }
  }

  // J14
  @Test("it is off when both sides have said the end, this one first")
  func takingOff() {
    var stage = SecurityStage.secured
    let early = stage.peerEnded()
    stage.endSaid()
    #expect(stage == .secured && !early)
    let begins = [stage.stopRequested(), stage.stopRequested()]
    #expect(begins == [true, false])
    #expect(stage == .finishing && stage.isEnding && !stage.isUnderWay && !stage.admitsChange)
    let tooEarly = stage.peerEnded()
    #expect(stage == .finishing && !tooEarly)
    stage.endSaid()
    #expect(stage == .stopping && stage.isEnding)
    let isOff = [stage.peerEnded(), stage.peerEnded()]
    #expect(stage == .plain && !stage.isEnding && isOff == [true, false])
  }

  // J14
  @Test("what has not begun, or is over, cannot be taken off")
  func nothingToTakeOff() {
    for other in [SecurityStage.waiting, .handshaking, .approving, .finishing, .stopping, .plain, .failed] {
      var stage = other
      let begins = stage.stopRequested()
      #expect(stage == other && !begins)
    }
  }

  // J14
  @Test("a peer that never ends is given up, and one that has ended is not")
  func givingUpTheEnd() {
    for (stage, isGivenUp) in [(SecurityStage.finishing, true), (.stopping, true), (.plain, false)] {
      var later = stage
      let counts = later.gaveUp()
      let isOff = later.peerEnded()
      #expect(counts == isGivenUp && later == (isGivenUp ? .failed : stage) && !isOff)
    }
  }
}
