// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One `event_base`, owned or a host's, and the thread that it belongs to at the moment.
internal import CLibEvent
internal import Glibc
internal import Synchronization

/// A libevent loop. libevent's locking is never used, so everything but ``threadID`` is for the loop's thread
/// only.
///
/// `@unchecked Sendable`: the pointer is touched by the thread that holds the loop, and handed on under
/// EventLoop's lock.
@safe
final class LoopHandle: @unchecked Sendable {
  /// Whether a host made the base, runs it and frees it.
  let isAdopted: Bool
  /// Whether ``EventFlags/closed`` can be asked for.
  let reportsEarlyClose: Bool
  /// Whether ``EventFlags/edgeTriggered`` can be asked for.
  let supportsEdgeTrigger: Bool
  /// The thread that the loop belongs to: ``ThreadIdentity/current``, or 0 for none or unknown, or ``ended``.
  /// Any thread may read it; the loop's holder writes it.
  var threadID: UInt {
    get { thread.load(ordering: .acquiring) }
    set { thread.store(newValue, ordering: .releasing) }
  }
  /// The value of ``threadID`` once the loop has ended: the identity of no thread.
  static var ended: UInt { UInt.max }

  private let thread = Atomic<UInt>(0)
  private var pointer: OpaquePointer?

  /// Makes a base of our own.
  init() throws(StreamError) {
    try Self.checkDescriptors()
    let configuration = unsafe event_config_new()
    defer { if let configuration = unsafe configuration { unsafe event_config_free(configuration) } }
    guard let configuration = unsafe configuration else { throw .posix(ENOMEM, "make an event base") }
    // Only its own thread touches the base, so the calls that would lock it are not needed even if the host
    // uses evthread.
    _ = unsafe event_config_set_flag(configuration, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
    // 2.1.12 would ask for the time in each pass, at 80 instructions, though it needs it for timers only.
    _ = unsafe event_config_set_flag(configuration, Int32(EVENT_BASE_FLAG_NO_CACHE_TIME.rawValue))
    guard let base = unsafe event_base_new_with_config(configuration) else {
      let code = errno
      throw .posix(code == 0 ? ENOMEM : code, "make an event base")
    }
    isAdopted = false
    unsafe pointer = base
    let features = unsafe event_base_get_features(base)
    reportsEarlyClose = features & Int32(EV_FEATURE_EARLY_CLOSE.rawValue) != 0
    supportsEdgeTrigger = features & Int32(EV_FEATURE_ET.rawValue) != 0
  }

  /// Fails if there are not descriptors enough for a base: 2.1.12 ends the process when its two sockets for signals
  /// cannot be made. Another thread may take them in between, which nothing can prevent.
  private static func checkDescriptors() throws(StreamError) {
    var made: [Int32] = []
    defer { for fd in made { close(fd) } }
    while made.count < 4 {
      let fd = LinuxCalls.makeEventDescriptor()
      guard fd >= 0 else { throw .posix(errno, "make an event base") }
      made.append(fd)
    }
  }

  /// Uses a host's base, which outlives the use.
  @unsafe
  init(adopting base: OpaquePointer) {
    isAdopted = true
    unsafe pointer = base
    let features = unsafe event_base_get_features(base)
    reportsEarlyClose = features & Int32(EV_FEATURE_EARLY_CLOSE.rawValue) != 0
    supportsEdgeTrigger = features & Int32(EV_FEATURE_ET.rawValue) != 0
  }

  deinit { precondition(unsafe pointer == nil, "an event base goes before its loop has ended") }

  /// The `event_base *`.
  var base: OpaquePointer {
    guard let pointer = unsafe pointer else { preconditionFailure("use of an event base that has ended") }
    return unsafe pointer
  }

  /// Runs the loop until ``breakLoop()``, however few events it has.
  func run() { _ = unsafe event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) }

  /// Makes ``run()`` return after the callback that is running. Lost if none is (2.1.12: the next run clears
  /// it).
  func breakLoop() { if let pointer = unsafe pointer { _ = unsafe event_base_loopbreak(pointer) } }

  /// Notes that the calling thread runs this loop: only callbacks know which thread a host chose.
  func noteThread() {
    let current = ThreadIdentity.current
    if threadID != current { threadID = current }
  }

  /// Frees the base if it is ours; nothing may use it afterwards.
  func free() {
    if !isAdopted, let base = unsafe pointer {
      // 2.1.12: evsig_dealloc_ looks at the process-wide record of which base has the signals.
      Self.signalState.withLock { unsafe event_base_free(base) }
    }
    unsafe pointer = nil
  }

  /// Guards libevent's process-wide signal state, which without evthread nobody else guards.
  static let signalState = Lock()
}
