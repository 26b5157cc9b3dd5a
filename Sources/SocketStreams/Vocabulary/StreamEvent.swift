// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What happened to a stream, and what a client asks to hear of.

/// One thing that happened to a stream. A client gets exactly one per call. Raw values equal `CFStreamEventType`.
///
/// Corresponds to `CFStreamEventType`.
public enum StreamEvent: UInt, Sendable, CaseIterable, CustomStringConvertible {
  /// The connection is up. Delivered at most once, before any other event of the same client.
  case openCompleted = 1
  /// A read would return at once. Not repeated until the client reads.
  case hasBytesAvailable = 2
  /// A write would take at least one byte. Not repeated until the client writes.
  case canAcceptBytes = 4
  /// The stream failed, and its `error` is set. The last event of a stream.
  case errorOccurred = 8
  /// Every byte has been read and the peer sends no more. The last event of a stream.
  case endEncountered = 16

  /// The name of the case, as in source code.
  public var description: String {
    switch self {
    case .openCompleted: "openCompleted"
    case .hasBytesAvailable: "hasBytesAvailable"
    case .canAcceptBytes: "canAcceptBytes"
    case .errorOccurred: "errorOccurred"
    case .endEncountered: "endEncountered"
    }
  }
}

/// The events that a client asks for. Raw values equal those of `CFOptionFlags` made of `CFStreamEventType`.
public struct StreamEvents: OptionSet, Hashable, Sendable, CustomStringConvertible {
  /// One bit an event.
  public let rawValue: UInt

  /// Makes a set from bits; bits without a meaning are ignored on delivery.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Makes the set of one event.
  public init(_ event: StreamEvent) { rawValue = event.rawValue }

  /// ``StreamEvent/openCompleted``.
  public static let openCompleted = Self(.openCompleted)
  /// ``StreamEvent/hasBytesAvailable``. A write stream ignores it.
  public static let hasBytesAvailable = Self(.hasBytesAvailable)
  /// ``StreamEvent/canAcceptBytes``. A read stream ignores it.
  public static let canAcceptBytes = Self(.canAcceptBytes)
  /// ``StreamEvent/errorOccurred``.
  public static let errorOccurred = Self(.errorOccurred)
  /// ``StreamEvent/endEncountered``.
  public static let endEncountered = Self(.endEncountered)
  /// Every event.
  public static let all = Self(rawValue: 31)

  /// The names of the events, lowest bit first.
  public var description: String {
    let names = StreamEvent.allCases.filter { contains(Self($0)) }.map(\.description)
    return "[" + names.joined(separator: ", ") + "]"
  }
}
