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
}
