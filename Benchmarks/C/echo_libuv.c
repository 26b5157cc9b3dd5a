// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Echo as libuv's guide has it: a buffer of the size that the loop suggests for each read, which its write
// hands back.
#include "echo_server.h"
#include <uv.h>

struct answer {
  uv_write_t request;
  uv_buf_t bytes;
};

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
  (void)handle;
  *buffer = uv_buf_init(malloc(size), (unsigned)size);
}

static void closed(uv_handle_t *handle) { free(handle); }

static void end(uv_handle_t *handle) {
  if (!uv_is_closing(handle)) uv_close(handle, closed);
}

static void written(uv_write_t *request, int status) {
  struct answer *answer = (struct answer *)request;
  if (status < 0) end((uv_handle_t *)request->handle);
  free(answer->bytes.base);
  free(answer);
}

static void arrived(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer) {
  if (count > 0) {
    struct answer *answer = malloc(sizeof *answer);
    answer->bytes = uv_buf_init(buffer->base, (unsigned)count);
    uv_write(&answer->request, stream, &answer->bytes, 1, written);
    return;
  }
  free(buffer->base);
  if (count < 0) end((uv_handle_t *)stream);
}

static void accepted(uv_stream_t *listener, int status) {
  if (status < 0) return;
  uv_tcp_t *connection = malloc(sizeof *connection);
  uv_tcp_init(listener->loop, connection);
  if (uv_accept(listener, (uv_stream_t *)connection)) return end((uv_handle_t *)connection);
  uv_tcp_nodelay(connection, 1);
  uv_read_start((uv_stream_t *)connection, allocate, arrived);
}

static void stop(uv_signal_t *handle, int number) {
  (void)number;
  uv_stop(handle->loop);
}

int main(void) {
  uv_loop_t *loop = uv_default_loop();
  uv_tcp_t listener;
  uv_signal_t termination;
  struct sockaddr_in address;
  int length = sizeof address;
  signal(SIGPIPE, SIG_IGN);
  uv_tcp_init(loop, &listener);
  uv_ip4_addr("127.0.0.1", 0, &address);
  if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) ||
      uv_listen((uv_stream_t *)&listener, BACKLOG, accepted) ||
      uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length)) {
    fprintf(stderr, "echo_libuv: cannot listen\n");
    return 1;
  }
  uv_signal_init(loop, &termination);
  uv_signal_start(&termination, stop, SIGTERM);
  announce_port(ntohs(address.sin_port));
  uv_run(loop, UV_RUN_DEFAULT);
  return 0;
}
