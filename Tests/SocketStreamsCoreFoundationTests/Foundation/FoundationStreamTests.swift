// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation's socket streams without a delegate: making, status, reading and writing, errors; and Foundation's own streams
// beside them.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct FoundationStreamTests {
  // S2, S12, S13
  @Test(arguments: [("", 80), ("localhost", 65_536), ("localhost", -1), ("localhost", 0)])
  func badAddressesMakeNoStreams(_ host: String, _ port: Int) {
    var input: InputStream? = InputStream(data: Data())
    var output: OutputStream?
    Stream.getStreamsToHost(withName: host, port: port, inputStream: &input, outputStream: &output)
    #expect(input == nil)
    #expect(output == nil)
  }

  // S3
  @Test func aHalfMayBeDeclined() throws {
    let listener = try RawListener()
    var output: OutputStream?
    Stream.getStreamsToHost(
      withName: "127.0.0.1", port: Int(listener.port), inputStream: nil, outputStream: &output)
    Stream.getStreamsToHost(
      withName: "127.0.0.1", port: Int(listener.port), inputStream: nil, outputStream: nil)
    let stream = try #require(output)
    stream.open()
    let peer = try #require(listener.accept())
    #expect(writeAll(stream, [1]))
    stream.close()
    #expect(peer.receiveAll() == [1])
  }

  // S24, S25, S30, S33, S218
  @Test func theStatusFollowsTheLife() throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    #expect(pair.input.streamStatus == .notOpen)
    #expect(pair.input.streamError == nil)
    #expect(!pair.input.hasBytesAvailable && !pair.output.hasSpaceAvailable)
    #expect(read(pair.input) == nil)
    pair.open()
    #expect(eventually { pair.input.streamStatus == .open && pair.output.streamStatus == .open })
    pair.input.close()
    #expect(pair.input.streamStatus == .closed)
    #expect(pair.output.streamStatus == .open)
    pair.input.open()
    #expect(pair.input.streamStatus == .closed)
  }

  // S218, S44, S46: no run loop turns.
  @Test func pollingAndBlockingNeedNoLoop() throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    pair.open()
    let echo = onThread {
      guard let peer = listener.accept() else { return }
      peer.send(peer.receive(5))
      peer.shutdownWrite()
    }
    #expect(writeAll(pair.output, Array("hello".utf8)), "waits for the opening")
    #expect(read(pair.input, 1) == Array("h".utf8))
    #expect(eventually { pair.input.hasBytesAvailable })
    #expect(readAll(pair.input) == Array("ello".utf8))
    #expect(pair.input.streamStatus == .atEnd)
    #expect(read(pair.input) == [])
    #expect(!pair.input.hasBytesAvailable)
    #expect(pair.output.hasSpaceAvailable)
    #expect(echo.wait(seconds: 10))
  }

  // S131, S132, S218
  @Test func getBufferLendsWhatIsThere() throws {
    let (pair, peer) = try FoundationPair.connected()
    var bytes: UnsafeMutablePointer<UInt8>?
    var count = 7
    #expect(eventually { pair.input.streamStatus == .open })
    #expect(!pair.input.getBuffer(&bytes, length: &count))
    #expect(count == 0)
    peer.send([1, 2, 3])
    #expect(eventually { pair.input.hasBytesAvailable })
    #expect(pair.input.getBuffer(&bytes, length: &count))
    #expect(Array(UnsafeBufferPointer(start: bytes, count: count)) == [1, 2, 3])
    #expect(!pair.input.hasBytesAvailable)
    pair.input.close()
    #expect(!pair.input.getBuffer(&bytes, length: &count))
    #expect(count == 0)
  }

  // S165, S174, S218
  @Test func aRefusedConnectionIsAPOSIXError() throws {
    let refused = try RefusedPort()
    let pair = try FoundationPair(port: refused.port)
    pair.open()
    #expect(eventually { pair.input.streamStatus == .error })
    let error = try #require(pair.input.streamError as? NSError)
    #expect(error.domain == NSPOSIXErrorDomain)
    #expect(error.code == Int(ECONNREFUSED))
    #expect(error.localizedDescription.hasPrefix("connect: "))
    #expect(read(pair.input) == nil)
    pair.input.close()
    #expect(pair.input.streamStatus == .error)
    #expect((pair.input.streamError as? NSError) == error)
  }

  // S167
  @Test func aFailedLookupHasTheResolversCode() throws {
    let pair = try FoundationPair(host: "name.invalid", port: 80)
    pair.input.open()
    #expect(eventually(within: 30) { pair.input.streamStatus == .error })
    let error = try #require(pair.input.streamError as? NSError)
    #expect(error.domain == "kCFErrorDomainCFNetwork")
    #expect(error.code == 2)
    #expect(error.userInfo["kCFGetAddrInfoFailureKey"] is NSNumber)
  }

  // S138, S218: the writer waits for room, and hears of the end of the reader.
  @Test func boundStreamsCarryBytesAndTheEnd() throws {
    let pair = try FoundationPair(boundWithSize: 16)
    pair.open()
    let sent = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    let handed = Handed(pair.output)
    let writer = onThread {
      writeAll(handed.value, sent)
      handed.value.close()
    }
    #expect(readAll(pair.input) == sent)
    #expect(pair.input.streamStatus == .atEnd)
    #expect(writer.wait(seconds: 10))
    #expect(pair.output.streamStatus == .closed)
  }

  // S215
  @Test func boundStreamsTellTheirDelegates() throws {
    let pair = try FoundationPair(boundWithSize: 0)
    let reader = Recorder(), writer = Recorder()
    let bytes = Shared<[UInt8]>([])
    reader.action = { stream, event in
      if event == .hasBytesAvailable, let input = stream as? InputStream {
        let got = read(input) ?? []
        bytes.with { $0 += got }
      }
    }
    writer.action = { stream, event in
      guard event == .hasSpaceAvailable, let output = stream as? OutputStream else { return }
      writeAll(output, [1, 2, 3])
      output.close()
    }
    pair.input.delegate = reader
    pair.output.delegate = writer
    pair.input.schedule(in: .current, forMode: .default)
    pair.output.schedule(in: .current, forMode: .default)
    pair.open()
    #expect(turn { reader.has(.endEncountered) })
    #expect(bytes.value == [1, 2, 3])
    #expect(writer.events == [1, 4])
    #expect(reader.events == [1, 2, 16])
  }

  // S7
  @Test func aStreamOfCoreFoundationGetsAFoundationFace() throws {
    let (pair, peer) = try CFPair.connected()
    let input = SocketInputStream(pair.read), output = SocketOutputStream(pair.write)
    #expect(input.cfReadStream === pair.read)
    #expect(output.cfWriteStream === pair.write)
    #expect(input.streamStatus == .open, "opened before")
    let recorder = Recorder()
    input.delegate = recorder
    input.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(recorder.events == [1, 2])
  }

  // S215: CoreFoundation's own streams deliver to a delegate too, once they have this face.
  @Test func aStreamOfMemoryHasADelegate() {
    let bytes: [UInt8] = [1, 2, 3]
    let stream = SocketInputStream(CFReadStreamCreateWithBytesNoCopy(nil, bytes, 3, kCFAllocatorNull))
    let recorder = Recorder()
    recorder.action = { stream, event in
      if event == .hasBytesAvailable, let input = stream as? InputStream {
        #expect(read(input) == [1, 2, 3])
      }
    }
    stream.delegate = recorder
    stream.schedule(in: .current, forMode: .default)
    stream.open()
    withExtendedLifetime(bytes) { _ = turn { recorder.has(.endEncountered) } }
    #expect(recorder.events == [1, 2, 16])
  }

  @Test func anOutputStreamToMemoryKeepsWhatIsWritten() {
    let stream = SocketOutputStream.toMemory()
    stream.open()
    #expect(writeAll(stream, [1, 2, 3]))
    #expect(stream.property(forKey: .dataWrittenToMemoryStreamKey) as? Data == Data([1, 2, 3]))
    stream.close()
  }

  // S218: Foundation's own streams behave as without this module.
  @Test func streamsOfFilesAndMemoryAreFoundationsOwn() throws {
    let directory = try SocketDirectory()
    let path = directory.file("file")
    let output = try #require(OutputStream(toFileAtPath: path, append: false))
    output.open()
    #expect(writeAll(output, Array("hello".utf8)))
    output.close()
    let input = try #require(InputStream(fileAtPath: path))
    #expect(input.streamStatus == .notOpen)
    input.open()
    #expect(readAll(input) == Array("hello".utf8))
    #expect(input.streamStatus == .atEnd)
    #expect(input.setProperty(NSNumber(value: 1), forKey: .fileCurrentOffsetKey))
    input.close()
    let memory = InputStream(data: Data([1, 2]))
    memory.open()
    #expect(memory.hasBytesAvailable)
    #expect(readAll(memory) == [1, 2])
    #expect(!(memory is SocketInputStream))
    let missing = try #require(InputStream(fileAtPath: path + "-missing"))
    missing.open()
    #expect(missing.streamStatus == .error)
  }
}
