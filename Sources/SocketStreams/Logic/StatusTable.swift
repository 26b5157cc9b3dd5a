// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Every status change of a stream, as data. What is not in the table does not happen: the status stays.
// The diagram in the documentation is checked against this table by a test.

/// What can change a stream's status.
package enum StatusChange: Sendable, CaseIterable {
  case open, transportOpened, transportEnded, transportFailed, close
}

package enum StatusTable {
  package typealias Row = (from: StreamStatus, on: StatusChange, to: StreamStatus)

  package static let rows: [Row] = [
    (.notOpen, .open, .opening),
    (.opening, .transportOpened, .open),
    (.opening, .transportFailed, .error),
    (.opening, .close, .closed),
    (.open, .transportEnded, .atEnd),
    (.open, .transportFailed, .error),
    (.open, .close, .closed),
    (.atEnd, .close, .closed),
  ]

  /// Where `change` leads from `status`, or `nil` when it changes nothing.
  package static func next(_ status: StreamStatus, on change: StatusChange) -> StreamStatus? {
    rows.first { $0.from == status && $0.on == change }?.to
  }
}
