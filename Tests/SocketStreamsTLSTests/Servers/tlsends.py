# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# What the servers and clients for tests of TLS have in common.
import socket
import ssl
import struct
import sys

# The bytes that tests send: the same as `pattern` in the Swift tests.
_ONCE = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(65536))


def pattern(count):
    whole, rest = divmod(count, 65536)
    return _ONCE * whole + _ONCE[:rest]


def say(*words):
    # In one write, since every connection has its thread.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Cut(Exception):
    """The connection ended without close_notify."""


class Secured:
    """TLS on a connection. Unlike Python's own, it can end its direction and go on with the other, and tells a proper end
    from any other."""

    def __init__(self, connection, context, **options):
        self.connection = connection
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, **options)
        self._run(self.tls.do_handshake)

    def recv(self, count):
        """Some bytes; none at a proper end. Raises `Cut` at another one."""
        try:
            return self._run(self.tls.read, count)
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            if isinstance(error, ssl.SSLEOFError) or error.reason == "UNEXPECTED_EOF_WHILE_READING":
                raise Cut from error
            raise

    def sendall(self, data):
        for start in range(0, len(data), 65536):
            self._run(self.tls.write, data[start:start + 65536])

    def finish(self):
        """Says close_notify, and neither waits for the peer's nor ends the connection."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            # The peer's has not come yet, or never will.
            pass
        self._flush()

    def stop(self, behind=b""):
        """Says close_notify with plain bytes behind it, all in one piece, and waits for the peer's close_notify.

        Returns what came in plain behind that one."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.connection.sendall(self.outgoing.read() + behind)
        self._run(self.tls.unwrap)
        return self.incoming.read()

    def _run(self, step, *arguments):
        while True:
            try:
                return step(*arguments)
            except ssl.SSLWantReadError:
                self._flush()
                data = self.connection.recv(65536)
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()
            finally:
                self._flush()

    def _flush(self):
        if data := self.outgoing.read():
            self.connection.sendall(data)


def read_each(secured, take):
    """Reads to the end, and tells how it ended: `notice` is a proper end, by close_notify."""
    try:
        while piece := secured.recv(65536):
            take(piece)
    except Cut:
        return "cut"
    except ConnectionResetError:
        return "reset"
    return "notice"


def read_all(secured):
    """Reads to the end: the bytes, and how it ended."""
    data = bytearray()
    end = read_each(secured, data.extend)
    return bytes(data), end


def read_count(connection, count):
    data = b""
    while len(data) < count and (piece := connection.recv(count - len(data))):
        data += piece
    return data


def read_line(connection):
    """A line, and not a byte of what is behind it."""
    line = b""
    while not line.endswith(b"\n") and (byte := connection.recv(1)):
        line += byte
    return line


def reset_on_close(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def add_arguments(parser):
    parser.add_argument("--cert", help="certificate chain, PEM")
    parser.add_argument("--key", help="key, PEM")
    parser.add_argument("--ca", help="what is trusted, PEM")
    parser.add_argument("--alpn", default="", help="protocols, with commas")
    parser.add_argument("--max", choices=["1.2", "1.3"], default="1.3", help="newest version")


def configure(context, arguments):
    # Python takes any end for a proper one, unless it is told not to.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    if arguments.cert:
        context.load_cert_chain(arguments.cert, arguments.key)
    if arguments.ca:
        context.load_verify_locations(arguments.ca)
    if arguments.alpn:
        context.set_alpn_protocols(arguments.alpn.split(","))
    if arguments.max == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2


def describe(secured):
    """What was agreed upon."""
    tls = secured.tls
    certificate = tls.getpeercert()
    names = [value for entry in (certificate or {}).get("subject", ()) for key, value in entry]
    return (
        f"version={tls.version()} alpn={tls.selected_alpn_protocol()} reused={tls.session_reused}"
        f" peer={'/'.join(names)}"
    )
