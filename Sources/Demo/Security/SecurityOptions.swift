// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The options of TLS, and what they say together. Pure: no file is read here. They are there in a program without TLS too,
// which refuses them with a sentence of its own.

/// The options of commands that connect.
enum SecurityOptions {
  static let tls = Flag(
    "tls", help: "Secure the connection by TLS, and check whom the server's certificate is for.")
  static let ca = Option(
    "ca", "file", .path, help: "Trust the authorities in this PEM file, and none of the system's.")
  static let cert = Option(
    "cert", "file", .path, help: "Show this certificate, and those above it, to a server that asks: PEM.")
  static let key = Option(
    "key", "file", .path, help: "The key of --cert, PEM. Without it, the key is in the same file.")
  static let insecure = Flag(
    "insecure", help: "Check nothing: anybody can be at the other end. A warning says so.")
  static let alpn = Option(
    "alpn", "names", .names, help: "Application protocols to offer, the most wanted first: 'h2,http/1.1'.")
  static let serverName = Option(
    "tls-name", "name", .host,
    help: "The name or address that the certificate has to be for. (default: <host>)")
  static let startTLS = Option(
    "starttls", "line", .line, repeats: true,
    help:
      "Begin in plain: send this line and read the reply; then secure the connection, as --tls does. May be repeated: each line has a reply, that of an empty line, which is not sent, is the server's greeting."
  )

  /// What commands have that connect, and send what they like.
  static let client: [OptionSpec] = [
    tls.spec, ca.spec, cert.spec, key.spec, insecure.spec, alpn.spec, serverName.spec,
  ]

  static let serverCertificate = Option(
    "tls-cert", "file", .path,
    help: "Secure connections by TLS with this certificate, and those above it: PEM.")
  static let serverKey = Option(
    "tls-key", "file", .path, help: "The key of --tls-cert, PEM. Without it, the key is in the same file.")
  static let clientAuthorities = Option(
    "tls-ca", "file", .path, help: "Require a certificate of each client, by an authority in this PEM file.")

  /// What commands have that listen.
  static let server: [OptionSpec] = [serverCertificate.spec, serverKey.spec, clientAuthorities.spec]
}

extension ValueType<[String]> {
  /// Names with commas between.
  static var names: Self {
    Self(expecting: "names of 1 to 255 bytes with commas between") { text in
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      return names.allSatisfy { (1...255).contains($0.utf8.count) } ? names : nil
    }
  }
}

extension ValueType<String> {
  /// A line without its end; it may be empty.
  static var line: Self {
    Self(expecting: "a line") { text in
      text.utf8.contains { [0, UInt8(ascii: "\r"), UInt8(ascii: "\n")].contains($0) } ? nil : text
    }
  }
}

/// What a command line says about TLS.
struct SecurityRequest: Hashable, Sendable {
  var isServer = false
  /// The file of those who are trusted; for a server, of those who vouch for its clients.
  var authorities: String?
  var certificate: String?
  /// `nil` if the key is in the certificate's file.
  var key: String?
  var checksNothing = false
  /// Whom the certificate has to be for, if not the host.
  var name: String?
  var protocols: [String] = []
  /// What is said in plain before.
  var startLines: [String] = []

  /// What has to be told before anything is sent; `nil` for nothing.
  var warning: String? {
    checksNothing ? "warning: nothing is checked (--insecure): anybody can be at the other end" : nil
  }

  /// What a client's arguments ask for; `nil` for a connection in plain.
  static func client(_ arguments: ParsedArguments) throws(UsageError) -> SecurityRequest? {
    typealias Options = SecurityOptions
    let startLines = arguments.all(Options.startTLS)
    guard arguments[Options.tls] || !startLines.isEmpty else {
      if let option = Options.client.first(where: arguments.has) { throw .needsTLS(option) }
      return nil
    }
    if arguments[Options.key] != nil, arguments[Options.cert] == nil {
      throw .needs(Options.key.spec, Options.cert.spec)
    }
    if arguments[Options.insecure], arguments[Options.ca] != nil {
      throw UsageError("--insecure checks nothing, so that --ca has no use")
    }
    if arguments[CommonOptions.unix] != nil, arguments[Options.serverName] == nil,
      !arguments[Options.insecure]
    {
      throw UsageError(
        "With --unix there is no host for the certificate to be for: --tls-name has to be given")
    }
    return SecurityRequest(
      authorities: arguments[Options.ca], certificate: arguments[Options.cert], key: arguments[Options.key],
      checksNothing: arguments[Options.insecure], name: arguments[Options.serverName],
      protocols: arguments[Options.alpn] ?? [], startLines: startLines)
  }

  /// What a server's arguments ask for; `nil` for connections in plain.
  static func server(_ arguments: ParsedArguments) throws(UsageError) -> SecurityRequest? {
    typealias Options = SecurityOptions
    guard let certificate = arguments[Options.serverCertificate] else {
      if let option = Options.server.first(where: arguments.has) {
        throw .needs(option, Options.serverCertificate.spec)
      }
      return nil
    }
    return SecurityRequest(
      isServer: true, authorities: arguments[Options.clientAuthorities], certificate: certificate,
      key: arguments[Options.serverKey])
  }
}

extension UsageError {
  fileprivate static func needsTLS(_ option: OptionSpec) -> UsageError {
    UsageError("\(option.flag) has a use with \(SecurityOptions.tls.spec.flag) only")
  }

  fileprivate static func needs(_ option: OptionSpec, _ other: OptionSpec) -> UsageError {
    UsageError("\(option.flag) has a use with \(other.flag) only")
  }
}
