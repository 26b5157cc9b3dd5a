// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Fuzzes the reader of HTTP replies: what comes of a reply does not depend on its cuts. Nothing may trap.
//
// The first byte chooses the method, and how many bytes after it are the lengths of pieces. The rest is the reply.

/// Called by libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReplies(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  guard let choice = input.first else { return 0 }
  let method = ["GET", "HEAD", "CONNECT", "POST"][Int(choice & 3)]
  let pieces = input.dropFirst().prefix(Int(choice >> 4)).map { Int($0) }
  let reply = Array(input.dropFirst(1 + pieces.count))
  let whole = ReplyFeed.outcome(of: reply, method: method)
  check(whole.isDone != (whole.error != nil), "a reply that has ended is whole or bad")
  check(whole.body.count + whole.restCount <= reply.count, "more bytes than there were")
  let inPieces = ReplyFeed.outcome(of: reply, method: method, pieces: pieces)
  check(inPieces == whole, "a difference by the pieces \(pieces)")
  let inBytes = ReplyFeed.outcome(of: reply, method: method, pieces: repeatElement(1, count: reply.count))
  check(inBytes == whole, "a difference byte by byte")
  for head in whole.heads { check(!head.fileName.contains("/"), "a file in another folder") }
  return 0
}
