// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's names for making socket streams, in front of libFoundation's own, which crash on Linux.
//
// Linked into a program, these are found first. In a shared library they would be found after libFoundation's; as they are
// protected, the linker binds the library's own calls to them, and nothing is looked for when it is loaded.
//
// Linked with -static-stdlib, they must not stand beside the originals, which are in the archive member CFSocketStream.c.o.
// Of its names, CoreFoundation itself uses two, both about errors; as they are defined here too, nothing asks for that
// member and it stays out. CFReadStreamGetError and its twin are in the member with all of CFStream, which cannot stay out:
// here they are weak, so that in a static program the originals hold, which then convert errors by the function here. All
// of it is in one file, so that nobody can link a part of it.
#include <features.h>

#include <stddef.h>
#include <stdint.h>

// As CoreFoundation declares them, its objects being pointers to nothing that matters here.
typedef const void *CFTypeRef;
typedef intptr_t CFIndex;

typedef struct {
  CFIndex domain;
  int32_t error;
} CFStreamError;

typedef struct {
  int32_t protocolFamily;
  int32_t socketType;
  int32_t protocol;
  CFTypeRef address;
} CFSocketSignature;

extern void CFRelease(CFTypeRef object);
extern CFTypeRef CFReadStreamCopyError(CFTypeRef stream);
extern CFTypeRef CFWriteStreamCopyError(CFTypeRef stream);

// Found from outside, but not replaced from outside.
#define PROTECTED __attribute__((visibility("protected")))

// In Swift.
extern void SocketStreamsCreatePairToHost(CFTypeRef allocator, CFTypeRef host, uint32_t port, CFTypeRef *reading, CFTypeRef *writing);
extern void SocketStreamsCreatePairWithSocket(CFTypeRef allocator, int32_t socket, CFTypeRef *reading, CFTypeRef *writing);
extern void SocketStreamsCreatePairToAddress(
  CFTypeRef allocator, int32_t type, int32_t protocol, CFTypeRef address, CFTypeRef *reading, CFTypeRef *writing);
extern void SocketStreamsCreateBoundPair(CFTypeRef allocator, CFTypeRef *reading, CFTypeRef *writing, CFIndex size);
extern void SocketStreamsErrorNumbers(CFTypeRef error, CFIndex *domain, int32_t *code);
extern CFTypeRef SocketStreamsCreateError(CFIndex domain, int32_t code);

// What was asked for is NULL until it is there.
static int wants_pair(CFTypeRef *reading, CFTypeRef *writing) {
  if (reading != NULL) *reading = NULL;
  if (writing != NULL) *writing = NULL;
  return reading != NULL || writing != NULL;
}

PROTECTED void CFStreamCreatePairWithSocketToHost(
  CFTypeRef allocator, CFTypeRef host, uint32_t port, CFTypeRef *reading, CFTypeRef *writing) {
  if (!wants_pair(reading, writing) || host == NULL) return;
  SocketStreamsCreatePairToHost(allocator, host, port, reading, writing);
}

PROTECTED void CFStreamCreatePairWithSocket(CFTypeRef allocator, int32_t socket, CFTypeRef *reading, CFTypeRef *writing) {
  if (!wants_pair(reading, writing)) return;
  SocketStreamsCreatePairWithSocket(allocator, socket, reading, writing);
}

PROTECTED void CFStreamCreatePairWithPeerSocketSignature(
  CFTypeRef allocator, const CFSocketSignature *signature, CFTypeRef *reading, CFTypeRef *writing) {
  if (!wants_pair(reading, writing) || signature == NULL || signature->address == NULL) return;
  SocketStreamsCreatePairToAddress(
    allocator, signature->socketType, signature->protocol, signature->address, reading, writing);
}

PROTECTED void CFStreamCreateBoundPair(CFTypeRef allocator, CFTypeRef *reading, CFTypeRef *writing, CFIndex size) {
  if (!wants_pair(reading, writing)) return;
  SocketStreamsCreateBoundPair(allocator, reading, writing, size);
}

PROTECTED CFStreamError _CFStreamErrorFromError(CFTypeRef error) {
  CFStreamError numbers = {0, 0};
  if (error != NULL) SocketStreamsErrorNumbers(error, &numbers.domain, &numbers.error);
  return numbers;
}

PROTECTED CFTypeRef _CFStreamCreateErrorFromStreamError(CFTypeRef allocator, const CFStreamError *numbers) {
  (void)allocator;
  return SocketStreamsCreateError(numbers->domain, numbers->error);
}

static CFStreamError numbers_of(CFTypeRef error) {
  const CFStreamError numbers = _CFStreamErrorFromError(error);
  if (error != NULL) CFRelease(error);
  return numbers;
}

PROTECTED __attribute__((weak)) CFStreamError CFReadStreamGetError(CFTypeRef stream) {
  return numbers_of(CFReadStreamCopyError(stream));
}

PROTECTED __attribute__((weak)) CFStreamError CFWriteStreamGetError(CFTypeRef stream) {
  return numbers_of(CFWriteStreamCopyError(stream));
}
