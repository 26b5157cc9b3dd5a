// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Socket addresses as text")
struct SocketAddressTests {
  // A2, S11
  @Test(
    "a numeric address is read and printed in its canonical form",
    arguments: [
      ("127.0.0.1", "127.0.0.1", "127.0.0.1:80"),
      ("0.0.0.0", "0.0.0.0", "0.0.0.0:80"),
      ("255.255.255.255", "255.255.255.255", "255.255.255.255:80"),
      ("::1", "::1", "[::1]:80"),
      ("[::1]", "::1", "[::1]:80"),
      ("::", "::", "[::]:80"),
      ("2001:DB8:0:0:0:0:0:1", "2001:db8::1", "[2001:db8::1]:80"),
      ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]:80"),
      ("fe80::1%2", "fe80::1%2", "[fe80::1%2]:80"),
      ("[fe80::1%2]", "fe80::1%2", "[fe80::1%2]:80"),
      ("fe80::1%0", "fe80::1", "[fe80::1]:80"),
      ("fe80::1%4294967295", "fe80::1%4294967295", "[fe80::1%4294967295]:80"),
      ("2001:db8::1%7", "2001:db8::1%7", "[2001:db8::1%7]:80"),
    ])
  func numeric(text: String, ip: String, description: String) throws {
    let address = try #require(SocketAddress(ip: text, port: 80))
    #expect(address.ip == ip)
    #expect(address.port == 80)
    #expect(address.description == description)
    #expect(address.unixPath == nil && !address.isUnix)
    #expect(address.family == (text.contains(":") ? .ipv6 : .ipv4))
    #expect(SocketAddress(ip: ip, port: 80) == address)
  }

  // A2
  @Test("the scope of an address may be an interface's name")
  func scopeName() throws {
    let number = if_nametoindex("lo")
    let address = try #require(SocketAddress(ip: "fe80::1%lo", port: 1))
    #expect(address.ip == "fe80::1%\(number)")
    #expect(SocketAddress(ip: "[::1%lo]", port: 1)?.ip == "::1%\(number)")
    #expect(SocketAddress(ip: "ff02::1%lo", port: 1)?.ip == "ff02::1%\(number)")
  }

  @Test(
    "what is not a numeric address is refused",
    arguments: [
      "", " ", "localhost", "1", "127.1", "127.0.0", "127.0.0.1.", "127.0.0.256", "127.0.0.01", "0x7f.0.0.1",
      "127.0.0.1 ", " 127.0.0.1", "127.0.0.1\0", "127.0.0.1\0.evil", "\0", "127.0.0.1:80", "127.0.0.1%lo",
      "[127.0.0.1]",
      "[]", "[", "]", "[::1", "::1]", "[[::1]]", "[::1]:80", ":", ":::", "1::2::3", "12345::", "::g", "::1%",

      "fe80::1%no-such-if", "fe80::1%4294967296", "fe80::1%-1", "fe80::1%1%2",
      "fe80::1%lo\0", "é",
      "１２７.0.0.1", "::１",
    ])
  func notNumeric(text: String) {
    #expect(SocketAddress(ip: text, port: 80) == nil)
  }

  @Test("a port is kept whole", arguments: [0, 1, 255, 256, 8080, 65_535] as [UInt16])
  func ports(port: UInt16) throws {
    for ip in ["127.0.0.1", "::1"] {
      let address = try #require(SocketAddress(ip: ip, port: port))
      #expect(address.port == port)
      #expect(address.nativeBytes[2] == UInt8(port >> 8) && address.nativeBytes[3] == UInt8(port & 255))
    }
  }

  // A11, report 67
  @Test("a path of up to 107 bytes is kept, whatever its letters")
  func unixPaths() throws {
    for path in [
      "/tmp/x", "relative", "a", "/tmp/größe/日本", String(repeating: "p", count: 107), "@not-abstract",
    ] {
      let address = try SocketAddress(unixPath: path)
      #expect(address.unixPath == path)
      #expect(address.description == "unix:\(path)")
      #expect(address.isUnix && address.family == .unix)
      #expect(address.ip == nil && address.port == nil)
    }
  }

  // Report 67
  @Test("a path of 108 bytes is too long, counted in bytes and not in letters")
  func longPaths() {
    let tooLong = StreamError.posix(ENAMETOOLONG, "unix path")
    #expect(throws: tooLong) { try SocketAddress(unixPath: String(repeating: "p", count: 108)) }
    #expect(throws: tooLong) { try SocketAddress(unixPath: String(repeating: "é", count: 54)) }
    #expect(throws: Never.self) { try SocketAddress(unixPath: String(repeating: "é", count: 53)) }
    #expect(throws: tooLong) { try SocketAddress(unixPath: String(repeating: "p", count: 100_000)) }
  }

  // Report 67
  @Test(
    "a path that is empty or has a zero byte is refused",
    arguments: ["", "\0", "\0abstract", "/tmp/a\0b", "/tmp/a\0"])
  func impossiblePaths(path: String) {
    #expect(throws: StreamError.posix(EINVAL, "unix path")) { try SocketAddress(unixPath: path) }
  }

  // A3, S15, S16
  @Test("an address survives the way to the kernel's form and back")
  func nativeForm() throws {
    var addresses = try ["/tmp/x", String(repeating: "p", count: 107)].map { try SocketAddress(unixPath: $0) }
    addresses += ["127.0.0.1", "::1", "fe80::1%3", "2001:db8::ff00:42:8329"].map {
      SocketAddress(ip: $0, port: 4242)!
    }
    for address in addresses {
      #expect(SocketAddress(native: address.nativeBytes.span.bytes) == address)
    }
    #expect(addresses[0].nativeBytes == [1, 0] + Array("/tmp/x".utf8) + [0])
    #expect(addresses[1].nativeBytes.count == 110)
    #expect(addresses[2].nativeBytes == [2, 0, 16, 146, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test("a Unix name is read to its closing zero, or to its length")
  func nativeUnixNames() {
    func read(_ bytes: [UInt8]) -> SocketAddress? { SocketAddress(native: bytes.span.bytes) }
    #expect(read([1, 0])?.description == "unix:")
    #expect(read([1, 0])?.unixPath == nil)
    #expect(read([1, 0, 97, 98])?.unixPath == "ab")
    #expect(read([1, 0, 97, 0, 98, 0])?.unixPath == "a")
    #expect(read([1, 0, 0, 97, 98])?.description == "unix:@ab")
    #expect(read([1, 0, 0, 97, 98])?.unixPath == nil)
    #expect(read([1, 0, 0, 97, 98])?.nativeBytes == [1, 0, 0, 97, 98])
    #expect(read([1, 0] + [UInt8](repeating: 112, count: 108))?.unixPath?.utf8.count == 108)
    #expect(read([1, 0] + [UInt8](repeating: 112, count: 200))?.unixPath?.utf8.count == 108)
    #expect(read([1, 0] + [UInt8](repeating: 112, count: 200))?.nativeBytes.count == 110)
  }

  @Test("bytes that are too few or of another family are no address")
  func notNative() {
    func read(_ bytes: [UInt8]) -> SocketAddress? { SocketAddress(native: bytes.span.bytes) }
    #expect(read([]) == nil && read([2]) == nil)
    #expect(read([2, 0, 0, 80, 127, 0, 0, 1]) == nil)
    #expect(read([10, 0] + [UInt8](repeating: 0, count: 25)) == nil)
    #expect(read([10, 0] + [UInt8](repeating: 0, count: 26))?.description == "[::]:0")
    #expect(read([16, 0] + [UInt8](repeating: 0, count: 40)) == nil)
  }
}
