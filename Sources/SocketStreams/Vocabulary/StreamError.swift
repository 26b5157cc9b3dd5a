// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Why a stream failed. The texts for the codes are in Sockets/, where the C library that knows them is.

/// Why a stream failed: a domain, that domain's own code, and the operation that it stopped.
///
/// Corresponds to `CFStreamError` and to the domain and code of a `CFError`.
public struct StreamError: Error, Hashable, Sendable {
  /// Whose code it is. Numbered like the `kCFStreamErrorDomain…` constants.
  public struct Domain: RawRepresentable, Hashable, Sendable {
    /// The number that CF gives the domain.
    public let rawValue: Int
    /// Names a domain by its number.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// The code is an `errno`. Corresponds to `kCFStreamErrorDomainPOSIX`.
    public static let posix = Domain(rawValue: 1)
    /// The code is a TLS failure, ``StreamError/TLS``. Corresponds to `kCFStreamErrorDomainSSL`.
    public static let tls = Domain(rawValue: 3)
    /// The code is an HTTP failure. Corresponds to `kCFStreamErrorDomainHTTP`.
    public static let http = Domain(rawValue: 4)
    /// The code is one of `getaddrinfo`'s `EAI_…`. Corresponds to `kCFStreamErrorDomainNetDB`.
    public static let resolver = Domain(rawValue: 12)
    /// The code is one of this library's own, ``StreamError/Misuse`` or ``StreamError/Frame``. Corresponds to `kCFStreamErrorDomainCustom`.
    public static let streams = Domain(rawValue: -1)
  }

  /// The codes of the domain ``Domain/streams``: a call that the stream's state does not allow.
  public enum Misuse: Int32, Sendable {
    /// The stream has not been opened, or was closed.
    case notOpen = 1
    /// The bytes would exceed the hard limit of the queue.
    case queueFull = 2
    /// The text is not `host:port`, an address, or a path that can be used.
    case badAddress = 3
    /// The stream's transport or the address has no such thing, for instance a descriptor in an in-memory pair.
    case unsupported = 4
    /// Another read of the same stream is lending bytes at this moment.
    case busy = 5
    /// The pair is secured already, or is about to be, in another way.
    case secured = 6
    /// Bytes that arrived before the pair was to be secured have not been read: whoever sent them may not be the peer.
    case unreadBytes = 7
    /// The pair is not secured: not at all, or not yet, as the handshake is not done.
    case notSecured = 8
  }

  /// The codes of the domain ``Domain/streams`` for frames that could not be read.
  public enum Frame: Int32, Sendable {
    /// The peer ended before the frame was whole.
    case cut = 32
    /// The frame is longer than its limit allows.
    case tooLong = 33
    /// The bytes are not what the framing asks for.
    case malformed = 34
  }

  /// Whose code ``code`` is.
  public let domain: Domain
  /// The failure, in its domain's own numbers; never 0.
  public let code: Int32
  /// What was stopped, in one or two words: `"connect"`, `"read"`, `"resolve no.such.host"`.
  public let operation: String
  /// The addresses that were tried, in order, and why each failed. Empty unless connecting failed.
  public let attempts: [ConnectAttempt]
  /// What the library that failed says itself, for people: OpenSSL's words, for instance. Empty if there is nothing to
  /// add to the reason.
  public let detail: String

  /// Describes a failure.
  public init(
    _ domain: Domain, code: Int32, operation: String, attempts: [ConnectAttempt] = [], detail: String = ""
  ) {
    self.domain = domain
    self.code = code
    self.operation = operation
    self.attempts = attempts
    self.detail = detail
  }

  /// Describes a failed system call by its `errno`.
  public static func posix(_ code: Int32, _ operation: String) -> StreamError {
    StreamError(.posix, code: code, operation: operation)
  }

  /// Describes a frame that could not be read.
  public static func frame(_ code: Frame, _ operation: String) -> StreamError {
    StreamError(.streams, code: code.rawValue, operation: operation)
  }

  /// Whether the peer ended before a frame was whole, or before the first byte of one.
  public var isEndOfFrames: Bool { domain == .streams && code == Frame.cut.rawValue }

  /// Whether a frame was longer than its limit allows.
  public var isFrameTooLong: Bool { domain == .streams && code == Frame.tooLong.rawValue }

  /// Describes a call that the stream's state does not allow.
  public static func misuse(_ code: Misuse, _ operation: String) -> StreamError {
    StreamError(.streams, code: code.rawValue, operation: operation)
  }
}

/// One address that a stream tried to connect to, and how that failed.
public struct ConnectAttempt: Hashable, Sendable {
  /// Where to.
  public let address: SocketAddress
  /// Why it failed: an `errno`, never 0.
  public let code: Int32

  /// Describes a failed attempt.
  public init(address: SocketAddress, code: Int32) {
    self.address = address
    self.code = code
  }
}
