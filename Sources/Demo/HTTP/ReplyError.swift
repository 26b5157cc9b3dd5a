// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What can be wrong with the bytes of an HTTP reply. Pure.

/// Why a reply is none, or not whole.
enum ReplyError: Error, Hashable, Sendable {
  /// The connection ended before the first byte.
  case closedBeforeReply
  /// The first line is not that of an HTTP reply.
  case noStatusLine
  /// The connection ended before the blank line.
  case cutHead
  /// The header has more bytes than are read of one.
  case headTooLong(limit: Int)
  /// A line of the header that is not `name: value`.
  case badField(String)
  /// A length that is no number, or several that differ.
  case badLength(String)
  /// A coding of the body that this client does not know.
  case unknownCoding(String)
  /// The connection ended after `count` bytes of `total`.
  case truncated(count: Int, total: Int)
  /// The connection ended before the last chunk, after `count` bytes of the body.
  case cutChunks(count: Int)
  case badChunkSize(String)
  /// Behind a chunk's bytes there is no end of a line.
  case badChunkEnd
  /// What follows the last chunk has more bytes than are read of it.
  case trailersTooLong(limit: Int)

  /// The number in messages, the same for ever.
  var code: Int32 {
    switch self {
    case .closedBeforeReply: 1
    case .noStatusLine: 2
    case .cutHead: 3
    case .headTooLong: 4
    case .badField: 5
    case .badLength: 6
    case .unknownCoding: 7
    case .truncated: 8
    case .cutChunks: 9
    case .badChunkSize: 10
    case .badChunkEnd: 11
    case .trailersTooLong: 12
    }
  }

  /// The reason, for a message.
  var reason: String {
    switch self {
    case .closedBeforeReply: "closed before a reply"
    case .noStatusLine: "no status line"
    case .cutHead: "closed inside the header"
    case .headTooLong(let limit): "header over \(limit) bytes"
    case .badField(let text): "bad header line '\(text)'"
    case .badLength(let text): "bad Content-Length '\(text)'"
    case .unknownCoding(let text): "unknown Transfer-Encoding '\(text)'"
    case .truncated(let count, let total): "truncated \(count)/\(total)"
    case .cutChunks(let count): "closed before the last chunk, after \(count) bytes"
    case .badChunkSize(let text): "bad chunk size '\(text)'"
    case .badChunkEnd: "no end of line behind a chunk"
    case .trailersTooLong(let limit): "trailers over \(limit) bytes"
    }
  }
}
