// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The three small machines: who still uses a connection, how much is taken over, when time is up.
import Testing

@testable import SocketStreams

@Suite("The two sides of a connection")
struct SocketSidesTests {
  private static let orders: [[StreamLifecycle.Direction]] = [[.reading, .writing], [.writing, .reading]]

  // S8, S156
  @Test("the connection ends once, with the last side, in either order", arguments: orders)
  func endsOnce(_ order: [StreamLifecycle.Direction]) {
    var sides = SocketSides(ownsDescriptor: true)
    #expect(sides.owesEnd, "the writing side tells the end while the reading side goes on")
    #expect(sides.left(order[0]) == nil)
    #expect(sides.owesEnd == (order[0] == .writing))
    #expect(sides.left(order[0]) == nil)
    #expect(sides.left(order[1]) == .closeAfterDelivery)
    #expect(sides.left(order[0]) == nil && sides.left(order[1]) == nil)
  }

  /// What happened before the last side left, and how the connection has to end.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var before: @Sendable (inout SocketSides) -> Void
    var owned: SocketSides.Ending
  }

  private static let cases = [
    Case(testDescription: "nothing", before: { _ in }, owned: .closeAfterDelivery),
    Case(testDescription: "the end was seen", before: { $0.endSeen() }, owned: .close),
    Case(testDescription: "it broke", before: { $0.broke() }, owned: .close),
    Case(testDescription: "it was cut", before: { $0.aborted() }, owned: .abort),
    Case(
      testDescription: "it was cut after all else",
      before: {
        $0.endSeen(); $0.broke(); $0.aborted()
      }, owned: .abort),
  ]

  // S154, S157, S158
  @Test(
    "an owned descriptor is closed as the connection's end asks for; a lent one is given back",
    arguments: cases)
  func endings(_ example: Case) {
    for isOwned in [true, false] {
      var sides = SocketSides(ownsDescriptor: isOwned)
      example.before(&sides)
      _ = sides.left(.reading)
      #expect(sides.left(.writing) == (isOwned ? example.owned : .giveBack))
    }
  }

  // S159
  @Test("who owns the descriptor is asked when the last side leaves")
  func lateOwnership() {
    var sides = SocketSides(ownsDescriptor: true)
    _ = sides.left(.reading)
    sides.ownsDescriptor = false
    #expect(sides.left(.writing) == .giveBack)
  }
}

@Suite("How much a write half takes over")
struct FlowLimitsTests {
  // S137, S149, L3
  @Test(
    "room is what the limit leaves, and never less than nothing",
    arguments: [
      (0, 10, 10), (0, 100, 100), (0, 101, 100), (99, 10, 1), (100, 10, 0), (150, 10, 0), (40, 0, 0),
    ])
  func room(_ queued: Int, _ offered: Int, _ expected: Int) {
    #expect(FlowLimits(outputLimit: 100).room(queued: queued, offered: offered) == expected)
  }

  // S158
  @Test("without a queue nothing is taken but by the kernel")
  func noQueue() {
    #expect(FlowLimits(outputLimit: 0).room(queued: 0, offered: 10) == 0)
  }

  // L4
  @Test("the hard limit binds copied bytes too")
  func hardLimitBindsAll() {
    let limits = FlowLimits(outputLimit: 100, outputHardLimit: 30)
    #expect(limits.room(queued: 25, offered: 10) == 5)
    #expect(limits.room(queued: 31, offered: 10) == 0)
  }

  // L4
  @Test("a moved buffer passes the ordinary limit, and not the hard one")
  func moved() {
    #expect(FlowLimits(outputLimit: 100).admitsMoved(queued: 100, count: 1_000_000))
    let limits = FlowLimits(outputLimit: 100, outputHardLimit: 200)
    #expect(limits.admitsMoved(queued: 150, count: 50))
    #expect(!limits.admitsMoved(queued: 150, count: 51))
    #expect(!limits.admitsMoved(queued: 0, count: .max))
  }
}

@Suite("A limit on the time without progress")
struct ProgressDeadlineTests {
  @Test("without a limit time never passes")
  func none() {
    var deadline = ProgressDeadline()
    deadline.waiting(true, now: 100)
    #expect(!deadline.isSet && deadline.expiry == nil)
  }

  // S134
  @Test("time counts only while something is waited for")
  func onlyWhileWaiting() {
    var deadline = ProgressDeadline()
    deadline.limitChanged(50, now: 0)
    #expect(deadline.isSet && deadline.expiry == nil)
    deadline.waiting(true, now: 100)
    #expect(deadline.expiry == 150)
    deadline.waiting(true, now: 120)
    #expect(deadline.expiry == 150, "waiting on is no new start")
    deadline.waiting(false, now: 130)
    #expect(deadline.expiry == nil)
    deadline.waiting(true, now: 1_000)
    #expect(deadline.expiry == 1_050)
  }

  @Test("progress starts the time anew")
  func progress() {
    var deadline = ProgressDeadline()
    deadline.limitChanged(50, now: 0)
    deadline.waiting(true, now: 0)
    deadline.progressed(now: 40)
    #expect(deadline.expiry == 90)
  }

  @Test("a new limit counts from when it was set, and nil takes it away")
  func changed() {
    var deadline = ProgressDeadline()
    deadline.waiting(true, now: 0)
    deadline.limitChanged(50, now: 30)
    #expect(deadline.expiry == 80 && deadline.limit == 50)
    deadline.limitChanged(nil, now: 60)
    #expect(deadline.expiry == nil && !deadline.isSet)
  }

  @Test("a limit beyond the end of time is none")
  func overflow() {
    var deadline = ProgressDeadline()
    deadline.limitChanged(.max, now: 10)
    deadline.waiting(true, now: 10)
    #expect(deadline.expiry == nil)
  }
}
