// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Echo as libevent's manual has it: a bufferevent for each connection, whose input is moved to its output.
#include "echo_server.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

static struct event_base *base;

static void arrived(struct bufferevent *bufferevent, void *argument) {
  (void)argument;
  evbuffer_add_buffer(bufferevent_get_output(bufferevent), bufferevent_get_input(bufferevent));
}

static void happened(struct bufferevent *bufferevent, short what, void *argument) {
  (void)argument;
  if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) bufferevent_free(bufferevent);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int length,
                     void *argument) {
  (void)listener, (void)peer, (void)length, (void)argument;
  struct bufferevent *bufferevent = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
  send_at_once(fd);
  bufferevent_setcb(bufferevent, arrived, NULL, happened, NULL);
  bufferevent_enable(bufferevent, EV_READ | EV_WRITE);
}

static void stop(evutil_socket_t number, short what, void *argument) {
  (void)number, (void)what, (void)argument;
  event_base_loopbreak(base);
}

int main(void) {
  base = event_base_new();
  int fd = listen_and_announce();
  // A backlog of 0 leaves the socket as it is: it listens already.
  unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC;
  if (!evconnlistener_new(base, accepted, NULL, flags, 0, fd)) return 1;
  event_add(evsignal_new(base, SIGTERM, stop, NULL), NULL);
  return event_base_dispatch(base);
}
