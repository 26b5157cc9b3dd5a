// <features.h> comes first: event2/event-config.h defines _GNU_SOURCE, and without this line the fd_set that Swift's
// Glibc module sees differs from the one seen here, which breaks clean builds.
#include <features.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// Which thread this is. glibc declares pthread_self() const, so the optimiser may carry its value across an await;
/// calling it through a volatile pointer asks anew each time.
static inline uintptr_t ss_thread_identity(void) {
  pthread_t (*volatile ask)(void) = pthread_self;
  return (uintptr_t)ask();
}
