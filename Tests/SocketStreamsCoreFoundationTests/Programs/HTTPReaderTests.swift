// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program HTTPReader against Python's http.server.

import CoreFoundation
import Foundation
import Testing

@Suite("Program: CFReadStream on a background thread", .serialized, .timeLimit(.minutes(1)))
struct HTTPReaderTests {
  /// A folder with one file, served for as long as this is kept.
  private final class Site {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let server: ServerProcess
    let port: UInt16

    init(file: Data) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try file.write(to: folder.appendingPathComponent("file"))
      (server, port) = try ServerProcess.http(folder: folder.path)
    }

    deinit {
      server.kill()
      try? FileManager.default.removeItem(at: folder)
    }
  }

  /// Nothing of the program may be left: not itself, which its contexts retain, nor a context.
  private func expectNothingLeft(_ reader: inout HTTPReader?, _ counts: ContextCounts) {
    weak let left = reader
    reader = nil
    #expect(eventually { left == nil }, "the program is still there")
    #expect(counts.areBalanced)
  }

  // S3, S63, S78, S79, S90
  @Test("it gets the whole file in events on its own thread, and its loop stops at the end")
  func wholeFile() throws {
    let file = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) })
    let site = try Site(file: file)
    let counts = ContextCounts()
    var reader: HTTPReader? = HTTPReader(host: "localhost", port: site.port, path: "/file", counts: counts)
    reader?.start()
    try #require(reader?.waitForEnd() == true)
    #expect(reader?.status == 200 && reader?.isWhole == true, "\(reader?.head ?? "")")
    let isSame = reader?.body == Array(file)
    #expect(isSame)
    #expect(reader?.error.domain == 0)
    #expect(reader?.readEvents.first == .openCompleted && reader?.readEvents.last == .endEncountered)
    #expect(reader?.readEvents.dropFirst().dropLast().allSatisfy { $0 == .hasBytesAvailable } == true)
    #expect(reader?.writeEvents.first == .openCompleted && reader?.writeEvents.last == .canAcceptBytes)
    #expect(reader?.callsOnOtherThreads == 0)
    expectNothingLeft(&reader, counts)
  }

  // S3, S42, S51, S176
  @Test("a refused port is one error event, after an open that said yes, and its loop stops")
  func refused() throws {
    let refused = try RefusedPort()
    let counts = ContextCounts()
    var reader: HTTPReader? = HTTPReader(host: "127.0.0.1", port: refused.port, path: nil, counts: counts)
    reader?.start()
    try #require(reader?.waitForEnd() == true)
    #expect(reader?.answersOfOpen == [true])
    #expect(reader?.readEvents == [.errorOccurred])
    #expect(reader?.error.domain == 1 && reader?.error.error == ECONNREFUSED)
    #expect(reader?.callsOnOtherThreads == 0)
    expectNothingLeft(&reader, counts)
  }

  // S40, S173: whether the second stream is opened before the connection fails is a matter of time.
  @Test("a refused port is an error of both streams, by event or by the second open's answer")
  func refusedPair() throws {
    let refused = try RefusedPort()
    let counts = ContextCounts()
    var reader: HTTPReader? = HTTPReader(host: "127.0.0.1", port: refused.port, path: "/", counts: counts)
    reader?.start()
    try #require(reader?.waitForEnd() == true)
    #expect(reader?.answersOfOpen.first == true)
    #expect(reader?.error.domain == 1 && reader?.error.error == ECONNREFUSED)
    let events = (reader?.readEvents ?? []) + (reader?.writeEvents ?? [])
    #expect(events.isEmpty == (reader?.answersOfOpen == [true, false]), "\(events)")
    #expect(events.allSatisfy { $0 == .errorOccurred }, "\(events)")
    expectNothingLeft(&reader, counts)
  }

  // S90, S94, S126
  @Test("a server that is killed in the middle ends it, with what had come, and never as a whole file")
  func killed() throws {
    // More than the kernel holds for both ends, so that most of it is still the server's when it dies.
    let site = try Site(file: Data(count: 64 << 20))
    let counts = ContextCounts()
    var reader: HTTPReader? = HTTPReader(host: "127.0.0.1", port: site.port, path: "/file", counts: counts)
    reader?.firstBytes = { site.server.kill() }
    reader?.start()
    try #require(reader?.waitForEnd() == true)
    let last = reader?.readEvents.last
    #expect(last == .endEncountered || last == .errorOccurred)
    #expect(last == .endEncountered || reader?.error.error == ECONNRESET)
    #expect(reader?.readEvents.count { $0 == .endEncountered || $0 == .errorOccurred } == 1)
    #expect(reader?.status == 200 && reader?.isWhole == false)
    reader?.firstBytes = {}
    expectNothingLeft(&reader, counts)
  }
}
