// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Echo as standalone Asio's tutorial has it: a session for each connection, with a buffer of its own.
#define ASIO_STANDALONE
#include <array>
#include <asio.hpp>
#include <cstdio>
#include <memory>

using asio::ip::tcp;

class Session : public std::enable_shared_from_this<Session> {
public:
  explicit Session(tcp::socket socket) : socket(std::move(socket)) {}

  void read() {
    socket.async_read_some(asio::buffer(buffer),
                           [self = shared_from_this()](std::error_code error, std::size_t count) {
                             if (!error) self->write(count);
                           });
  }

private:
  void write(std::size_t count) {
    asio::async_write(socket, asio::buffer(buffer.data(), count),
                      [self = shared_from_this()](std::error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket;
  std::array<char, 65536> buffer;
};

static void accept(tcp::acceptor &acceptor) {
  acceptor.async_accept([&acceptor](std::error_code error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<Session>(std::move(socket))->read();
    }
    accept(acceptor);
  });
}

int main() {
  asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  acceptor.listen(4096);
  asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&context](std::error_code, int) { context.stop(); });
  std::printf("%u\n", static_cast<unsigned>(acceptor.local_endpoint().port()));
  std::fflush(stdout);
  accept(acceptor);
  context.run();
}
