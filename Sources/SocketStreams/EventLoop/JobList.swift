// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Jobs in their order, in an array whose places are used again: removing from an array costs more than running a job.

/// A queue of jobs. A value of whoever guards it.
struct JobList {
  /// From `first` to `end` the jobs; the places outside are empty.
  private var places: [LoopJob] = []
  private var first = 0
  private var end = 0

  var isEmpty: Bool { first == end }

  mutating func append(_ job: LoopJob) {
    if end < places.count { places[end] = job } else { places.append(job) }
    end += 1
  }

  /// Takes the oldest job.
  mutating func takeFirst() -> LoopJob? {
    guard first < end else { return nil }
    let job = places[first].take()
    first += 1
    if first == end { startAnew() }
    return job
  }

  /// Takes every job.
  mutating func takeAll() -> [LoopJob] {
    let jobs = Array(places[first..<end])
    self = JobList()
    return jobs
  }

  func contains(where condition: (LoopJob) -> Bool) -> Bool { places[first..<end].contains(where: condition) }

  private mutating func startAnew() {
    // A burst does not occupy its memory for ever.
    if places.count > max(1_024, end * 8) { places = [] }
    first = 0
    end = 0
  }
}
