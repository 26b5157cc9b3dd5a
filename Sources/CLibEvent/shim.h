// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// <features.h> comes first: event2/event-config.h defines _GNU_SOURCE, and without this line the fd_set that Swift's
// Glibc module sees differs from the one seen here, which breaks clean builds.
#include <features.h>

// The C library's declarations are Swift's Glibc module's: without this line, which of the two modules owns those that
// libevent's headers bring along (sockaddr, timeval, SOCK_STREAM) depends on the order in which files are compiled, and a
// clean release build does not find them. The runtime's own shims include some of the same headers, and come first or not,
// by the same chance: timespec and timeval may be theirs.
#pragma clang module import SwiftGlibc
#pragma clang module import SwiftOverlayShims

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/// Which thread this is. glibc declares pthread_self() const, so the optimiser may carry its value across an await;
/// calling it through a volatile pointer asks anew each time.
static inline uintptr_t ss_thread_identity(void) {
  pthread_t (*volatile ask)(void) = pthread_self;
  return (uintptr_t)ask();
}

/// accept4(2), which <sys/socket.h> declares under _GNU_SOURCE only. The flags are set in the same call, so that no
/// program started by another thread inherits the socket.
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
static inline int ss_accept(int fd, void *address, socklen_t *length) {
  return accept4(fd, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// pthread_setname_np for the calling thread: <pthread.h> shows it only under _GNU_SOURCE, which must not be defined here.
static inline int ss_name_thread(const char *name) {
  extern int pthread_setname_np(pthread_t, const char *);
  return pthread_setname_np(pthread_self(), name);
}

/// How many processors the calling thread may run on; 0 if the kernel does not say. <sched.h> shows sched_getaffinity and its
/// set under _GNU_SOURCE only, and that set ends at 1,024 processors; this one has room for all that a kernel can be built for.
static inline int ss_processor_count(void) {
  unsigned long set[8192 / (8 * sizeof(unsigned long))];
  long size = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
  int count = 0;
  for (long word = 0; word < size / (long)sizeof *set; word++) count += __builtin_popcountl(set[word]);
  return count;
}
