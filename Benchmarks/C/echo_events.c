// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Echo with libevent's loop, but without its bufferevents: an event for reading, and one for writing while a
// send was short.
#include "echo_server.h"
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <string.h>

struct connection {
  evutil_socket_t fd;
  struct event *reading, *writing;
  char *rest;
  size_t length, sent;
};

static struct event_base *base;
static char buffer[BUFFER_SIZE];

static void end(struct connection *connection) {
  event_free(connection->reading);
  event_free(connection->writing);
  close(connection->fd);
  free(connection->rest);
  free(connection);
}

static void writable(evutil_socket_t fd, short what, void *argument) {
  (void)what;
  struct connection *connection = argument;
  size_t left = connection->length - connection->sent;
  ssize_t count = send(fd, connection->rest + connection->sent, left, MSG_NOSIGNAL);
  if (count < 0) {
    if (errno != EAGAIN) end(connection);
    return;
  }
  connection->sent += (size_t)count;
  if (connection->sent < connection->length) return;
  free(connection->rest);
  connection->rest = NULL;
  event_del(connection->writing);
  event_add(connection->reading, NULL);
}

static void readable(evutil_socket_t fd, short what, void *argument) {
  (void)what;
  struct connection *connection = argument;
  ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return end(connection);
  ssize_t sent = send(fd, buffer, (size_t)count, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return end(connection);
  if (sent < 0) sent = 0;
  if (sent == count) return;
  connection->length = (size_t)(count - sent);
  connection->sent = 0;
  connection->rest = malloc(connection->length);
  memcpy(connection->rest, buffer + sent, connection->length);
  event_del(connection->reading);
  event_add(connection->writing, NULL);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int length,
                     void *argument) {
  (void)listener, (void)peer, (void)length, (void)argument;
  struct connection *connection = calloc(1, sizeof *connection);
  connection->fd = fd;
  connection->reading = event_new(base, fd, EV_READ | EV_PERSIST, readable, connection);
  connection->writing = event_new(base, fd, EV_WRITE | EV_PERSIST, writable, connection);
  send_at_once(fd);
  event_add(connection->reading, NULL);
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
