// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the shim knows of threads that Swift's Glibc module does not.
internal import CLibEvent

enum ThreadIdentity {
  /// Which thread this is; never 0. Not inlined, and asked anew each time: see `ss_thread_identity`.
  static var current: UInt {
    @inline(never) get { ss_thread_identity() }
  }

  /// Names the calling thread, for debuggers and `top`. The system takes 15 bytes.
  static func setName(_ name: String) {
    var short = name
    while short.utf8.count > 15 { short.removeLast() }
    unsafe ss_name_thread(short)
  }
}
