// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("What a failure of OpenSSL comes to")
struct TLSFailureTests {
  private static let common: Int32 = 2 << 18
  private static let fatal: Int32 = 3 << 18

  private static func code(_ reason: Int32, library: Int32 = ERR_LIB_SSL, verify: Int = 0) -> StreamError.TLS?
  {
    TLSFailure(finder: .library(library, reason: reason), verifyResult: verify).error(in: .reading).tls
  }

  // S168
  @Test(
    "an alert that the peer sent is the peer's complaint",
    arguments: [
      (SSL_AD_HANDSHAKE_FAILURE, StreamError.TLS.peerHandshakeFailure),
      (SSL_AD_BAD_CERTIFICATE, .peerBadCertificate),
      (SSL_AD_UNSUPPORTED_CERTIFICATE, .peerUnsupportedCertificate),
      (SSL_AD_CERTIFICATE_REVOKED, .peerCertificateRevoked),
      (SSL_AD_CERTIFICATE_EXPIRED, .peerCertificateExpired),
      (SSL_AD_CERTIFICATE_UNKNOWN, .peerCertificateUnknown), (SSL_AD_UNKNOWN_CA, .peerUnknownIssuer),
      (SSL_AD_ACCESS_DENIED, .peerAccessDenied), (SSL_AD_PROTOCOL_VERSION, .noCommonVersion),
      (SSL_AD_INSUFFICIENT_SECURITY, .noCommonCipher), (SSL_AD_INTERNAL_ERROR, .peerInternalError),
      (SSL_AD_INAPPROPRIATE_FALLBACK, .noCommonVersion), (SSL_AD_UNRECOGNIZED_NAME, .unrecognizedName),
      (SSL_AD_CERTIFICATE_REQUIRED, .certificateRequired),
      (SSL_AD_NO_APPLICATION_PROTOCOL, .noCommonProtocol),
      (SSL_AD_UNEXPECTED_MESSAGE, .peerAlert), (SSL_AD_BAD_RECORD_MAC, .peerAlert),
      (SSL_AD_DECRYPT_ERROR, .peerAlert),
      (255, .peerAlert),
    ])
  func alerts(alert: Int32, code: StreamError.TLS) {
    #expect(Self.code(SSL_AD_REASON_OFFSET + alert) == code)
  }

