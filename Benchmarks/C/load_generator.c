// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One thread that loads an echo server on 127.0.0.1 and compares every byte that comes back with what it
// sent. Prints its measurements as JSON, and keeps its connections until its standard input ends. Ends with 2
// if a byte differs, is missing or is one too many, or if nothing happens.
#define _GNU_SOURCE
#include "measure.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char usage[] =
    "usage: load_generator MODE PORT [OPTION VALUE]...\n"
    "  pingpong         each connection sends a message, waits for the echo, and sends the next\n"
    "  stream           each connection sends all it can, while it reads all that comes\n"
    "  connect          each connection is closed after one echo, and another opened\n"
    "  idle             the connections are opened one by one, and each gets one echo; `ready` is printed\n"
    "  --connections N  1    --size BYTES  64    --seconds S  1    --warmup S  0.2\n"
    "  --count N        instead of a time: so many echoes in all\n"
    "  --server PID     tells what the server took of its processor\n"
    "The connections stay until standard input ends.\n";

enum mode { PINGPONG, STREAM, CONNECT, IDLE };
enum { EVENTS = 512, OPENING_AT_ONCE = 256, SOURCES = 200, STALL_MS = 5000, PERIOD = 65521 /* prime */ };

struct connection {
  int fd;
  bool is_connecting, wants_room;
  uint32_t id, messages;
  size_t offset, sent, received;      // of the message under way, in the pattern
  uint64_t streamed_out, streamed_in;
  uint64_t start;
};

static struct {
  enum mode mode;
  const char *name;
  uint16_t port;
  long connections, server;
  size_t size;
  double seconds, warmup;
  uint64_t count;
} options = {.connections = 1, .size = 64, .seconds = 1, .warmup = 0.2};

static int loop;
static struct connection *connections;
static long opened, established, settled;
static unsigned char *pattern, *buffer;
static size_t buffer_size;

static enum { OPENING, WARMING, MEASURING, DRAINING, DONE } phase;
static uint64_t warm_at, start, end, operations, bytes;
static struct schedule client, server;
static struct histogram latencies;

static void fail(const char *what) {
  fprintf(stderr, "load_generator: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(2);
}

static void fail_plainly(const char *what) {
  errno = 0;
  fail(what);
}

// MARK: - Measuring

static void begin_measuring(uint64_t time) {
  phase = MEASURING;
  operations = bytes = 0;
  memset(&latencies, 0, sizeof latencies);
  client = schedule_of(getpid());
  server = schedule_of(options.server);
  start = time;
}

static void end_measuring(void) {
  struct schedule client_now = schedule_of(getpid()), server_now = schedule_of(options.server);
  end = now();
  client = (struct schedule){client_now.ran - client.ran, client_now.waited - client.waited};
  server = (struct schedule){server_now.ran - server.ran, server_now.waited - server.waited};
  phase = options.mode == STREAM ? DRAINING : DONE;
}

static void report(void) {
  double elapsed = (double)(end - start);
  double done = options.mode == STREAM ? (double)bytes / 1e6 : (double)operations;
  printf("{\"seconds\": %.6f, \"rate\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, "
         "\"server_cpu\": %.4f, \"client_share\": %.4f, \"server_share\": %.4f, \"client_wait\": %.5f, "
         "\"server_wait\": %.5f}\n",
         elapsed / 1e9, done / elapsed * 1e9, quantile(&latencies, 0.5) / 1e3,
         quantile(&latencies, 0.99) / 1e3, quantile(&latencies, 0.999) / 1e3,
         done > 0 ? (double)server.ran / 1e3 / done : 0, (double)client.ran / elapsed,
         (double)server.ran / elapsed, (double)client.waited / elapsed, (double)server.waited / elapsed);
}

// One echo is complete.
static void count_operation(struct connection *connection, uint64_t time) {
  record(&latencies, time - connection->start);
  operations++;
  if (options.count && operations == options.count) end_measuring();
}

// MARK: - Connections

static void watch(struct connection *connection, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(loop, operation, connection->fd, &event)) fail("epoll_ctl");
}

