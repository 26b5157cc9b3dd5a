// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What OpenSSL does alone, without sockets: two connections joined in memory, on one thread. tls_limits CERTIFICATE KEY prints
// the bytes a second that one end secures and the other reads, and full handshakes a second.
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
  fprintf(stderr, "tls_limits: %s\n", what);
  exit(1);
}

struct pair {
  SSL *client, *server;
};

static struct pair make(SSL_CTX *for_client, SSL_CTX *for_server) {
  struct pair pair = {SSL_new(for_client), SSL_new(for_server)};
  BIO *one, *other;
  if (!pair.client || !pair.server || !BIO_new_bio_pair(&one, 1 << 17, &other, 1 << 17)) fail("out of memory");
  SSL_set_bio(pair.client, one, one);
  SSL_set_bio(pair.server, other, other);
  SSL_set_connect_state(pair.client);
  SSL_set_accept_state(pair.server);
  for (int done = 0; done < 2;) {
    done = (SSL_do_handshake(pair.client) == 1) + (SSL_do_handshake(pair.server) == 1);
  }
  return pair;
}

static void end(struct pair pair) {
  SSL_free(pair.client);
  SSL_free(pair.server);
}

int main(int count, char **arguments) {
  if (count != 3) fail("two arguments are needed: certificate and key");
  SSL_CTX *client = SSL_CTX_new(TLS_client_method()), *server = SSL_CTX_new(TLS_server_method());
  if (!client || !server || SSL_CTX_use_certificate_chain_file(server, arguments[1]) != 1
      || SSL_CTX_use_PrivateKey_file(server, arguments[2], SSL_FILETYPE_PEM) != 1)
    fail("the certificate and the key cannot be used");

  static char block[16384], room[16384];
  struct pair pair = make(client, server);
  double start = now(), elapsed = 0, bytes = 0;
  while ((elapsed = now() - start) < 2) {
    for (int round = 0; round < 64; round++) {
      size_t moved = 0;
      if (SSL_write(pair.server, block, sizeof block) != sizeof block) fail("write");
      while (moved < sizeof block) {
        int got = SSL_read(pair.client, room, sizeof room);
        if (got <= 0) fail("read");
        moved += (size_t)got;
      }
      bytes += sizeof block;
    }
  }
  printf("bulk %.1f MB a second, both ends on one thread (%s)\n", bytes / elapsed / 1e6, SSL_get_cipher(pair.client));
  end(pair);

  double handshakes = 0;
  start = now();
  while ((elapsed = now() - start) < 2) {
    end(make(client, server));
    handshakes++;
  }
  printf("handshakes %.0f a second, both ends on one thread\n", handshakes / elapsed);
  SSL_CTX_free(client);
  SSL_CTX_free(server);
}
