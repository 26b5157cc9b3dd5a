// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What secures the connections of every command: one place makes TLS settings of what was asked for, and gives them to
// pairs.

import SocketStreams

#if TLS
import SocketStreamsTLS
#endif

/// How connections are secured.
struct Security: Sendable {
  /// What is said in plain before; `nil` if connections are secured from the first byte.
  let dialogue: PlainDialogue?
  /// What was asked for.
  let request: SecurityRequest
  #if TLS
  private let settings: TLSSettings

  /// Reads the files.
  /// - Parameter timeout: The longest time for a handshake; `nil` for the library's own.
  /// - Throws: Which file cannot be used, and why.
  init(_ request: SecurityRequest, timeout: Duration?) throws(Failure) {
    self.request = request
    dialogue = request.startLines.isEmpty ? nil : PlainDialogue(request.startLines)
    let identity = try request.certificate.map { (path) throws(Failure) in
      try Self.identity(path, request.key)
    }
    var settings: TLSSettings
    if request.isServer, let identity {
      settings = .server(identity)
    } else {
      settings = .client(peerName: request.name)
      settings.identity = identity
    }
    if request.checksNothing { settings.verification = .dangerouslyNone }
    if let path = request.authorities {
      settings.roots = .only(try Self.certificates(path))
      if request.isServer { settings.clientCertificates = .required }
    }
    settings.applicationProtocols = request.protocols
    if let timeout { settings.handshakeTimeout = timeout }
    self.settings = settings
  }

  private static func certificates(_ path: String) throws(Failure) -> [TLSCertificate] {
    do {
      return try TLSCertificate.certificates(inFile: path)
    } catch {
      throw Failure(error, inFile: path)
    }
  }

  private static func identity(_ certificate: String, _ key: String?) throws(Failure) -> TLSIdentity {
    // First, so that what is wrong with the identity is the key's.
    _ = try certificates(certificate)
    do {
      return try TLSIdentity(certificateFile: certificate, keyFile: key)
    } catch {
      throw Failure(error, inFile: key ?? certificate)
    }
  }

  /// Secures a pair that is not open, or that both sides have agreed to secure.
  func secure(_ pair: StreamPair) throws(StreamError) { try pair.startTLS(settings) }
  #else
  init(_ request: SecurityRequest, timeout: Duration?) throws(UsageError) {
    throw UsageError("This program was built without TLS")
  }

  func secure(_ pair: StreamPair) throws(StreamError) { throw .misuse(.unsupported, "TLS handshake") }
  #endif
}

extension Security {
  /// What a command that connects is asked for; `nil` for connections in plain.
  /// - Throws: `UsageError`, or ``Unusable`` for a file.
  static func client(_ arguments: ParsedArguments, timeout: Duration, to target: String) throws -> Security? {
    try make(SecurityRequest.client(arguments), timeout: timeout, target)
  }

  /// The same for a command that listens.
  static func server(_ arguments: ParsedArguments, at address: String) throws -> Security? {
    try make(SecurityRequest.server(arguments), timeout: nil, address)
  }

  private static func make(_ request: SecurityRequest?, timeout: Duration?, _ target: String) throws
    -> Security?
  {
    do {
      return try request.map { try Security($0, timeout: timeout) }
    } catch let failure as Failure {
      throw Unusable(failure: failure, target: target)
    }
  }
}

extension ReadStream {
  /// What was agreed upon, in a line, once it was; `nil` for a stream in plain.
  var security: String? {
    #if TLS
    property(.tlsPeer)?.line
    #else
    nil
    #endif
  }
}
