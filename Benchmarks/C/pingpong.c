// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A load generator: sends SIZE bytes to an echo server on 127.0.0.1, reads them back and compares them, COUNT times
// over one connection. Prints round trips a second. Ends with 2 when a byte differs or the server fails.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  exit(2);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: pingpong PORT SIZE COUNT\n");
    return 2;
  }
  size_t size = strtoul(argv[2], NULL, 10);
  long count = strtol(argv[3], NULL, 10);
  unsigned char *sent = malloc(size), *received = malloc(size);
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1]))};
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof server)) die("connect");
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) die("setsockopt");

  double start = seconds();
  for (long round = 0; round < count; round++) {
    for (size_t i = 0; i < size; i++) sent[i] = (unsigned char)(i * 31 + (size_t)round * 7);
    for (size_t done = 0; done < size;) {
      ssize_t n = send(fd, sent + done, size - done, MSG_NOSIGNAL);
      if (n < 0) die("send");
      done += (size_t)n;
    }
    if (recv(fd, received, size, MSG_WAITALL) != (ssize_t)size) die("recv");
    if (memcmp(sent, received, size)) {
      fprintf(stderr, "pingpong: round %ld: the bytes differ\n", round);
      return 2;
    }
  }
  printf("%.0f\n", (double)count / (seconds() - start));
  close(fd);
  return 0;
}
