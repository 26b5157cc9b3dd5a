// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A whole `bufferevent`, made here or by a host, and the trampolines from its three C callbacks.
internal import CLibEvent
internal import Glibc

/// What befell a bufferevent. Raw values equal libevent's `BEV_EVENT_…`.
struct BuffereventEvents: OptionSet, Sendable {
  let rawValue: Int16

  /// It was met while reading.
  static let reading = Self(rawValue: Int16(BEV_EVENT_READING))
  /// It was met while writing.
  static let writing = Self(rawValue: Int16(BEV_EVENT_WRITING))
  /// The peer sends no more.
  static let end = Self(rawValue: Int16(BEV_EVENT_EOF))
  /// A system call failed.
  static let error = Self(rawValue: Int16(BEV_EVENT_ERROR))
  /// A time limit that the host set has passed.
  static let timeout = Self(rawValue: Int16(BEV_EVENT_TIMEOUT))
  /// A connection that the host started is up.
  static let connected = Self(rawValue: Int16(BEV_EVENT_CONNECTED))
}

/// What a bufferevent calls, on its loop's thread, no lock held. *Lent* to C, as ``EventTarget`` is; the
/// ``Bufferevent`` keeps it until it is freed or let go of.
///
/// `@unchecked Sendable`: this class has one field, which only the loop's thread touches; each subclass adds
/// its own proof.
class BuffereventTarget: @unchecked Sendable {
  /// As ``EventTarget/hostLoop``.
  final var hostLoop: LoopHandle?

  init() {}

  /// Bytes have come into the input. Not repeated for bytes that stay there.
  func bytesArrived() {}

  /// The output has become empty.
  func outputDrained() {}

  /// Something ended, failed, timed out or connected. `errno` is of use with ``BuffereventEvents/error``
  /// only.
  func eventOccurred(_ what: BuffereventEvents, errno: Int32) {}
}

/// libevent's bufferevent. Every member is for its loop's thread only. Ends with ``free()`` or ``letGo()``.
@safe
final class Bufferevent {
  private var pointer: OpaquePointer?
  /// Kept while C has its pointer.
  private var target: BuffereventTarget?

  /// Makes one on `fd`, which is connected and non-blocking and stays the caller's. Nothing is enabled.
  init(_ loop: LoopHandle, fd: Int32, target: BuffereventTarget) {
    self.target = target
    let made = unsafe bufferevent_socket_new(loop.base, fd, 0)
    guard let made = unsafe made else { fatalError("make a bufferevent: out of memory") }
    unsafe pointer = made
    // 2.1.12: a write event sends 16 KiB at most unless told otherwise. (Its reads take 4 KiB whatever they
    // are told.)
    _ = unsafe bufferevent_set_max_single_write(made, 262_144)
    // A new one has EV_WRITE enabled, which would report an empty output as drained before anyone has
    // written.
    _ = unsafe bufferevent_disable(made, Int16(EV_READ | EV_WRITE))
    takeCallbacks(on: loop)
  }

  /// Takes over a bufferevent of any kind that a host made on `loop`, in place of the host's callbacks and
  /// their argument.
  @unsafe
  init(adopting bufferevent: OpaquePointer, on loop: LoopHandle, target: BuffereventTarget) {
    self.target = target
    unsafe pointer = bufferevent
    takeCallbacks(on: loop)
  }

  deinit { precondition(unsafe pointer == nil, "a bufferevent goes without having been freed or let go") }

  private func takeCallbacks(on loop: LoopHandle) {
    guard let target else { return }
    if loop.isAdopted { target.hostLoop = loop }
    unsafe bufferevent_setcb(
      handle, readTrampoline, writeTrampoline, eventTrampoline, OpaqueContext.lend(target))
  }

  private var handle: OpaquePointer {
    guard let pointer = unsafe pointer else { preconditionFailure("use of a bufferevent that was freed") }
    return unsafe pointer
  }

  /// The descriptor below, or −1 if there is none: the bufferevent of a pair, for one.
  var fd: Int32 { unsafe bufferevent_getfd(handle) }

  /// The `event_base *` on which it is.
  @unsafe
  var base: OpaquePointer? { unsafe bufferevent_get_base(handle) }

  /// Starts reading or writing: ``EventFlags/readable``, ``EventFlags/writable``.
  /// - Returns: Whether the kernel accepts the descriptor.
  @discardableResult
  func enable(_ directions: EventFlags) -> Bool {
    unsafe bufferevent_enable(handle, directions.rawValue) == 0
  }

  /// Pauses reading or writing.
  func disable(_ directions: EventFlags) { _ = unsafe bufferevent_disable(handle, directions.rawValue) }

  /// How many bytes have come and were not moved out.
  var inputCount: Int { unsafe evbuffer_get_length(bufferevent_get_input(handle)) }

  /// How many bytes wait for being sent.
  var outputCount: Int { unsafe evbuffer_get_length(bufferevent_get_output(handle)) }

  /// Moves all of the input to the end of `buffer`, without copying.
  func moveInput(into buffer: inout Evbuffer) { _ = unsafe bufferevent_read_buffer(handle, buffer.pointer) }

  /// Moves all of `buffer` to the front of the input, without copying.
  func returnInput(from buffer: inout Evbuffer) {
    _ = unsafe evbuffer_prepend_buffer(bufferevent_get_input(handle), buffer.pointer)
  }

  /// Moves all of `buffer` to the end of the output, without copying.
  func moveOutput(from buffer: inout Evbuffer) { _ = unsafe bufferevent_write_buffer(handle, buffer.pointer) }

  /// Tells the other side of a bufferevent without a descriptor that no more comes.
  func finishOutput() { _ = unsafe bufferevent_flush(handle, Int16(EV_WRITE), BEV_FINISHED) }

  /// Ends the callbacks and frees the bufferevent. libevent does the rest in the loop's next pass, or when
  /// the base is freed: that is when a descriptor that the host gave it for good is closed. A second call
  /// does nothing.
  func free() {
    guard let pointer = unsafe pointer else { return }
    unsafe bufferevent_setcb(pointer, nil, nil, nil, nil)
    unsafe bufferevent_free(pointer)
    unsafe self.pointer = nil
    target = nil
  }

  /// Ends the callbacks and reading and writing, and hands the bufferevent back to the host.
  @unsafe
  func letGo() -> OpaquePointer {
    let bufferevent = unsafe handle
    _ = unsafe bufferevent_disable(bufferevent, Int16(EV_READ | EV_WRITE))
    unsafe bufferevent_setcb(bufferevent, nil, nil, nil, nil)
    unsafe pointer = nil
    target = nil
    return unsafe bufferevent
  }
}

private func readTrampoline(_ bufferevent: OpaquePointer?, _ context: UnsafeMutableRawPointer?) {
  let target = unsafe OpaqueContext.borrowed(context, as: BuffereventTarget.self)
  target.hostLoop?.noteThread()
  target.bytesArrived()
}

private func writeTrampoline(_ bufferevent: OpaquePointer?, _ context: UnsafeMutableRawPointer?) {
  let target = unsafe OpaqueContext.borrowed(context, as: BuffereventTarget.self)
  target.hostLoop?.noteThread()
  target.outputDrained()
}

private func eventTrampoline(
  _ bufferevent: OpaquePointer?, _ what: Int16, _ context: UnsafeMutableRawPointer?
) {
  let code = errno  // libevent's way of passing it; first thing, before anything else can change it
  let target = unsafe OpaqueContext.borrowed(context, as: BuffereventTarget.self)
  target.hostLoop?.noteThread()
  target.eventOccurred(BuffereventEvents(rawValue: what), errno: code)
}
