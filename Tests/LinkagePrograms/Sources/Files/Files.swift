// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Streams of files and of memory, CoreFoundation's and Foundation's: what they say is printed. Knows nothing of this package.

import CoreFoundation
import Foundation

/// Prints what the streams say, which is the same whatever else is in the program.
/// - Parameter path: A file that may be written, and that is not there yet.
public func printFileStreams(_ path: String) {
  let url = CFURLCreateWithFileSystemPath(nil, string(path), .cfurlposixPathStyle, false)!
  write(CFWriteStreamCreateWithFile(nil, url), "to a file")
  write(CFWriteStreamCreateWithAllocatedBuffers(nil, nil), "to memory")
  read(CFReadStreamCreateWithFile(nil, url))
  let bytes = Array("bytes".utf8)
  bytes.withUnsafeBufferPointer { bytes in
    read(CFReadStreamCreateWithBytesNoCopy(nil, bytes.baseAddress, bytes.count, kCFAllocatorNull))
  }
  let nowhere = CFURLCreateWithFileSystemPath(nil, string(path + "/none"), .cfurlposixPathStyle, false)!
  read(CFReadStreamCreateWithFile(nil, nowhere))
  events(of: CFReadStreamCreateWithFile(nil, url))
  printStreamsOfFoundation(path)
}

private func string(_ text: String) -> CFString {
  CFStringCreateWithCString(nil, text, CFStringBuiltInEncodings.UTF8.rawValue)
}

private func write(_ stream: CFWriteStream, _ text: String) {
  print("write", CFWriteStreamGetStatus(stream).rawValue, CFWriteStreamOpen(stream))
  print(CFWriteStreamCanAcceptBytes(stream), CFWriteStreamWrite(stream, Array(text.utf8), text.utf8.count))
  let written = CFWriteStreamCopyProperty(stream, kCFStreamPropertyDataWritten)
  print("written", (written as? NSData)?.length as Any)
  CFWriteStreamClose(stream)
  let error = CFWriteStreamGetError(stream)
  print(CFWriteStreamGetStatus(stream).rawValue, error.domain, error.error)
}

private func read(_ stream: CFReadStream) {
  print("read", CFReadStreamGetStatus(stream).rawValue, CFReadStreamOpen(stream))
  var room = [UInt8](repeating: 0, count: 20)
  print(CFReadStreamHasBytesAvailable(stream), CFReadStreamRead(stream, &room, 3), room.prefix(3))
  print("offset", CFReadStreamCopyProperty(stream, kCFStreamPropertyFileCurrentOffset) != nil)
  print(CFReadStreamSetProperty(stream, string("unknown"), nil), CFReadStreamRead(stream, &room, 20))
  print(CFReadStreamRead(stream, &room, 20), CFReadStreamGetStatus(stream).rawValue)
  let error = CFReadStreamGetError(stream)
  print("error", error.domain, error.error)
  CFReadStreamCopyError(stream).map(printError)
  CFReadStreamClose(stream)
  print(CFReadStreamGetStatus(stream).rawValue)
}

/// The texts too, which come from the user info or from whoever knows the domain.
private func printError(_ error: CFError) {
  print("domain", text(CFErrorGetDomain(error)), "code", CFErrorGetCode(error))
  print("description", text(CFErrorCopyDescription(error)))
  print("reason", text(CFErrorCopyFailureReason(error)))
  let information = CFErrorCopyUserInfo(error) as AnyObject as? [String: Any] ?? [:]
  for (key, value) in information.sorted(by: { $0.key < $1.key }) { print("user info", key, value) }
  print("entries", information.count)
}

private func text(_ string: CFString?) -> String { string.map { "\($0)" } ?? "none" }

/// The client is called by the run loop for each part that it reads.
private func events(of stream: CFReadStream) {
  var context = CFStreamClientContext()
  let wanted: CFStreamEventType = [.openCompleted, .hasBytesAvailable, .endEncountered, .errorOccurred]
  let isSet = CFReadStreamSetClient(
    stream, wanted.rawValue,
    { stream, event, _ in
      var room = [UInt8](repeating: 0, count: 4)
      print("event", event.rawValue)
      if event == .hasBytesAvailable { print(CFReadStreamRead(stream, &room, room.count)) }
      if event == .endEncountered { CFRunLoopStop(CFRunLoopGetCurrent()) }
    }, &context)
  CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
  print("client", isSet, CFReadStreamOpen(stream))
  print("run", CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, false).rawValue)
  CFReadStreamClose(stream)
}

private func printStreamsOfFoundation(_ path: String) {
  let output = OutputStream(toFileAtPath: path, append: true)!
  output.open()
  print(output.write([1, 2, 3], maxLength: 3), output.hasSpaceAvailable, output.streamStatus.rawValue)
  output.close()
  for input in [InputStream(fileAtPath: path)!, InputStream(data: Data("data".utf8))] {
    var room = [UInt8](repeating: 0, count: 100)
    input.open()
    print(input.hasBytesAvailable, input.read(&room, maxLength: 100), input.streamStatus.rawValue)
    print(input.read(&room, maxLength: 100), input.streamStatus.rawValue)
    input.close()
  }
  let none = InputStream(fileAtPath: path + "/none")!
  none.open()
  let error = none.streamError as NSError?
  print(none.streamStatus.rawValue, error?.domain ?? "", none.hasBytesAvailable)
  print(error?.localizedDescription ?? "none")
}