  @Test(
    "a reason of this side has a code of its own, or is the peer's fault",
    arguments: [
      (SSL_R_UNEXPECTED_EOF_WHILE_READING, StreamError.TLS.closedWithoutNotice),
      (SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, .certificateRequired),
      (SSL_R_NO_APPLICATION_PROTOCOL, .noCommonProtocol), (SSL_R_CALLBACK_FAILED, .unrecognizedName),
      (SSL_R_UNSUPPORTED_PROTOCOL, .noCommonVersion), (SSL_R_UNSUPPORTED_SSL_VERSION, .noCommonVersion),
      (SSL_R_WRONG_SSL_VERSION, .noCommonVersion), (SSL_R_UNKNOWN_SSL_VERSION, .noCommonVersion),
      (SSL_R_VERSION_TOO_HIGH, .noCommonVersion), (SSL_R_VERSION_TOO_LOW, .noCommonVersion),
      (SSL_R_INAPPROPRIATE_FALLBACK, .noCommonVersion), (SSL_R_NO_SHARED_CIPHER, .noCommonCipher),
      (SSL_R_NO_SHARED_GROUPS, .noCommonCipher), (SSL_R_NO_SUITABLE_GROUPS, .noCommonCipher),
      (SSL_R_NO_SUITABLE_KEY_SHARE, .noCommonCipher),
      (SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, .noCommonCipher),
      (SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, .noCommonCipher),
      (SSL_R_LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED, .noCommonCipher),
      (SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, .badRecord), (SSL_R_DECRYPTION_FAILED, .badRecord),
      (SSL_R_BLOCK_CIPHER_PAD_IS_WRONG, .badRecord), (SSL_R_EE_KEY_TOO_SMALL, .badCertificate),
      (SSL_R_CA_KEY_TOO_SMALL, .badCertificate), (SSL_R_CA_MD_TOO_WEAK, .badCertificate),
      (SSL_R_DH_KEY_TOO_SMALL, .badCertificate), (SSL_R_BAD_ECC_CERT, .badCertificate),
      (SSL_R_ECC_CERT_NOT_FOR_SIGNING, .badCertificate), (SSL_R_WRONG_CERTIFICATE_TYPE, .badCertificate),
      (SSL_R_UNKNOWN_CERTIFICATE_TYPE, .badCertificate),
      (SSL_R_SIGNATURE_FOR_NON_SIGNING_CERTIFICATE, .badCertificate),
      (SSL_R_NO_CIPHERS_AVAILABLE, .badSettings),
      (SSL_R_NO_CIPHER_MATCH, .badSettings), (SSL_R_LIBRARY_HAS_NO_CIPHERS, .badSettings),
      (SSL_R_NO_PROTOCOLS_AVAILABLE, .badSettings), (SSL_R_NO_CERTIFICATE_SET, .badSettings),
      (SSL_R_NO_CERTIFICATE_ASSIGNED, .badSettings), (SSL_R_NO_PRIVATE_KEY_ASSIGNED, .badSettings),
      (SSL_R_WRONG_VERSION_NUMBER, .protocolError), (SSL_R_HTTP_REQUEST, .protocolError),
      (SSL_R_PACKET_LENGTH_TOO_LONG, .protocolError), (SSL_R_NO_RENEGOTIATION, .protocolError),
      (SSL_R_BAD_SIGNATURE, .protocolError),
    ])
  func reasons(reason: Int32, code: StreamError.TLS) { #expect(Self.code(reason) == code) }

  // J3, J4, field report 55
  @Test(
    "a certificate that is refused tells why",
    arguments: [
      (X509_V_ERR_HOSTNAME_MISMATCH, StreamError.TLS.wrongHost), (X509_V_ERR_IP_ADDRESS_MISMATCH, .wrongHost),
      (X509_V_ERR_EMAIL_MISMATCH, .wrongHost), (X509_V_ERR_CERT_HAS_EXPIRED, .certificateExpired),
      (X509_V_ERR_CERT_NOT_YET_VALID, .certificateNotYetValid),
      (X509_V_ERR_CERT_REVOKED, .certificateRevoked),
      (X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, .unknownRoot),
      (X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, .unknownRoot),
      (X509_V_ERR_CERT_UNTRUSTED, .unknownRoot), (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, .unknownIssuer),
      (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, .unknownIssuer),
      (X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, .unknownIssuer),
      (X509_V_ERR_APPLICATION_VERIFICATION, .notApproved), (X509_V_ERR_INVALID_PURPOSE, .chainInvalid),
      (X509_V_ERR_CERT_SIGNATURE_FAILURE, .chainInvalid), (X509_V_ERR_EE_KEY_TOO_SMALL, .chainInvalid),
      (X509_V_ERR_OUT_OF_MEM, .internalError), (X509_V_ERR_UNSPECIFIED, .internalError),
      (X509_V_ERR_INVALID_CALL, .internalError), (X509_V_ERR_STORE_LOOKUP, .internalError),
      (X509_V_OK, .chainInvalid),
    ])
  func refusedCertificates(result: Int32, code: StreamError.TLS) {
    #expect(Self.code(SSL_R_CERTIFICATE_VERIFY_FAILED, verify: Int(result)) == code)
  }

  @Test("why a certificate was refused counts only if one was")
  func verifyResultAlone() {
    #expect(Self.code(SSL_R_HTTP_REQUEST, verify: Int(X509_V_ERR_CERT_HAS_EXPIRED)) == .protocolError)
    #expect(TLSFailure.isRefusedCertificate(library: ERR_LIB_SSL, reason: SSL_R_CERTIFICATE_VERIFY_FAILED))
    #expect(!TLSFailure.isRefusedCertificate(library: ERR_LIB_SSL, reason: SSL_R_HTTP_REQUEST))
    #expect(!TLSFailure.isRefusedCertificate(library: ERR_LIB_X509, reason: SSL_R_CERTIFICATE_VERIFY_FAILED))
  }

  @Test("other parts of OpenSSL fail on certificates, or on cryptography, or are out of memory")
  func otherParts() {
    for library in [ERR_LIB_PEM, ERR_LIB_X509, ERR_LIB_ASN1, ERR_LIB_X509V3] {
      #expect(Self.code(7, library: library) == .badCertificate)
      #expect(Self.code(library | Self.common) == .badCertificate)
    }
    for library in [ERR_LIB_EVP, ERR_LIB_EC, ERR_LIB_RSA, ERR_LIB_PROV] {
      #expect(Self.code(7, library: library) == .cryptoFailed)
      #expect(Self.code(library | Self.common) == .cryptoFailed)
    }
    // ERR_R_MALLOC_FAILURE and ERR_R_INTERNAL_ERROR
    #expect(Self.code(256 | Self.fatal) == .internalError)
    #expect(Self.code(259 | Self.fatal) == .internalError)
    #expect(Self.code(256 | Self.fatal, library: ERR_LIB_ASN1) == .internalError)
  }

  @Test("a failure of the wire is not one of TLS, and a failure tells what it stopped")
  func finders() {
    #expect(TLSFailure(finder: .wire(104)).error(in: .writing) == .posix(104, "write"))
    #expect(TLSFailure(finder: .end).error(in: .handshake) == .tls(.closedWithoutNotice, "TLS handshake"))
    #expect(TLSFailure(finder: .nobody).error(in: .reading) == .tls(.internalError, "read"))
    let told = TLSFailure(finder: .library(ERR_LIB_SSL, reason: SSL_R_HTTP_REQUEST), words: "http request")
    #expect(told.error(in: .handshake) == .tls(.protocolError, "TLS handshake", detail: "http request"))
  }
}

#endif
