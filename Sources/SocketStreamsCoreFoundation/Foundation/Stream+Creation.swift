// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The pairs of streams that Foundation's Stream makes on Apple's platforms, and does not offer on Linux.

import CoreFoundation
public import Foundation

extension Stream {
  /// Makes a pair of streams to a host, as ``SocketInputStream`` and ``SocketOutputStream``. Nothing is looked up or connected
  /// before one of them is opened.
  /// - Parameters:
  ///   - hostname: A name, or an IPv4 or IPv6 address. If it is empty there are no streams.
  ///   - port: 1 to 65535; otherwise there are no streams.
  ///   - inputStream: Where the stream to read from is put, or `nil`; `nil` if it is not wanted.
  ///   - outputStream: Where the stream to write to is put, likewise.
  ///
  /// Corresponds to `CFStreamCreatePairWithSocketToHost`.
  public class func getStreamsToHost(
    withName hostname: String, port: Int,
    inputStream: UnsafeMutablePointer<InputStream?>?, outputStream: UnsafeMutablePointer<OutputStream?>?
  ) {
    unsafe give(inputStream, outputStream) { reading, writing in
      guard let port = UInt32(exactly: port), port > 0 else { return }
      unsafe CFStreamCreatePairWithSocketToHost(nil, hostname.cfString, port, reading, writing)
    }
  }

  /// Makes a pair of streams of which one reads what is written to the other.
  /// - Parameters:
  ///   - bufferSize: How many bytes may be written before some are read; 0 or less for the library's own choice.
  ///   - inputStream: Where the stream to read from is put; `nil` if it is not wanted.
  ///   - outputStream: Where the stream to write to is put, likewise.
  ///
  /// Corresponds to `CFStreamCreateBoundPair`.
  public class func getBoundStreams(
    withBufferSize bufferSize: Int,
    inputStream: UnsafeMutablePointer<InputStream?>?, outputStream: UnsafeMutablePointer<OutputStream?>?
  ) {
    unsafe give(inputStream, outputStream) { reading, writing in
      unsafe CFStreamCreateBoundPair(nil, reading, writing, bufferSize)
    }
  }

  private typealias Place<CFType: AnyObject> = UnsafeMutablePointer<Unmanaged<CFType>?>

  /// Has `make` make what is wanted, and wraps it.
  private class func give(
    _ inputStream: UnsafeMutablePointer<InputStream?>?, _ outputStream: UnsafeMutablePointer<OutputStream?>?,
    _ make: (Place<CFReadStream>?, Place<CFWriteStream>?) -> Void
  ) {
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    unsafe withUnsafeMutablePointer(to: &reading) { reading in
      unsafe withUnsafeMutablePointer(to: &writing) { writing in
        unsafe make(inputStream == nil ? nil : reading, outputStream == nil ? nil : writing)
      }
    }
    unsafe inputStream?.pointee = reading.map { unsafe SocketInputStream($0.takeRetainedValue()) }
    unsafe outputStream?.pointee = writing.map { unsafe SocketOutputStream($0.takeRetainedValue()) }
  }
}
