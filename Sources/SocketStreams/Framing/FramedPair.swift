// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Both directions of a connection in frames, and the ways to end it.

/// A ``FramedReader`` and a ``FramedWriter`` on the two streams of one connection.
public struct FramedPair: Sendable {
  /// What a connection may wait for before it is closed.
  public struct Work: OptionSet, Hashable, Sendable {
    /// One bit a direction.
    public let rawValue: UInt8

    /// Makes a set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Until every read that is queued has been answered.
    public static let reads = Work(rawValue: 1)
    /// Until every write that is queued has been answered.
    public static let writes = Work(rawValue: 2)
  }

  /// Frames coming in.
  public let reader: FramedReader
  /// Pieces going out.
  public let writer: FramedWriter

  /// Puts together a reader and a writer of one connection.
  public init(reader: FramedReader, writer: FramedWriter) { (self.reader, self.writer) = (reader, writer) }

  /// Closes both directions: now, or when the work that is named is done.
  ///
  /// - After nothing: reads and writes that are queued are not answered.
  /// - After reads: what is queued to be written then is dropped.
  /// - After writes: reads that are queued then are not answered.
  /// - After both: each direction is closed when its own work is done.
  ///
  /// A peer that does not read holds writes off for ever, unless they have time limits. The direction that was waited for tells its `ended`; the other tells nothing any more.
  public func close(after work: Work = []) {
    switch work {
    case [.reads, .writes]:
      reader.closeAfterReads()
      writer.closeAfterWrites()
    case .reads: reader.closeAfterReads { [writer] in writer.close() }
    case .writes: writer.closeAfterWrites { [reader] in reader.close() }
    default:
      reader.close()
      writer.close()
    }
  }
}
