// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import SocketStreams
import SocketStreamsTLS

extension TestCertificates {
  /// The authority that tests trust.
  func root() throws -> TLSCertificate { try x509("root") }

  /// The certificate of NAME.pem.
  func x509(_ name: String) throws -> TLSCertificate {
    try TLSCertificate.certificates(inFile: certificate(name))[0]
  }

  /// NAME.pem and NAME.key.
  func identity(_ name: String) throws -> TLSIdentity {
    try TLSIdentity(certificateFile: certificate(name), keyFile: key(name))
  }
}

extension TLSSettings {
  /// A client that trusts the test authority and nobody else, with other settings changed by `change`.
  static func trusting(peerName: String? = nil, _ change: (inout TLSSettings) throws -> Void = { _ in })
    throws
    -> TLSSettings
  {
    var settings = TLSSettings.client(peerName: peerName)
    settings.roots = .only([try TestCertificates.shared.root()])
    try change(&settings)
    return settings
  }

  /// A server with NAME.pem and NAME.key.
  static func serving(_ name: String = "localhost", _ change: (inout TLSSettings) throws -> Void = { _ in })
    throws
    -> TLSSettings
  {
    var settings = TLSSettings.server(try TestCertificates.shared.identity(name))
    try change(&settings)
    return settings
  }
}

#endif
