// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The reading half as Foundation's class. Every member is overridden: those of the superclass act on a stream of its own.

public import CoreFoundation
public import Foundation
import SocketStreams

/// An `InputStream` made of a `CFReadStream`, whose delegate is called.
///
/// On Apple's platforms the two are one type; on Linux this class is the bridge. A stream of
/// `Stream.getStreamsToHost(withName:port:inputStream:outputStream:)` is one of these. As a stream of Foundation's it is used
/// by one thread at a time, scheduling and removing included: CoreFoundation guards none of it. Any thread may run its loops,
/// and the delegate may go on any.
///
/// The delegate is called on the threads of the run loops in which the stream is scheduled, with one event a call, and not
/// from within another call. An open stream that is scheduled stays alive until it is closed, removed from all its loops, or
/// has told of its end or failure. Otherwise dropping it closes it, if nobody else has its `CFReadStream`.
///
/// As the body of a request, a stream needs no run loop. What is not written yet when the body is asked for needs
/// ``waitsForBytes``.
///
/// Corresponds to the toll-free bridge between `CFReadStream` and `NSInputStream`.
public final class SocketInputStream: InputStream {
  /// The stream of CoreFoundation. What can be done through Foundation should not be done to it directly: the client is the
  /// delegate's, and the run loops are those in which this stream is scheduled.
  public let cfReadStream: CFReadStream
  private let handle: CFStreamHandle
  private let delivery: DelegateDelivery

  /// Whether ``hasBytesAvailable`` is true also when a read would have to wait for bytes; false by default.
  ///
  /// For consumers that take its being false for the end, as `URLSession` on Linux takes it of a body: without this they send
  /// of a bound pair what was written by then, and nothing of a stream that is still opening. Set before the stream is handed
  /// over. `NSInputStream` allows for it: true if it is impossible to tell without a read.
  public var waitsForBytes = false

  /// Makes a stream of any `CFReadStream`, which it retains. Its client is replaced when this stream gets a delegate.
  public init(_ readStream: CFReadStream) {
    cfReadStream = readStream
    handle = .reading(readStream)
    delivery = DelegateDelivery(handle)
    super.init(data: Data())
    delivery.begin(for: self)
  }

  deinit { delivery.end() }

  /// Starts opening. Corresponds to `CFReadStreamOpen`.
  public override func open() { delivery.open() }

  /// Closes the stream; its delegate hears nothing more. Before it was opened, does nothing. Corresponds to
  /// `CFReadStreamClose`.
  public override func close() { delivery.close() }

  /// Reads what is there, or waits for a byte; 0 at the end, -1 without success. Corresponds to `CFReadStreamRead`.
  public override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    if len > 0 { delivery.dataMoves() }
    let count = unsafe CFReadStreamRead(cfReadStream, buffer, len)
    if count <= 0 { delivery.foundEnd() }
    return count
  }

  /// Lends the bytes that are there, which count as read, until the next call of this stream. Corresponds to
  /// `CFReadStreamGetBuffer`.
  public override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
  ) -> Bool {
    delivery.dataMoves()
    var count = 0
    guard let bytes = unsafe CFReadStreamGetBuffer(cfReadStream, 0, &count) else {
      unsafe len.pointee = 0
      delivery.foundEnd()
      return false
    }
    unsafe buffer.pointee = UnsafeMutablePointer(mutating: bytes)
    unsafe len.pointee = count
    return true
  }

  /// Whether a read would not wait, or with ``waitsForBytes`` whether bytes may still come. Corresponds to
  /// `CFReadStreamHasBytesAvailable`.
  public override var hasBytesAvailable: Bool { handle.hasData || waitsForBytes && mayStillHaveBytes }

  private var mayStillHaveBytes: Bool { [.opening, .open, .reading].contains(streamStatus) }

  /// Corresponds to `CFReadStreamGetStatus`.
  public override var streamStatus: Stream.Status { Stream.Status(handle.status) }

  /// An `NSError` with the domain and code of the `CFError`; `nil` without a failure. Corresponds to
  /// `CFReadStreamCopyError`.
  public override var streamError: (any Error)? { handle.error }

  /// Held weakly. Without one nothing is called; another hears of what is still true, such as bytes that wait.
  public override var delegate: (any StreamDelegate)? {
    get { delivery.delegate }
    set { delivery.delegate = newValue }
  }

  /// Corresponds to `CFReadStreamCopyProperty`.
  public override func property(forKey key: Stream.PropertyKey) -> AnyObject? { handle.property(key) }

  /// - Returns: Whether the stream knows the key and takes the value. Corresponds to `CFReadStreamSetProperty`.
  public override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    handle.setProperty(key, to: property.map(foundationObject(_:)))
  }

  /// Has the delegate called on the thread that runs `aRunLoop`, while it runs in `mode`. Any number of loops and modes;
  /// the same ones again count once.
  public override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    delivery.schedule(in: aRunLoop, mode)
  }

  /// Undoes the scheduling there; where the stream is not scheduled, does nothing.
  public override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    delivery.remove(from: aRunLoop, mode)
  }
}
