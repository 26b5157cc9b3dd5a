// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The queue of a loop: order, and places that are used again.

import Testing

@testable import SocketStreams

@Suite("The list of jobs")
struct JobListTests {
  /// A job that notes its number, and what it was in the end.
  private final class Notes {
    var numbers: [Int] = []
    func job(_ number: Int) -> LoopJob { .execute { self.numbers.append(number) } }
    func run(_ job: LoopJob?) {
      if case .execute(let body) = job { body() }
    }
  }

  @Test("jobs come out in the order in which they went in, also when some went in between")
  func order() {
    let notes = Notes()
    var list = JobList()
    var next = 0
    var random = SeededGenerator(seed: 7)
    var left = 0
    while next < 2_000 || left > 0 {
      if next < 2_000, left == 0 || Bool.random(using: &random) {
        list.append(notes.job(next))
        next += 1
        left += 1
      } else {
        notes.run(list.takeFirst())
        left -= 1
      }
      #expect(list.isEmpty == (left == 0))
    }
    #expect(notes.numbers == Array(0..<2_000))
    if list.takeFirst() != nil { Issue.record("a job came out of an empty list") }
  }

  @Test("a job that was taken out is held no longer, though its place is kept")
  func release() {
    final class Witness {}
    var list = JobList()
    weak var witness: Witness?
    do {
      let strong = Witness()
      witness = strong
      list.append(.execute { withExtendedLifetime(strong) {} })
      list.append(.execute {})
    }
    #expect(witness != nil)
    _ = list.takeFirst()
    #expect(witness == nil)
    #expect(!list.isEmpty)
  }

  @Test("all jobs that are left come out at once, and the list is empty")
  func all() {
    let notes = Notes()
    var list = JobList()
    for number in 0..<5 { list.append(notes.job(number)) }
    notes.run(list.takeFirst())
    for job in list.takeAll() { notes.run(job) }
    #expect(notes.numbers == [0, 1, 2, 3, 4])
    #expect(list.isEmpty)
    list.append(notes.job(5))
    notes.run(list.takeFirst())
    #expect(notes.numbers.last == 5)
  }
}
