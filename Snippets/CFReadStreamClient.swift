// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's own read stream with a client context, on the run loop of a thread: CFReadStreamClient host port

import Foundation
import SocketStreamsCoreFoundation

#if canImport(CFNetwork)
import CFNetwork
#endif

extension String {
  /// What `self as CFString` is on Apple's platforms.
  var cfString: CFString { CFStringCreateWithCString(nil, self, CFStringBuiltInEncodings.UTF8.rawValue) }
}

final class Download {
  var bytes: [UInt8] = []
}

/// Called by the run loop, with one event a call.
func downloadEvent(_ stream: CFReadStream?, _ event: CFStreamEventType, _ info: UnsafeMutableRawPointer?) {
  guard let stream, let info else { return }
  let download = Unmanaged<Download>.fromOpaque(info).takeUnretainedValue()
  switch event {
  case .hasBytesAvailable:
    var room = [UInt8](repeating: 0, count: 4096)
    let count = CFReadStreamRead(stream, &room, room.count)
    if count > 0 { download.bytes += room.prefix(count) }
  default:
    let error = CFReadStreamGetError(stream)
    print("\(download.bytes.count) bytes, then status \(CFReadStreamGetStatus(stream).rawValue)")
    if event == .errorOccurred { print("domain \(error.domain), code \(error.error)") }
    CFReadStreamClose(stream)
    CFRunLoopStop(CFRunLoopGetCurrent())
  }
}

func download(from host: String, port: UInt32) {
  var reading: Unmanaged<CFReadStream>?
  CFStreamCreatePairWithSocketToHost(nil, host.cfString, port, &reading, nil)
  guard let stream = reading?.takeRetainedValue() else { return }

  let download = Download()
  var context = CFStreamClientContext()
  context.info = Unmanaged.passUnretained(download).toOpaque()
  context.retain = { info in
    UnsafeMutableRawPointer(Unmanaged<Download>.fromOpaque(info!).retain().toOpaque())
  }
  context.release = { info in Unmanaged<Download>.fromOpaque(info!).release() }

  let events: CFStreamEventType = [.hasBytesAvailable, .endEncountered, .errorOccurred]
  CFReadStreamSetClient(stream, events.rawValue, downloadEvent, &context)
  CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
  setLimits(stream)
  if CFReadStreamOpen(stream) { CFRunLoopRun() }
}

func setLimits(_ stream: CFReadStream) {
  let seconds = unsafeBitCast(NSNumber(value: 10), to: CFNumber.self)
  _ = CFReadStreamSetProperty(stream, kSocketStreamsConnectTimeout, seconds)
  _ = CFReadStreamSetProperty(stream, kSocketStreamsReadTimeout, seconds)
}

/// The descriptor, once there is one.
func descriptor(of stream: CFReadStream) -> Int32? {
  let property = CFReadStreamCopyProperty(stream, kCFStreamPropertySocketNativeHandle)
  guard let data = property as? NSData, data.length == 4 else { return nil }
  return data.bytes.loadUnaligned(as: Int32.self)
}

/// Sends what is left and says that no more comes; the peer may go on sending.
func finish(_ stream: CFWriteStream) {
  _ = CFWriteStreamSetProperty(stream, kSocketStreamsHalfClose, kCFBooleanTrue)
  CFWriteStreamClose(stream)
}

let arguments = CommandLine.arguments.dropFirst()
if let host = arguments.first, let port = arguments.dropFirst().first.flatMap({ UInt32($0) }) {
  let thread = Thread {
    download(from: host, port: port); exit(0)
  }
  thread.start()
  RunLoop.main.run()
}
