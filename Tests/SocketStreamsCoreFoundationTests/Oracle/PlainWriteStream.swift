// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The oracle for writing: a CFWriteStream of plain callbacks in front of a queue of a few bytes, and ours before a bound
// pair's queue of the same size.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation

/// A write stream whose queue the test empties.
protocol PlayedWriteStream: AnyObject {
  var stream: CFWriteStream { get }
  /// The peer takes so many bytes, which are there.
  func drains(_ count: Int)
  /// The caller has written.
  func wasWritten()
}

/// On plain callbacks. Everything happens on the test's thread.
final class PlainWriteStream: PlayedWriteStream {
  private var made: CFWriteStream!
  var stream: CFWriteStream { made }
  private let size: Int
  private var waiting = 0
  /// Room was announced, and nothing written since.
  private var isAnnounced = false

  init(size: Int) {
    self.size = size
    var table = CFWriteStreamCallBacks()
    table.version = 2
    table.open = { _, _, isComplete, info in
      isComplete?.pointee = true
      PlainWriteStream.from(info).announce()
      return true
    }
    table.write = { _, _, count, _, info in PlainWriteStream.from(info).take(count) }
    table.canWrite = { _, _, info in PlainWriteStream.from(info).room > 0 }
    made = CFWriteStreamCreate(nil, &table, Unmanaged.passUnretained(self).toOpaque())!.takeRetainedValue()
  }

  private static func from(_ info: UnsafeMutableRawPointer?) -> PlainWriteStream {
    Unmanaged<PlainWriteStream>.fromOpaque(info!).takeUnretainedValue()
  }

  private var room: Int { size - waiting }

  private func take(_ count: CFIndex) -> CFIndex {
    precondition(room > 0, "a script writes only where there is room")
    let taken = min(count, room)
    waiting += taken
    isAnnounced = false
    announce()
    return taken
  }

  /// The form that may be used inside of CFStream's calls.
  private func announce() {
    guard room > 0, !isAnnounced else { return }
    isAnnounced = true
    _CFWriteStreamSignalEventDelayed(stream, .canAcceptBytes, nil)
  }

  func drains(_ count: Int) {
    waiting -= count
    announce()
  }

  func wasWritten() {}
}

/// On our adapter. After each event the library's thread has seen it.
final class AdaptedWriteStream: PlayedWriteStream {
  var stream: CFWriteStream { pair.write }
  private let pair: CFPair

  init(size: Int) {
    pair = CFPair(boundWithSize: size)
    CFReadStreamOpen(pair.read)
  }

  deinit { CFReadStreamClose(pair.read) }

  func drains(_ count: Int) {
    precondition(read(pair.read, count).count == count)
    letSee()
  }

  func wasWritten() { letSee() }

  private func letSee() { for _ in 0..<4 { EventBase.shared.sync {} } }
}
