// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The keys of stream properties. What they do is in Endpoint+Properties.swift.

/// A typed property key of a stream.
///
/// Unknown keys answer `nil` and refuse to be set; a property can be read after the stream was closed.
/// Corresponds to the `kCFStreamProperty…` names.
public struct StreamProperty<Value: Sendable>: Sendable {
  package let name: StreamPropertyName
  package init(_ name: StreamPropertyName) { self.name = name }
}

/// The properties that the core knows, without the types of their values.
package enum StreamPropertyName: Sendable, CaseIterable {
  case nativeHandle, shouldCloseNativeSocket, remoteHostName, remotePortNumber, remoteAddress, localAddress
  case connectTimeout, connectAttempts, readTimeout, writeTimeout, idleTimeout, lingerTimeout
  case inputLimit, outputLimit, outputHardLimit, bytesRead, bytesWritten, queuedByteCount
  case noDelay, keepAlive, sendBufferSize, receiveBufferSize
  case securitySettings, securityPeer
}

extension StreamProperty<Int32> {
  /// The descriptor. `nil` before a socket exists and for pairs in memory; of a native socket, at once. Not settable.
  ///
  /// Corresponds to `kCFStreamPropertySocketNativeHandle`.
  public static var socketNativeHandle: Self { .init(.nativeHandle) }
  /// The kernel's send buffer in bytes (`SO_SNDBUF`). Before the connection is up, what it will be asked for.
  public static var sendBufferSize: Self { .init(.sendBufferSize) }
  /// The kernel's receive buffer in bytes (`SO_RCVBUF`). Before the connection is up, what it will be asked for.
  public static var receiveBufferSize: Self { .init(.receiveBufferSize) }
}

extension StreamProperty<Bool> {
  /// Whether the descriptor is closed with the second half. By default true for sockets that the pair made or took
  /// over, false for lent ones; `nil` restores that. Settable until the last close.
  ///
  /// Corresponds to `kCFStreamPropertyShouldCloseNativeSocket`.
  public static var shouldCloseNativeSocket: Self { .init(.shouldCloseNativeSocket) }
  /// Whether small writes leave at once (`TCP_NODELAY`), true by default. Refused by sockets that are not TCP.
  public static var noDelay: Self { .init(.noDelay) }
}

extension StreamProperty<String> {
  /// The host given at creation; `nil` for pairs made from an address, a path or a socket. Not settable.
  ///
  /// Corresponds to `kCFStreamPropertySocketRemoteHostName`.
  public static var remoteHostName: Self { .init(.remoteHostName) }
}

extension StreamProperty<UInt16> {
  /// The port given at creation, else the peer's. Not settable.
  ///
  /// Corresponds to `kCFStreamPropertySocketRemotePortNumber`.
  public static var remotePortNumber: Self { .init(.remotePortNumber) }
}

extension StreamProperty<SocketAddress> {
  /// The peer's address, once connected. Not settable.
  public static var remoteAddress: Self { .init(.remoteAddress) }
  /// This side's address, once connected. Not settable.
  public static var localAddress: Self { .init(.localAddress) }
}

extension StreamProperty<[ConnectAttempt]> {
  /// The addresses that failed while connecting, in order, also when a later one succeeded. Not settable.
  public static var connectAttempts: Self { .init(.connectAttempts) }
}

extension StreamProperty<Duration> {
  /// The longest time from `open` to connected, resolving included. After it the pair fails with `ETIMEDOUT`.
  /// No limit by default. Settable before the pair is opened.
  public static var connectTimeout: Self { .init(.connectTimeout) }
  /// The longest time without a byte from the peer while the stream is open and its client keeps up. After it both
  /// halves fail with `ETIMEDOUT`. No limit by default; counted on the base that the read stream is scheduled on, and
  /// in blocking calls.
  public static var readTimeout: Self { .init(.readTimeout) }
  /// The longest time in which the kernel takes no byte of what is queued. After it both halves fail with
  /// `ETIMEDOUT`; ``bytesWritten`` tells how much was taken. No limit by default.
  public static var writeTimeout: Self { .init(.writeTimeout) }
  /// The longest time in which nothing moves in either direction. After it both halves fail with `ETIMEDOUT`. Counted
  /// while one of the halves is scheduled.
  public static var idleTimeout: Self { .init(.idleTimeout) }
  /// How long bytes that were accepted may make no progress after the write stream was closed; then they are dropped.
  /// 30 seconds by default.
  public static var lingerTimeout: Self { .init(.lingerTimeout) }
}

extension StreamProperty<ConnectionOptions.KeepAlive> {
  /// Probes of an idle connection; `nil`, the default, for none. Refused by sockets that are not TCP.
  public static var keepAlive: Self { .init(.keepAlive) }
}

extension StreamProperty<Int> {
  /// The most that is taken from the kernel at once to be lent by `withAvailableBytes`; 32,768 bytes by default.
  public static var inputLimit: Self { .init(.inputLimit) }
  /// The most that copied writes leave queued; beyond it `write` answers `nil`. 65,536 bytes by default; 0 for lent
  /// sockets, which take only what the kernel takes.
  public static var outputLimit: Self { .init(.outputLimit) }
  /// The most that may be queued at all, moved buffers included: beyond it `write(moving:)` throws
  /// ``StreamError/Misuse/queueFull``. No bound by default.
  public static var outputHardLimit: Self { .init(.outputHardLimit) }
  /// Bytes that were accepted and that the kernel has not taken yet. Not settable.
  public static var queuedByteCount: Self { .init(.queuedByteCount) }
}

extension StreamProperty<UInt64> {
  /// Bytes read so far. Not settable.
  public static var bytesRead: Self { .init(.bytesRead) }
  /// Bytes accepted by writes so far; less ``StreamProperty/queuedByteCount``, what the kernel took. Not settable.
  public static var bytesWritten: Self { .init(.bytesWritten) }
}