static void want_room(struct connection *connection, bool wants) {
  if (connection->wants_room == wants) return;
  connection->wants_room = wants;
  watch(connection, EPOLL_CTL_MOD, wants ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// Many short connections come from many addresses, so that the ports of one do not run out.
static void choose_source(int fd) {
  static uint32_t next;
  struct sockaddr_in source = {.sin_family = AF_INET};
  int on = 1;
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + next++ % SOURCES);
  if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) ||
      bind(fd, (struct sockaddr *)&source, sizeof source))
    fail("bind");
}

static void open_connection(struct connection *connection) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
  int on = 1;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection->fd < 0) fail("socket");
  if (setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) fail("setsockopt");
  if (options.mode == CONNECT) choose_source(connection->fd);
  connection->is_connecting = connection->wants_room = true;
  if (options.mode == CONNECT) connection->start = now();
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS)
    fail("connect");
  watch(connection, EPOLL_CTL_ADD, EPOLLOUT);
}

static void open_next(void) {
  if (opened == options.connections) return;
  connections[opened].id = (uint32_t)opened;
  open_connection(&connections[opened++]);
}

static void send_message(struct connection *connection) {
  while (connection->sent < options.size) {
    ssize_t count = send(connection->fd, pattern + connection->offset + connection->sent,
                         options.size - connection->sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) fail("send");
    if (count < 0) return want_room(connection, true);
    connection->sent += (size_t)count;
  }
  want_room(connection, false);
}

static void begin_message(struct connection *connection, uint64_t time) {
  connection->messages++;
  connection->offset = (connection->id * 7919ull + connection->messages * 104729ull) % PERIOD;
  connection->sent = connection->received = 0;
  if (options.mode != CONNECT) connection->start = time;
  send_message(connection);
}

// MARK: - Events

static void connected(struct connection *connection) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &length)) fail("getsockopt");
  if ((errno = error)) fail("connect");
  connection->is_connecting = false;
  if (established < options.connections) established++;
  if (options.mode != IDLE) open_next();
  if (options.mode == STREAM) return watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  want_room(connection, false);
  begin_message(connection, now());
}

// What has arrived, compared with `expected`, of which at most `limit` bytes are due; 0 if nothing has.
static size_t receive(struct connection *connection, const unsigned char *expected, uint64_t limit) {
  ssize_t count = recv(connection->fd, buffer, buffer_size, 0);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count < 0) fail("recv");
  if (count == 0) fail_plainly("the server closed a connection");
  if ((uint64_t)count > limit) fail_plainly("more bytes came back than were sent");
  if (memcmp(buffer, expected, (size_t)count)) fail_plainly("the bytes differ");
  return (size_t)count;
}

static void streamed(struct connection *connection, uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    size_t count = receive(connection, pattern + connection->streamed_in % PERIOD,
                           connection->streamed_out - connection->streamed_in);
    connection->streamed_in += count;
    bytes += phase == DRAINING ? 0 : count;
    if (phase == DRAINING && count && connection->streamed_in == connection->streamed_out) settled++;
  }
  if (events & EPOLLOUT && phase != DRAINING) {
    ssize_t count =
        send(connection->fd, pattern + connection->streamed_out % PERIOD, options.size, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) fail("send");
    if (count > 0) connection->streamed_out += (uint64_t)count;
  }
}

static void answered(struct connection *connection, uint32_t events) {
  if (events & EPOLLOUT && connection->sent < options.size) send_message(connection);
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  connection->received += receive(connection, pattern + connection->offset + connection->received,
                                  connection->sent - connection->received);
  if (connection->received < options.size) return;
  uint64_t time = now();
  count_operation(connection, time);
  if (options.mode == IDLE) {
    settled++;
    open_next();
  } else if (phase != DONE && options.mode == PINGPONG) {
    begin_message(connection, time);
  } else if (phase != DONE) {
    close(connection->fd);
    open_connection(connection);
  }
}

