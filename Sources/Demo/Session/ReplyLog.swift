// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The replies of a run, for its summary.

import Synchronization

/// What came of one request.
struct ReplyRecord: Hashable, Sendable {
  /// `nil` if no header came.
  var status: Int?
  /// Bytes of the body.
  var count = 0
  /// The file, `nil` if there is no whole one.
  var path: String?
}

/// The replies of a run, written by the network's thread and read by the main thread.
final class ReplyLog: Sendable {
  private let records = Mutex<[ReplyRecord]>([])

  func add(_ record: ReplyRecord) { records.withLock { $0.append(record) } }

  /// How many requests were answered with a header.
  var replyCount: Int { records.withLock { $0.count { $0.status != nil } } }

  /// The member `replies` of the summary.
  var json: JSONValue {
    .array(
      records.withLock { $0 }.map { record in
        .object([
          .init("status", record.status.map { .integer($0) } ?? .null),
          .init("bytes", .integer(record.count)),
          .init("saved", record.path.map { .string($0) } ?? .null),
        ])
      })
  }
}
