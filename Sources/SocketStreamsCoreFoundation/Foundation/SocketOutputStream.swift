// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The writing half as Foundation's class. Every member is overridden: those of the superclass act on a stream of its own.

public import CoreFoundation
public import Foundation
import SocketStreams

/// An `OutputStream` made of a `CFWriteStream`, whose delegate is called. All that is said of ``SocketInputStream`` holds
/// here too.
///
/// Corresponds to the toll-free bridge between `CFWriteStream` and `NSOutputStream`.
public final class SocketOutputStream: OutputStream {
  /// The stream of CoreFoundation. What can be done through Foundation should not be done to it directly: the client is the
  /// delegate's, and the run loops are those in which this stream is scheduled.
  public let cfWriteStream: CFWriteStream
  private let handle: CFStreamHandle
  private let delivery: DelegateDelivery

  /// Makes a stream of any `CFWriteStream`, which it retains. Its client is replaced when this stream gets a delegate.
  public init(_ writeStream: CFWriteStream) {
    cfWriteStream = writeStream
    handle = .writing(writeStream)
    delivery = DelegateDelivery(handle)
    super.init(toMemory: ())
    delivery.begin(for: self)
  }

  /// Makes a stream that writes to memory, as the superclass does.
  public required convenience init(toMemory: ()) {
    self.init(CFWriteStreamCreateWithAllocatedBuffers(nil, nil))
  }

  deinit { delivery.end() }

  /// Starts opening. Corresponds to `CFWriteStreamOpen`.
  public override func open() { delivery.open() }

  /// Closes the stream; its delegate hears nothing more. Before it was opened, does nothing. Corresponds to
  /// `CFWriteStreamClose`.
  public override func close() { delivery.close() }

  /// Hands over as many of the bytes as there is room for, waiting for room for one; -1 without success. Corresponds to
  /// `CFWriteStreamWrite`.
  public override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
    if len > 0 { delivery.dataMoves() }
    let count = unsafe CFWriteStreamWrite(cfWriteStream, buffer, len)
    if count <= 0 { delivery.foundEnd() }
    return count
  }

  /// Whether a write of one byte would not wait. Corresponds to `CFWriteStreamCanAcceptBytes`.
  public override var hasSpaceAvailable: Bool { handle.hasData }

  /// Corresponds to `CFWriteStreamGetStatus`.
  public override var streamStatus: Stream.Status { Stream.Status(handle.status) }

  /// An `NSError` with the domain and code of the `CFError`; `nil` without a failure. Corresponds to
  /// `CFWriteStreamCopyError`.
  public override var streamError: (any Error)? { handle.error }

  /// Held weakly. Without one nothing is called; another hears of what is still true, such as room to write.
  public override var delegate: (any StreamDelegate)? {
    get { delivery.delegate }
    set { delivery.delegate = newValue }
  }

  /// Corresponds to `CFWriteStreamCopyProperty`.
  public override func property(forKey key: Stream.PropertyKey) -> AnyObject? { handle.property(key) }

  /// - Returns: Whether the stream knows the key and takes the value. Corresponds to `CFWriteStreamSetProperty`.
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
