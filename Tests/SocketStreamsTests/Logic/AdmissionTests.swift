// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which connections a listener takes, without a socket.
import Testing

@testable import SocketStreams

@Suite("Admission of connections")
struct AdmissionTests {
  private static func peer(_ ip: String, _ port: UInt16 = 1) -> SocketAddress {
    SocketAddress(ip: ip, port: port)!
  }

  // C8
  @Test("without limits everything is taken, and counted")
  func unlimited() {
    var admission = Admission<Int>(ConnectionLimits())
    for id in 0..<1_000 {
      #expect(admission.hasRoom && admission.admits(Self.peer("192.0.2.1")))
      admission.accepted(id, from: Self.peer("192.0.2.1"))
    }
    #expect(admission.count == 1_000)
    for id in 0..<999 { admission.ended(id) }
    #expect(admission.count == 1)
  }

  // C8
  @Test("there is room up to the limit in all, and again with each end", arguments: [1, 3])
  func total(limit: Int) {
    var admission = Admission<Int>(ConnectionLimits(total: limit))
    for id in 0..<limit {
      #expect(admission.hasRoom)
      admission.accepted(id, from: Self.peer("192.0.2.1"))
    }
    #expect(!admission.hasRoom)
    admission.ended(0)
    #expect(admission.hasRoom)
    admission.ended(0)
    admission.ended(77)
    admission.accepted(99, from: Self.peer("192.0.2.1"))
    #expect(!admission.hasRoom, "an end counts once, and only for who was there")
  }

  // C8
  @Test("each address has its own limit, whatever the ports; the other version of IP is another address")
  func perPeer() {
    var admission = Admission<Int>(ConnectionLimits(perPeer: 2))
    let (first, second, six) = ("192.0.2.1", "192.0.2.2", "2001:db8::1")
    for (id, ip) in [first, second, six, first].enumerated() {
      #expect(admission.admits(Self.peer(ip, UInt16(id + 1))))
      admission.accepted(id, from: Self.peer(ip, UInt16(id + 1)))
    }
    #expect(!admission.admits(Self.peer(first, 9)))
    #expect(admission.admits(Self.peer(second)) && admission.admits(Self.peer(six)))
    #expect(admission.admits(Self.peer("fe80::1%1")) && admission.hasRoom)
    admission.ended(1)
    #expect(!admission.admits(Self.peer(first)), "another's end")
    admission.ended(3)
    #expect(admission.admits(Self.peer(first)))
    admission.ended(3)
    admission.accepted(4, from: Self.peer(first))
    #expect(!admission.admits(Self.peer(first)), "an end counts once")
  }

  // C8
  @Test("peers on a Unix socket have no address, and are not limited by it")
  func unix() {
    var admission = Admission<Int>(ConnectionLimits(perPeer: 1))
    for id in 0..<3 {
      #expect(admission.admits(SocketAddress(.unix([]))))
      admission.accepted(id, from: SocketAddress(.unix([])))
    }
    #expect(admission.count == 3)
  }

  // C15
  @Test("those that are cut count no more, and their ends change nothing")
  func cut() {
    var admission = Admission<Int>(ConnectionLimits(total: 2, perPeer: 1))
    admission.accepted(1, from: Self.peer("192.0.2.1"))
    admission.accepted(2, from: Self.peer("192.0.2.2"))
    #expect(admission.cut() == [1, 2])
    #expect(admission.count == 0 && admission.hasRoom && admission.admits(Self.peer("192.0.2.1")))
    admission.accepted(3, from: Self.peer("192.0.2.1"))
    admission.ended(1)
    #expect(admission.count == 1 && !admission.admits(Self.peer("192.0.2.1")))
    #expect(admission.cut() == [3])
  }
}
