// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The Linux system calls that Swift's Glibc module does not declare: they come through the shim, which only this
// folder imports. No logic; Sockets/SystemCalls.swift gives them their shape.

internal import CLibEvent

enum LinuxCalls {
  /// `accept4` with `SOCK_NONBLOCK | SOCK_CLOEXEC`.
  static func accept(
    _ fd: Int32, _ address: UnsafeMutableRawPointer, _ length: UnsafeMutablePointer<UInt32>
  ) -> Int32 {
    unsafe ss_accept(fd, address, length)
  }

  /// `eventfd`, not blocking, closed in programs that the process starts.
  static func makeEventDescriptor() -> Int32 {
    eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
  }

  /// How many processors the calling thread may run on; 0 if the kernel does not say.
  static var processorCount: Int { Int(ss_processor_count()) }
}
