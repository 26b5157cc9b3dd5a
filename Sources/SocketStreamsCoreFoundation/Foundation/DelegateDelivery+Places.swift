// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a Foundation stream is scheduled, in any order and from any thread. CFStream takes a wrong place for the right one,
// and counts the same one twice: so it hears of each place once, and only of those that it knows.

import CoreFoundation
import Foundation
import SocketStreams

extension DelegateDelivery {
  func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode) {
    noticeOpening()
    let place = LoopPlace(runLoop, mode)
    let finder = placing.withLock { () -> Timer? in
      let finder = lock.withLock { accept(place) }
      putPlaces()
      return finder
    }
    if let finder { runLoop.add(finder, forMode: mode) }
    change {}
    lookLater()
  }

  /// - Returns: What finds out which loop it is, if nobody knows.
  private func accept(_ place: LoopPlace) -> Timer? {
    let isKnown = places.contains { $0.runLoop === place.runLoop && $0.mode == place.mode }
    if events.isOver || isKnown { return nil }
    if wasScheduled, isOpened { events.scheduledAgain() }
    wasScheduled = true
    places.append(place)
    if place.loop == nil {
      place.finder = Timer(timeInterval: 0, repeats: false) { [weak self, weak place] _ in
        if let place { self?.found(place.runLoop) }
      }
    }
    return place.finder
  }

  /// On the thread of a run loop that was not known before.
  private func found(_ runLoop: RunLoop) {
    let loop = KnownLoops.shared.add(runLoop)
    placing.withLock {
      let finders = lock.withLock {
        let found = places.filter { $0.runLoop === runLoop && $0.loop == nil }
        for place in found { place.loop = loop }
        return found.compactMap { $0.takeFinder() }
      }
      for finder in finders { finder.invalidate() }
      putPlaces()
    }
    lookLater()
  }

  func remove(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
    noticeOpening()
    placing.withLock {
      let place = lock.withLock {
        places.firstIndex { $0.runLoop === runLoop && $0.mode == mode }.map { places.remove(at: $0) }
      }
      if let place { take(place, from: handle) }
    }
    change {}
  }

  /// The stream is being opened: from now on CFStream knows its places.
  func beginPlacing() {
    placing.withLock {
      lock.withLock { isOpened = true }
      putPlaces()
    }
    change {}
  }

  /// Whoever has the CF stream may have opened that itself.
  func noticeOpening() {
    if lock.withLock({ isOpened }) { return }
    if let handle, handle.status != .notOpen { beginPlacing() }
  }

  /// - Parameter handle: `nil` if CFStream lets go of them itself.
  func removeAllPlaces(from handle: CFStreamHandle?) {
    placing.withLock {
      let all = lock.withLock {
        defer { places = [] }
        return places
      }
      for place in all { take(place, from: handle) }
    }
  }

  private func take(_ place: LoopPlace, from handle: CFStreamHandle?) {
    lock.withLock { place.takeFinder() }?.invalidate()
    if place.isPlaced, let loop = place.loop { handle?.unschedule(loop, place.cfMode) }
  }

  /// Tells CFStream of the places that it does not know yet.
  private func putPlaces() {
    let (handle, due) = lock.withLock { () -> (CFStreamHandle?, [LoopPlace]) in
      let due = isOpened && !events.isOver ? places.filter { $0.loop != nil && !$0.isPlaced } : []
      for place in due { place.isPlaced = true }
      return (self.handle, due)
    }
    for place in due {
      if let loop = place.loop { handle?.schedule(loop, place.cfMode) }
    }
  }
}