// What is sent is still received, so that its end is compared as well.
static void begin_draining(void) {
  for (long i = 0; i < options.connections; i++) {
    watch(&connections[i], EPOLL_CTL_MOD, EPOLLIN);
    settled += connections[i].streamed_in == connections[i].streamed_out;
  }
}

static void advance(uint64_t time) {
  if (phase == OPENING && established == options.connections && !options.count && options.mode != IDLE) {
    phase = WARMING;
    warm_at = time + (uint64_t)(options.warmup * 1e9);
  }
  if (phase == WARMING && time >= warm_at) begin_measuring(time);
  if (phase == MEASURING && !options.count && (double)(time - start) >= options.seconds * 1e9) {
    end_measuring();
    if (phase == DRAINING) begin_draining();
  }
}

static bool is_done(void) {
  return phase == DONE || ((phase == DRAINING || options.mode == IDLE) && settled == options.connections);
}

static void run(void) {
  struct epoll_event events[EVENTS];
  if (options.count) begin_measuring(now());
  while (opened < options.connections && opened < (options.mode == IDLE ? 1 : OPENING_AT_ONCE)) open_next();
  while (!is_done()) {
    int count = epoll_wait(loop, events, EVENTS, STALL_MS);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    if (count == 0) fail_plainly("nothing happened for five seconds");
    advance(now());
    for (int i = 0; i < count; i++) {
      struct connection *connection = events[i].data.ptr;
      if (phase == DONE) break;
      if (connection->is_connecting) connected(connection);
      else if (options.mode == STREAM) streamed(connection, events[i].events);
      else answered(connection, events[i].events);
    }
  }
}

// MARK: - Beginning

static bool take(const char *option, const char *value) {
  if (!strcmp(option, "--connections")) options.connections = atol(value);
  else if (!strcmp(option, "--size")) options.size = strtoul(value, NULL, 10);
  else if (!strcmp(option, "--seconds")) options.seconds = atof(value);
  else if (!strcmp(option, "--warmup")) options.warmup = atof(value);
  else if (!strcmp(option, "--count")) options.count = strtoull(value, NULL, 10);
  else if (!strcmp(option, "--server")) options.server = atol(value);
  else return false;
  return options.connections > 0 && options.size > 0;
}

static bool parse(int count, char **arguments) {
  static const char *const names[] = {"pingpong", "stream", "connect", "idle"};
  if (count < 3) return false;
  for (unsigned i = 0; i < 4; i++)
    if (!strcmp(arguments[1], names[i])) {
      options.mode = (enum mode)i;
      options.name = names[i];
    }
  options.port = (uint16_t)atoi(arguments[2]);
  for (int i = 3; i < count; i += 2)
    if (i + 1 == count || !take(arguments[i], arguments[i + 1])) return false;
  return options.name && options.port;
}

static void make_pattern(void) {
  uint64_t random = 88172645463325252ull;
  buffer_size = options.size > 65536 ? options.size : 65536;
  buffer = malloc(buffer_size);
  pattern = malloc(PERIOD + buffer_size);
  for (size_t i = 0; i < PERIOD; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    pattern[i] = (unsigned char)(random >> 24);
  }
  for (size_t i = PERIOD; i < PERIOD + buffer_size; i++) pattern[i] = pattern[i - PERIOD];
}

int main(int count, char **arguments) {
  if (!parse(count, arguments)) {
    fputs(usage, stderr);
    return 64;
  }
  make_pattern();
  loop = epoll_create1(EPOLL_CLOEXEC);
  connections = calloc((size_t)options.connections, sizeof *connections);
  run();
  if (options.mode == IDLE) puts("ready");
  else report();
  fflush(stdout);
  while (read(STDIN_FILENO, buffer, 1) > 0) continue;
  return 0;
}
