// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// TLS for the streams of CoreFoundation and Foundation, by their own property.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation

extension SecurityRequest {
  /// The value of `kCFStreamPropertySSLSettings` that asks for this. Authorities, protocols and lines in plain have no place
  /// in it.
  var dictionary: NSDictionary {
    var settings: [String: Any] = [:]
    if let name { settings[String(cf: kCFStreamSSLPeerName)] = name }
    if checksNothing { settings[String(cf: kCFStreamSSLValidatesCertificateChain)] = false }
    let files = [certificate, key].compactMap { $0.map { URL(fileURLWithPath: $0) } }
    if !files.isEmpty { settings[String(cf: kCFStreamSSLCertificates)] = files }
    return settings as NSDictionary
  }
}

/// How far a stream is that was asked to be secured.
enum SecurityProgress {
  /// What errors name as the operation before both sides agree.
  static let handshake = Phase.handshake.rawValue

  /// What both sides agreed upon, as far as those streams tell.
  /// - Parameter certificates: The value of `kCFStreamPropertySSLPeerCertificates`, an array, if there is one.
  static func line(_ certificates: Any?) -> String? {
    (certificates as? NSArray).map { "TLS, \($0.count) certificate" + ($0.count == 1 ? "" : "s") }
  }
}
