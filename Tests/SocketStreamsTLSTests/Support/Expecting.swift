// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Expecting errors, and what the system's programs say.

#if TLS

import Glibc
import SocketStreams
import Testing

/// Expects an error of `code`, with `detail` in its details.
func expectFault<Result>(
  _ detail: String, code: StreamError.TLS = .badCertificate, operation: String? = nil,
  at location: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
  let error = #expect(throws: StreamError.self, sourceLocation: location) { _ = try body() }
  guard let error else { return }
  #expect(error.tls == code, "\(error)", sourceLocation: location)
  #expect(error.detail.contains(detail), "\(error)", sourceLocation: location)
  if let operation { #expect(error.operation == operation, sourceLocation: location) }
}

/// What a command of the shell prints.
func shell(_ command: String) throws -> String {
  let pipe = try #require(popen(command, "re"))
  defer { pclose(pipe) }
  var text: [UInt8] = []
  while case let byte = fgetc(pipe), byte != EOF { text.append(UInt8(byte)) }
  return String(decoding: text, as: UTF8.self)
}

extension TemporaryFolder {
  /// Writes a file, and returns its path.
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try TextFile.write(bytes, to: file(name))
    return file(name)
  }
}

#endif
