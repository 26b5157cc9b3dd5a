// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's streams in tests: a client that records, a thread that runs a loop, and pairs connected to a plain
// socket. The calling thread's own run loop is the usual one; it turns only while a test says so.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

let allEvents: CFOptionFlags = 31

extension String {
  /// A run-time string of CoreFoundation's.
  var cf: CFString {
    withCString { CFStringCreateWithCString(nil, $0, CFStringBuiltInEncodings.UTF8.rawValue) }
  }
}

/// The text of a string that a stream gave out.
func text(_ string: CFString) -> String {
  let length = CFStringGetLength(string)
  var units = [UniChar](repeating: 0, count: length)
  CFStringGetCharacters(string, CFRange(location: 0, length: length), &units)
  return String(decoding: units, as: UTF16.self)
}

func number(_ object: AnyObject?) -> Int? {
  guard let object, CFGetTypeID(object) == CFNumberGetTypeID() else { return nil }
  var value = 0
  return CFNumberGetValue(cast(object), .longType, &value) ? value : nil
}

func truth(_ object: AnyObject?) -> Bool? {
  guard let object, CFGetTypeID(object) == CFBooleanGetTypeID() else { return nil }
  return CFBooleanGetValue(cast(object))
}

private func cast<Object: AnyObject>(_ object: AnyObject) -> Object {
  Unmanaged.fromOpaque(Unmanaged.passUnretained(object).toOpaque()).takeUnretainedValue()
}

extension CFStreamError: @retroactive Equatable {
  public static func == (one: CFStreamError, other: CFStreamError) -> Bool {
    one.domain == other.domain && one.error == other.error
  }
}

/// Turns the calling thread's loop until `condition` holds.
/// - Returns: Whether it held within `seconds`.
@discardableResult
func turn(_ mode: CFRunLoopMode? = nil, within seconds: Double = 10, until condition: () -> Bool) -> Bool {
  let end = monotonicSeconds() + seconds
  while !condition() {
    if monotonicSeconds() > end { return false }
    // An empty mode returns at once; others have a thread's events to wait for, which wake the loop.
    if CFRunLoopRunInMode(mode ?? kCFRunLoopDefaultMode, 0.05, true) == .finished { sched_yield() }
  }
  return true
}

/// Lets events that are one too many come: many turns, before each of which the library's thread has had its own.
///
/// The loop never sleeps in here: with a short limit CoreFoundation may lose the wake-up that ends the sleep, where the limit
/// passes just as the loop has seen that it has not.
func settle(_ mode: CFRunLoopMode? = nil) {
  for _ in 0..<40 {
    EventBase.shared.sync {}
    CFRunLoopRunInMode(mode ?? kCFRunLoopDefaultMode, 0, false)
  }
}

/// Records what a CF client is told. Its context's functions are counted.
///
/// `@unchecked Sendable`: what changes is in `Shared`; the action is set before events can come.
final class CFClient: @unchecked Sendable {
  struct Entry: Equatable {
    var event: UInt
    var status: CFStreamStatus
    var thread: pthread_t
  }

  private let log = Shared<[Entry]>([])
  private let counts = Shared((retains: 0, releases: 0, descriptions: 0))
  private let depth = Shared((now: 0, most: 0))
  var onRead: (CFReadStream, CFStreamEventType) -> Void = { _, _ in }
  var onWrite: (CFWriteStream, CFStreamEventType) -> Void = { _, _ in }

  var entries: [Entry] { log.value }
  var events: [UInt] { entries.map(\.event) }
  var retains: Int { counts.value.retains }
  var releases: Int { counts.value.releases }
  var descriptions: Int { counts.value.descriptions }
  /// How many of its callbacks were on the stack at once.
  var mostNested: Int { depth.value.most }

  func count(_ event: CFStreamEventType) -> Int { events.count { $0 == event.rawValue } }
  func has(_ event: CFStreamEventType) -> Bool { count(event) > 0 }

  var context: CFStreamClientContext {
    var context = CFStreamClientContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.retain = { info in
      Unmanaged<CFClient>.fromOpaque(info!).takeUnretainedValue().counts.with { $0.retains += 1 }
      return UnsafeMutableRawPointer(Unmanaged<CFClient>.fromOpaque(info!).retain().toOpaque())
    }
    context.release = { info in
      let client = Unmanaged<CFClient>.fromOpaque(info!)
      client.takeUnretainedValue().counts.with { $0.releases += 1 }
      client.release()
    }
    context.copyDescription = { info in
      Unmanaged<CFClient>.fromOpaque(info!).takeUnretainedValue().counts.with { $0.descriptions += 1 }
      return .passRetained("a client".cf)
    }
    return context
  }

  @discardableResult
  func attach(to stream: CFReadStream, _ events: CFOptionFlags = allEvents) -> Bool {
    var context = context
    return CFReadStreamSetClient(stream, events, CFClient.readCallback, &context)
  }

  @discardableResult
  func attach(to stream: CFWriteStream, _ events: CFOptionFlags = allEvents) -> Bool {
    var context = context
    return CFWriteStreamSetClient(stream, events, CFClient.writeCallback, &context)
  }

