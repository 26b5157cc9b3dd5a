// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The constants that CoreFoundation's headers or Apple's CFNetwork declare, and that nothing defines on Linux.
#include <features.h>

#include <stdint.h>

// A constant string, laid out as CoreFoundation's own (struct __CFConstStr of CFRuntime.h, on 64-bit machines). Its
// class and reference count make it one that lives for ever.
struct constant_string {
  const void *isa;
  uintptr_t reference_count;
  uint64_t info;
  const char *bytes;
  uint32_t length;
};

// The class of constant strings, by the name that CoreFoundation's own constants refer to it with.
extern const void *const constant_string_class __asm__("$s10Foundation19_NSCFConstantStringCN");

#define PINNED 0x80000004ffffffff
#define CONSTANT_ASCII 0x07C8

#define STRING(name, text)                                                                                                \
  static struct constant_string name##_string = {&constant_string_class, PINNED, CONSTANT_ASCII, text, sizeof(text) - 1}; \
  const void *const name = &name##_string;
// Most are named by their own value.
#define NAME(name) STRING(name, #name)

// Declared by CFStream.h.
const int kCFStreamErrorDomainSSL = 3;
const int kCFStreamErrorDomainSOCKS = 5;
NAME(kCFStreamPropertyShouldCloseNativeSocket)
NAME(kCFStreamPropertySocketSecurityLevel)
NAME(kCFStreamSocketSecurityLevelNone)
NAME(kCFStreamSocketSecurityLevelSSLv2)
NAME(kCFStreamSocketSecurityLevelSSLv3)
NAME(kCFStreamSocketSecurityLevelTLSv1)
NAME(kCFStreamSocketSecurityLevelNegotiatedSSL)
NAME(kCFStreamPropertySOCKSProxy)
STRING(kCFStreamPropertySOCKSProxyHost, "SOCKSProxy")
STRING(kCFStreamPropertySOCKSProxyPort, "SOCKSPort")
NAME(kCFStreamPropertySOCKSVersion)
NAME(kCFStreamSocketSOCKSVersion4)
NAME(kCFStreamSocketSOCKSVersion5)
NAME(kCFStreamPropertySOCKSUser)
NAME(kCFStreamPropertySOCKSPassword)

// Declared by CSocketStreamsCF.h.
const int kCFStreamErrorDomainHTTP = 4;
const int kCFStreamErrorDomainNetDB = 12;
NAME(kCFErrorDomainCFNetwork)
NAME(kCFGetAddrInfoFailureKey)

NAME(kCFStreamPropertySSLSettings)
NAME(kCFStreamPropertySSLPeerCertificates)
NAME(kCFStreamPropertySSLPeerTrust)
NAME(kCFStreamSSLLevel)
NAME(kCFStreamSSLAllowsExpiredCertificates)
NAME(kCFStreamSSLAllowsExpiredRoots)
NAME(kCFStreamSSLAllowsAnyRoot)
NAME(kCFStreamSSLValidatesCertificateChain)
NAME(kCFStreamSSLPeerName)
NAME(kCFStreamSSLCertificates)
NAME(kCFStreamSSLIsServer)

NAME(kCFStreamPropertyHTTPProxy)
STRING(kCFStreamPropertyHTTPProxyHost, "HTTPProxy")
STRING(kCFStreamPropertyHTTPProxyPort, "HTTPPort")
STRING(kCFStreamPropertyHTTPSProxyHost, "HTTPSProxy")
STRING(kCFStreamPropertyHTTPSProxyPort, "HTTPSPort")

NAME(kCFStreamNetworkServiceType)
NAME(kCFStreamNetworkServiceTypeBackground)
NAME(kCFStreamNetworkServiceTypeVideo)
NAME(kCFStreamNetworkServiceTypeVoice)
NAME(kCFStreamNetworkServiceTypeVoIP)
NAME(kCFStreamPropertySocketExtendedBackgroundIdleMode)
NAME(kCFStreamPropertyAutoErrorOnSystemChange)

STRING(kSocketStreamsHalfClose, "SocketStreamsHalfClose")
STRING(kSocketStreamsConnectTimeout, "SocketStreamsConnectTimeout")
STRING(kSocketStreamsReadTimeout, "SocketStreamsReadTimeout")
STRING(kSocketStreamsWriteTimeout, "SocketStreamsWriteTimeout")
STRING(kSocketStreamsNoDelay, "SocketStreamsNoDelay")
