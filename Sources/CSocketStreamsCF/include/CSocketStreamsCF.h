// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What CoreFoundation's own headers leave out on Linux: the abstract stream that a back end is built on, dispatch queues,
// and the keys that Apple's CFNetwork declares. Read by Swift, which knows where the toolchain keeps CoreFoundation; the C
// files beside it are compiled without those headers.
#ifndef CSOCKETSTREAMSCF_H
#define CSOCKETSTREAMSCF_H

#include <features.h>

#include <CoreFoundation/CoreFoundation.h>
// A header of CoreFoundation's that its module does not list.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wincomplete-umbrella"
#include <CoreFoundation/CFStreamAbstract.h>
#pragma clang diagnostic pop

CF_EXTERN_C_BEGIN
CF_ASSUME_NONNULL_BEGIN

// MARK: - Dispatch queues. CoreFoundation declares these only where __HAS_DISPATCH__ is set, and Swift has its own type for
// a queue; see DispatchQueues.swift. Other names, so that they cannot clash with its declarations.

void SocketStreamsSetReadQueue(CFReadStreamRef stream, void *_Nullable queue) __asm__("CFReadStreamSetDispatchQueue");
void SocketStreamsSetWriteQueue(CFWriteStreamRef stream, void *_Nullable queue) __asm__("CFWriteStreamSetDispatchQueue");
/// The queue that callbacks of the stream are to run on, retained for the caller.
void *_Nullable SocketStreamsCopyReadQueue(CFReadStreamRef stream) __asm__("CFReadStreamCopyDispatchQueue");
void *_Nullable SocketStreamsCopyWriteQueue(CFWriteStreamRef stream) __asm__("CFWriteStreamCopyDispatchQueue");
void SocketStreamsReleaseQueue(void *queue) __asm__("dispatch_release");
void SocketStreamsRunOnQueue(void *queue, void *context, void (*work)(void *context)) __asm__("dispatch_async_f");

// MARK: - Error domains of CFNetwork

/// The code is one of getaddrinfo's EAI_….
CF_EXPORT const int kCFStreamErrorDomainNetDB;
/// The code is an HTTP failure.
CF_EXPORT const int kCFStreamErrorDomainHTTP;
CF_EXPORT const CFStringRef kCFErrorDomainCFNetwork;
/// In the user info of an error with code kCFHostErrorUnknown: getaddrinfo's own code.
CF_EXPORT const CFStringRef kCFGetAddrInfoFailureKey;

/// Codes of kCFErrorDomainCFNetwork.
typedef CF_ENUM(int, CFNetworkErrors) {
  kCFHostErrorHostNotFound = 1,
  kCFHostErrorUnknown = 2,
  kCFSOCKSErrorUnknownClientVersion = 100,
  kCFSOCKSErrorUnsupportedServerVersion = 101,
  kCFErrorHTTPBadCredentials = 301,
  kCFErrorHTTPConnectionLost = 302,
  kCFErrorHTTPParseFailure = 303,
};

// MARK: - TLS. The package's trait TLS, which is on by default, has to be there: without it, setting these answers false.

/// CFDictionary of the keys below, all of which may be missing; NULL for none. Settable until the handshake begins, on an open
/// connection too, where it begins at once. Setting what is set already is always taken, and is how both streams may be told.
CF_EXPORT const CFStringRef kCFStreamPropertySSLSettings;
/// CFArray of CFData, DER, the peer's own first; NULL before the end of the handshake. To be copied only.
CF_EXPORT const CFStringRef kCFStreamPropertySSLPeerCertificates;
/// NULL: there is no object of that kind without Apple's framework Security.
CF_EXPORT const CFStringRef kCFStreamPropertySSLPeerTrust;
/// CFString, kCFStreamSocketSecurityLevelNegotiatedSSL by default.
CF_EXPORT const CFStringRef kCFStreamSSLLevel;
/// CFBoolean: false, or the settings are refused; likewise the next two. There is no checking a part of a chain.
CF_EXPORT const CFStringRef kCFStreamSSLAllowsExpiredCertificates;
CF_EXPORT const CFStringRef kCFStreamSSLAllowsExpiredRoots;
CF_EXPORT const CFStringRef kCFStreamSSLAllowsAnyRoot;
/// CFBoolean, true by default. If false nothing is checked, the name neither: anybody can be at the other end.
CF_EXPORT const CFStringRef kCFStreamSSLValidatesCertificateChain;
/// CFString: the name that the peer's certificate has to be for, and that the peer is asked for (SNI); by default the host that
/// the streams were made for, if there is one. kCFNull has no name checked.
CF_EXPORT const CFStringRef kCFStreamSSLPeerName;
/// CFArray of CFData, or of CFURL of files: a certificate, those of its issuers, and its key. Each element is PEM, or a
/// certificate or a key as DER; the key may stand anywhere, in an element with certificates too. Or one element that is
/// PKCS #12, with an empty passphrase. A server needs it; a client shows it to a server that asks.
CF_EXPORT const CFStringRef kCFStreamSSLCertificates;
/// CFBoolean, false by default: this side is the server.
CF_EXPORT const CFStringRef kCFStreamSSLIsServer;

// MARK: - Proxies

CF_EXPORT const CFStringRef kCFStreamPropertyHTTPProxy;
CF_EXPORT const CFStringRef kCFStreamPropertyHTTPProxyHost;
CF_EXPORT const CFStringRef kCFStreamPropertyHTTPProxyPort;
CF_EXPORT const CFStringRef kCFStreamPropertyHTTPSProxyHost;
CF_EXPORT const CFStringRef kCFStreamPropertyHTTPSProxyPort;

// MARK: - Kinds of traffic

CF_EXPORT const CFStringRef kCFStreamNetworkServiceType;
CF_EXPORT const CFStringRef kCFStreamNetworkServiceTypeBackground;
CF_EXPORT const CFStringRef kCFStreamNetworkServiceTypeVideo;
CF_EXPORT const CFStringRef kCFStreamNetworkServiceTypeVoice;
CF_EXPORT const CFStringRef kCFStreamNetworkServiceTypeVoIP;
CF_EXPORT const CFStringRef kCFStreamPropertySocketExtendedBackgroundIdleMode;
CF_EXPORT const CFStringRef kCFStreamPropertyAutoErrorOnSystemChange;

// MARK: - Properties that only these streams have

/// CFBoolean, false by default: closing the write stream tells the peer the end, as soon as what was accepted is sent. On
/// Apple's platforms the peer sees an end only when both streams are closed. Settable on either stream until the close.
CF_EXPORT const CFStringRef kSocketStreamsHalfClose;
/// CFNumber, seconds: the longest time from open to connected. Settable before open.
CF_EXPORT const CFStringRef kSocketStreamsConnectTimeout;
/// CFNumber, seconds: the longest time without a byte from a peer that is waited for.
CF_EXPORT const CFStringRef kSocketStreamsReadTimeout;
/// CFNumber, seconds: the longest time in which the kernel takes none of the bytes that are queued.
CF_EXPORT const CFStringRef kSocketStreamsWriteTimeout;
/// CFBoolean, true by default: small writes leave at once (TCP_NODELAY).
CF_EXPORT const CFStringRef kSocketStreamsNoDelay;

CF_ASSUME_NONNULL_END
CF_EXTERN_C_END

#endif
