// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of Foundation's streams that were found, each with what it did.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct FoundationRegressionTests {
  // S128, S143. A read or write of no bytes, by a delegate that took over while bytes or room were being told, cancelled what
  // that delegate was still to be told: it never heard of them.
  @Test(arguments: [false, true])
  func aCallForNoBytesConsumesNoEvent(writing: Bool) throws {
    let (pair, peer) = try FoundationPair.connected()
    let data: Stream.Event = writing ? .hasSpaceAvailable : .hasBytesAvailable
    let stream: Stream = writing ? pair.output : pair.input
    let first = Recorder(), second = Recorder()
    first.action = { stream, event in
      guard event == data else { return }
      stream.delegate = second
      // A nested loop finds out that the other one is owed the same.
      settle()
      var byte: UInt8 = 0
      if let input = stream as? InputStream { #expect(input.read(&byte, maxLength: 0) == 0) }
      if let output = stream as? OutputStream { #expect(output.write(&byte, maxLength: 0) == -1) }
    }
    stream.delegate = first
    stream.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { second.has(data) })
    pair.close()
  }

  // S178. An object of Swift's that is none of Foundation's ended the process, where CoreFoundation asked for its type.
  @Test func aPropertyMayBeSetToAnyObject() async {
    await #expect(processExitsWith: .success) {
      let (pair, _) = try FoundationPair.connected()
      for key in ["SocketStreamsReadTimeout", Stream.PropertyKey.socketSecurityLevelKey.rawValue] {
        let key = Stream.PropertyKey(rawValue: key)
        #expect(!pair.input.setProperty(Recorder(), forKey: key))
        #expect(!pair.output.setProperty(Recorder() as Any, forKey: key))
        #expect(!pair.input.setProperty([Recorder()], forKey: key))
        #expect(!pair.input.setProperty(["key": Recorder()], forKey: key))
      }
      pair.close()
    }
  }
}
