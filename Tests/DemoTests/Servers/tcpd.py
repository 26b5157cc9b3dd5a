# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A server for tests, on a port of the kernel's choice: python3 tcpd.py MODE. It treats every connection in the one way that
# MODE says, and prints the port, and what it got.
import socket
import struct
import sys
import threading
import time


def say(*words):
    # In one write, since every connection has its thread.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def read_all(connection):
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


def sink(connection):
    data = read_all(connection)
    say("got", len(data), data[:40])


def echo(connection):
    while piece := connection.recv(65536):
        connection.sendall(piece)


def hello(connection):
    connection.sendall("Hello from server \u4f60\u597d\n".encode())


def split(connection):
    """Every byte alone, so that characters are cut."""
    for byte in "h\u00e9llo \u4f60\u597d\n".encode():
        connection.sendall(bytes([byte]))
        time.sleep(0.005)


def badutf8(connection):
    connection.sendall(b"ok \xff\xfe bad\n")


def big(connection):
    connection.sendall(b"x" * 10_000_000)


def early(connection):
    pass


def rst(connection):
    connection.sendall(b"partial")
    time.sleep(0.05)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def silent(connection):
    threading.Event().wait()


def half(connection):
    """Says its piece, ends its side, and goes on reading."""
    connection.sendall(b"bye\n")
    connection.shutdown(socket.SHUT_WR)
    say("after FIN got", len(read_all(connection)))


MODES = {mode.__name__: mode for mode in [sink, echo, hello, split, badutf8, big, early, rst, silent, half]}


def serve(connection, mode):
    with connection:
        try:
            mode(connection)
        except OSError as error:
            say("server:", error)


def main():
    mode = MODES[sys.argv[1]]
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        say("port", listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


main()
