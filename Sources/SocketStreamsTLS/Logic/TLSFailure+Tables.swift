// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which code a reason, an alert or a refusal of a certificate has. What a table does not have is what its user says.

#if TLS

internal import SocketStreams

extension TLSFailure {
  /// By alert that the peer sent (RFC 8446, section 6). Others are `StreamError.TLS.peerAlert`.
  static let alerts: [Int32: StreamError.TLS] = [
    40: .peerHandshakeFailure,  // handshake_failure
    42: .peerBadCertificate,  // bad_certificate
    43: .peerUnsupportedCertificate,  // unsupported_certificate
    44: .peerCertificateRevoked,  // certificate_revoked
    45: .peerCertificateExpired,  // certificate_expired
    46: .peerCertificateUnknown,  // certificate_unknown
    48: .peerUnknownIssuer,  // unknown_ca
    49: .peerAccessDenied,  // access_denied
    70: .noCommonVersion,  // protocol_version
    71: .noCommonCipher,  // insufficient_security
    80: .peerInternalError,  // internal_error
    86: .noCommonVersion,  // inappropriate_fallback
    112: .unrecognizedName,  // unrecognized_name
    116: .certificateRequired,  // certificate_required
    120: .noCommonProtocol,  // no_application_protocol
  ]

  /// By OpenSSL's reason, `SSL_R_…`. Others are `StreamError.TLS.protocolError`.
  static let reasons: [Int32: StreamError.TLS] = [
    294: .closedWithoutNotice,  // UNEXPECTED_EOF_WHILE_READING
    199: .certificateRequired,  // PEER_DID_NOT_RETURN_A_CERTIFICATE
    235: .noCommonProtocol,  // NO_APPLICATION_PROTOCOL
    // The only callback of ours that can refuse is the server's choice by name.
    234: .unrecognizedName,  // CALLBACK_FAILED

    254: .noCommonVersion,  // UNKNOWN_SSL_VERSION
    258: .noCommonVersion,  // UNSUPPORTED_PROTOCOL
    259: .noCommonVersion,  // UNSUPPORTED_SSL_VERSION
    266: .noCommonVersion,  // WRONG_SSL_VERSION
    166: .noCommonVersion,  // VERSION_TOO_HIGH
    396: .noCommonVersion,  // VERSION_TOO_LOW
    373: .noCommonVersion,  // INAPPROPRIATE_FALLBACK

    101: .noCommonCipher,  // NO_SUITABLE_KEY_SHARE
    118: .noCommonCipher,  // NO_SUITABLE_SIGNATURE_ALGORITHM
    193: .noCommonCipher,  // NO_SHARED_CIPHER
    295: .noCommonCipher,  // NO_SUITABLE_GROUPS
    333: .noCommonCipher,  // LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED
    376: .noCommonCipher,  // NO_SHARED_SIGNATURE_ALGORITHMS
    410: .noCommonCipher,  // NO_SHARED_GROUPS

    129: .badRecord,  // BLOCK_CIPHER_PAD_IS_WRONG
    147: .badRecord,  // DECRYPTION_FAILED
    281: .badRecord,  // DECRYPTION_FAILED_OR_BAD_RECORD_MAC

    220: .badCertificate,  // SIGNATURE_FOR_NON_SIGNING_CERTIFICATE
    247: .badCertificate,  // UNKNOWN_CERTIFICATE_TYPE
    304: .badCertificate,  // BAD_ECC_CERT
    318: .badCertificate,  // ECC_CERT_NOT_FOR_SIGNING
    383: .badCertificate,  // WRONG_CERTIFICATE_TYPE
    394: .badCertificate,  // DH_KEY_TOO_SMALL
    397: .badCertificate,  // CA_KEY_TOO_SMALL
    398: .badCertificate,  // CA_MD_TOO_WEAK
    399: .badCertificate,  // EE_KEY_TOO_SMALL

    161: .badSettings,  // LIBRARY_HAS_NO_CIPHERS
    177: .badSettings,  // NO_CERTIFICATE_ASSIGNED
    179: .badSettings,  // NO_CERTIFICATE_SET
    181: .badSettings,  // NO_CIPHERS_AVAILABLE
    185: .badSettings,  // NO_CIPHER_MATCH
    190: .badSettings,  // NO_PRIVATE_KEY_ASSIGNED
    191: .badSettings,  // NO_PROTOCOLS_AVAILABLE
  ]

  /// What this library's own check of pinned keys answers, `X509_V_ERR_APPLICATION_VERIFICATION`.
  static let applicationVerification = 50

  /// By why certificates were refused, `X509_V_ERR_…`. Others are `StreamError.TLS.chainInvalid`.
  static let refusedCertificates: [Int: StreamError.TLS] = [
    62: .wrongHost,  // HOSTNAME_MISMATCH
    63: .wrongHost,  // EMAIL_MISMATCH
    64: .wrongHost,  // IP_ADDRESS_MISMATCH
    9: .certificateNotYetValid,  // CERT_NOT_YET_VALID
    10: .certificateExpired,  // CERT_HAS_EXPIRED
    18: .unknownRoot,  // DEPTH_ZERO_SELF_SIGNED_CERT
    19: .unknownRoot,  // SELF_SIGNED_CERT_IN_CHAIN
    27: .unknownRoot,  // CERT_UNTRUSTED
    2: .unknownIssuer,  // UNABLE_TO_GET_ISSUER_CERT
    20: .unknownIssuer,  // UNABLE_TO_GET_ISSUER_CERT_LOCALLY
    21: .unknownIssuer,  // UNABLE_TO_VERIFY_LEAF_SIGNATURE
    23: .certificateRevoked,  // CERT_REVOKED
    applicationVerification: .notApproved,
    1: .internalError,  // UNSPECIFIED
    17: .internalError,  // OUT_OF_MEM
    69: .internalError,  // INVALID_CALL
    70: .internalError,  // STORE_LOOKUP
  ]
}

#endif
