// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the echo servers in C have in common: a listening socket on a port that the kernel chooses, which they
// print.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096, BUFFER_SIZE = 65536 };

static inline void announce_port(unsigned port) {
  printf("%u\n", port);
  fflush(stdout);
}

// A non-blocking socket that listens on 127.0.0.1.
static inline int listen_and_announce(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) || listen(fd, BACKLOG) ||
      getsockname(fd, (struct sockaddr *)&address, &length)) {
    perror("listen");
    exit(1);
  }
  signal(SIGPIPE, SIG_IGN);
  announce_port(ntohs(address.sin_port));
  return fd;
}

static inline void send_at_once(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
