// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

final class Log { var events: [UInt] = []; var data: [UInt8] = [] }

@Suite struct Smoke {
  @Test func echo() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    listener.schedule(on: base) { pair, _ in
      pair.input.setClient(.all) { s, e in
        if e == .hasBytesAvailable { s.withAvailableBytes { b in _ = try! pair.output.write(b); return b.byteCount } }
        if e == .endEncountered { pair.close() }
      }
      pair.schedule(on: base); pair.open()
    }
    var r: Unmanaged<CFReadStream>?
    var w: Unmanaged<CFWriteStream>?
    let port = listener.localAddress.port!
    CFStreamCreatePairWithSocketToHost(nil, CFStringCreateWithCString(nil, "127.0.0.1", 0x0800_0100), UInt32(port), &r, &w)
    let input = r!.takeRetainedValue(), output = w!.takeRetainedValue()
    let log = Log()
    var context = CFStreamClientContext()
    context.info = Unmanaged.passUnretained(log).toOpaque()
    CFReadStreamSetClient(input, 31, { s, e, info in
      let log = Unmanaged<Log>.fromOpaque(info!).takeUnretainedValue()
      log.events.append(e.rawValue)
      if e == .hasBytesAvailable {
        var b = [UInt8](repeating: 0, count: 100)
        let n = CFReadStreamRead(s, &b, 100)
        log.data += b[0..<max(0, n)]
      }
    }, &context)
    CFReadStreamScheduleWithRunLoop(input, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
    #expect(CFReadStreamOpen(input))
    #expect(CFWriteStreamOpen(output))
    #expect(CFWriteStreamWrite(output, Array("hello".utf8), 5) == 5)
    let end = Date() + 5
    while log.data.count < 5, Date() < end { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, true) }
    #expect(String(decoding: log.data, as: UTF8.self) == "hello")
    #expect(log.events == [1, 2])
    #expect(CFReadStreamGetStatus(input) == .open)
    CFWriteStreamClose(output); CFReadStreamClose(input)
    #expect(CFReadStreamGetStatus(input) == .closed)
  }
}
