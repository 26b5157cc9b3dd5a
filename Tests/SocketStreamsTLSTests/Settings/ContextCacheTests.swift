// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Contexts in use")
struct ContextCacheTests {
  private func settings(_ protocolName: String) -> TLSSettings {
    var settings = TLSSettings.client()
    settings.verification = .dangerouslyNone
    settings.applicationProtocols = [protocolName]
    return settings
  }

  @Test("settings that differ only in what concerns single connections share a context")
  func shared() throws {
    let cache = SSLContextCache(limit: 4)
    let first = try cache.context(for: try TLSSettings.trusting())
    var other = try TLSSettings.trusting()
    other.peerName = "elsewhere"
    other.handshakeTimeout = nil
    other.approval = TLSApproval { _ in false }
    other.verification = .chainOnly
    #expect(try cache.context(for: other) === first)
  }

  @Test("what a context has to know makes another one")
  func apart() throws {
    let base = try TLSSettings.trusting()
    let changes: [(inout TLSSettings) -> Void] = [
      { $0.verification = .dangerouslyNone }, { $0.pinnedKeys = [[UInt8](repeating: 7, count: 32)] },
      { $0.roots = .system }, { $0.applicationProtocols = ["h2"] },
      { $0.minimumVersion = .tls13 }, { $0.maximumVersion = .tls12 }, { $0.ciphers = "HIGH" },
      { $0.cipherSuites = "TLS_AES_128_GCM_SHA256" }, { $0.resumesSessions = false },
      { $0.keyLogFile = "/dev/null" },
      { $0.identity = try? TestCertificates.shared.identity("client") },
    ]
    let cache = SSLContextCache(limit: 32)
    var contexts: [SSLContext] = [try cache.context(for: base)]
    for change in changes {
      var settings = base
      change(&settings)
      let context = try cache.context(for: settings)
      #expect(!contexts.contains { $0 === context })
      contexts.append(context)
    }
  }

  @Test("only so many are kept: those that were asked for last")
  func limit() throws {
    let cache = SSLContextCache(limit: 2)
    let a = try cache.context(for: settings("a"))
    weak let b = try cache.context(for: settings("b"))
    #expect(b != nil)
    #expect(try cache.context(for: settings("a")) === a)
    _ = try cache.context(for: settings("c"))
    #expect(b == nil)
    #expect(try cache.context(for: settings("a")) === a)
  }

  @Test("settings with a fault are refused, though others of the same context are in use")
  func faults() throws {
    let cache = SSLContextCache(limit: 2)
    _ = try cache.context(for: settings("a"))
    var wrong = settings("a")
    wrong.peerName = ""
    expectFault("the peer's name is empty", code: .badSettings) { try cache.context(for: wrong) }
  }

  @Test("any number of threads may ask at once, and all get the same")
  func threads() async throws {
    let cache = SSLContextCache(limit: 2)
    let settings = try TLSSettings.serving()
    try await withThrowingTaskGroup(of: SSLContext.self) { group in
      for _ in 0..<16 { group.addTask { try cache.context(for: settings) } }
      var contexts: [SSLContext] = []
      for try await context in group { contexts.append(context) }
      #expect(contexts.allSatisfy { $0 === contexts[0] })
    }
  }

  @Test("what a context's callbacks use stays as long as OpenSSL's object, and no longer")
  func data() throws {
    weak var data: ContextData?
    var handshake: MemoryHandshake?
    do {
      var server = try TLSSettings.serving()
      server.otherIdentities = [try TestCertificates.shared.identity("a.test")]
      let context = try SSLContext(server)
      data = ContextData.of(MemoryHandshake.Side(context, isServer: true).ssl)
      handshake = MemoryHandshake(try SSLContext(TLSSettings.trusting()), context)
    }
    #expect(handshake?.isDone == true)
    #expect(data != nil)
    handshake = nil
    #expect(data == nil)
  }
}

#endif