  static let readCallback: CFReadStreamClientCallBack = { stream, event, info in
    let client = Unmanaged<CFClient>.fromOpaque(info!).takeUnretainedValue()
    client.told(event, CFReadStreamGetStatus(stream)) { client.onRead(stream!, event) }
  }

  static let writeCallback: CFWriteStreamClientCallBack = { stream, event, info in
    let client = Unmanaged<CFClient>.fromOpaque(info!).takeUnretainedValue()
    client.told(event, CFWriteStreamGetStatus(stream)) { client.onWrite(stream!, event) }
  }

  private func told(_ event: CFStreamEventType, _ status: CFStreamStatus, _ action: () -> Void) {
    log.with { $0.append(Entry(event: event.rawValue, status: status, thread: pthread_self())) }
    depth.with { depth in
      depth.now += 1
      depth.most = max(depth.most, depth.now)
    }
    action()
    depth.with { $0.now -= 1 }
  }
}

/// Two CF streams that are not open yet, and where they go.
struct CFPair {
  let read: CFReadStream
  let write: CFWriteStream

  init(host: String = "127.0.0.1", port: UInt16) {
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    CFStreamCreatePairWithSocketToHost(nil, host.cf, UInt32(port), &reading, &writing)
    read = reading!.takeRetainedValue()
    write = writing!.takeRetainedValue()
  }

  init(socket: Int32) {
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    CFStreamCreatePairWithSocket(nil, socket, &reading, &writing)
    read = reading!.takeRetainedValue()
    write = writing!.takeRetainedValue()
  }

  init(boundWithSize size: Int) {
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    CFStreamCreateBoundPair(nil, &reading, &writing, size)
    read = reading!.takeRetainedValue()
    write = writing!.takeRetainedValue()
  }

  /// A pair that is connected and open, and the plain socket at its other end.
  static func connected() throws -> (CFPair, RawSocket) {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    CFReadStreamOpen(pair.read)
    CFWriteStreamOpen(pair.write)
    let peer = try #require(listener.accept())
    try #require(
      eventually { CFReadStreamGetStatus(pair.read) == .open && CFWriteStreamGetStatus(pair.write) == .open })
    return (pair, peer)
  }

  /// A pair that is not open, with a listener for it.
  static func unopened() throws -> (CFPair, RawListener) {
    let listener = try RawListener()
    return (CFPair(port: listener.port), listener)
  }

  func schedule(_ mode: CFRunLoopMode? = nil) {
    CFReadStreamScheduleWithRunLoop(read, CFRunLoopGetCurrent(), mode ?? kCFRunLoopDefaultMode)
    CFWriteStreamScheduleWithRunLoop(write, CFRunLoopGetCurrent(), mode ?? kCFRunLoopDefaultMode)
  }

  func open() {
    CFReadStreamOpen(read)
    CFWriteStreamOpen(write)
  }

  func close() {
    CFReadStreamClose(read)
    CFWriteStreamClose(write)
  }
}

/// Reads at most `count` bytes; waits for one.
func read(_ stream: CFReadStream, _ count: Int = 65_536) -> (count: CFIndex, bytes: [UInt8]) {
  var room = [UInt8](repeating: 0, count: count)
  let got = CFReadStreamRead(stream, &room, count)
  return (got, Array(room.prefix(max(0, got))))
}

@discardableResult
func write(_ stream: CFWriteStream, _ bytes: [UInt8]) -> CFIndex {
  CFWriteStreamWrite(stream, bytes, bytes.count)
}

func schedule(_ stream: CFReadStream, _ mode: CFRunLoopMode? = nil) {
  CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), mode ?? kCFRunLoopDefaultMode)
}

func schedule(_ stream: CFWriteStream, _ mode: CFRunLoopMode? = nil) {
  CFWriteStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), mode ?? kCFRunLoopDefaultMode)
}

/// A thread that runs its loop until it is stopped or dropped.
///
/// `@unchecked Sendable`: the loop is set before `init` returns; its functions are for any thread.
final class LoopThread: @unchecked Sendable {
  private(set) var loop: CFRunLoop!
  private(set) var thread = pthread_t()
  private let ended: Gate

  init() {
    let running = Gate()
    let found = Shared<(CFRunLoop, pthread_t)?>(nil)
    ended = onThread {
      // A source keeps the loop from ending for want of anything to do.
      var context = CFRunLoopSourceContext()
      context.perform = { _ in }
      let source = CFRunLoopSourceCreate(nil, 0, &context)
      let loop = CFRunLoopGetCurrent()!
      CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
      found.with { $0 = (loop, pthread_self()) }
      running.open()
      CFRunLoopRun()
      CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode)
    }
    _ = running.wait(seconds: 10)
    (loop, thread) = found.value!
  }

  deinit { stop() }

  func stop() {
    while !ended.wait(seconds: 0.001) {
      CFRunLoopStop(loop)
      CFRunLoopWakeUp(loop)
    }
  }

  /// Runs `body` in a turn of the loop and waits for it.
  func sync(_ body: @escaping @Sendable () -> Void) {
    let done = Gate()
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
      body()
      done.open()
    }
    CFRunLoopWakeUp(loop)
    #expect(done.wait(seconds: 10))
  }
}
