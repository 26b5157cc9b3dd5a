// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The yardstick: an echo server of bare system calls. One read into a shared buffer for each wake, and the
// answer sent at once; what the kernel does not take is kept, and nothing is read meanwhile.
#include "echo_server.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

enum { EVENTS = 512 };

struct connection {
  int fd;
  char *rest;
  size_t length, sent;
};

static int loop;
static char buffer[BUFFER_SIZE];

static void watch(struct connection *connection, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  epoll_ctl(loop, operation, connection->fd, &event);
}

static void end(struct connection *connection) {
  close(connection->fd);
  free(connection->rest);
  free(connection);
}

static void accept_all(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct connection *connection = calloc(1, sizeof *connection);
    connection->fd = fd;
    send_at_once(fd);
    watch(connection, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void send_rest(struct connection *connection) {
  size_t left = connection->length - connection->sent;
  ssize_t count = send(connection->fd, connection->rest + connection->sent, left, MSG_NOSIGNAL);
  if (count < 0) {
    if (errno != EAGAIN) end(connection);
    return;
  }
  connection->sent += (size_t)count;
  if (connection->sent < connection->length) return;
  free(connection->rest);
  connection->rest = NULL;
  watch(connection, EPOLL_CTL_MOD, EPOLLIN);
}

static void echo(struct connection *connection) {
  ssize_t count = recv(connection->fd, buffer, sizeof buffer, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return end(connection);
  ssize_t sent = send(connection->fd, buffer, (size_t)count, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return end(connection);
  if (sent < 0) sent = 0;
  if (sent == count) return;
  connection->length = (size_t)(count - sent);
  connection->sent = 0;
  connection->rest = malloc(connection->length);
  memcpy(connection->rest, buffer + sent, connection->length);
  watch(connection, EPOLL_CTL_MOD, EPOLLOUT);
}

// A descriptor that is readable once the process is asked to end.
static int termination(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

int main(void) {
  struct connection end_request = {.fd = termination()}, listener = {.fd = listen_and_announce()};
  loop = epoll_create1(EPOLL_CLOEXEC);
  watch(&end_request, EPOLL_CTL_ADD, EPOLLIN);
  watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
  struct epoll_event events[EVENTS];
  for (;;) {
    int count = epoll_wait(loop, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      struct connection *connection = events[i].data.ptr;
      if (connection == &end_request) return 0;
      if (connection == &listener) accept_all(listener.fd);
      else if (connection->rest) send_rest(connection);
      else echo(connection);
    }
  }
}
