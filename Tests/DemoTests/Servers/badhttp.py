#!/usr/bin/python3
# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""An HTTP server that misbehaves in the way that the path asks for.

One request a connection, on a port of 127.0.0.1 that the kernel chooses and that is printed. Ends with whoever started it.
"""

import socket
import struct
import threading
import time

BODY = bytes(i % 251 for i in range(100_000))


def head(status, *fields):
    lines = [f"HTTP/1.1 {status}", *fields, "Connection: close", "", ""]
    return "\r\n".join(lines).encode()


LENGTH = head("200 OK", f"Content-Length: {len(BODY)}")
CHUNKED = head("200 OK", "Transfer-Encoding: chunked")
NO_LENGTH = head("200 OK")

# What is sent before the connection is closed.
REPLIES = {
    "/ok": LENGTH + BODY,
    "/early": b"",
    "/halfhead": b"HTTP/1.1 200 OK\r\nContent-Len",
    "/short": LENGTH + BODY[:1_234],
    "/long": head("200 OK", "Content-Length: 10") + BODY[:50],
    "/nolength": NO_LENGTH + BODY,
    "/chunked": CHUNKED + b"5;x=1\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
    "/chunkcut": CHUNKED + b"5\r\nhello\r\n20\r\nonly ten b",
    "/chunknoend": CHUNKED + b"5\r\nhello\r\n",
    "/chunkbad": CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n",
    "/bighead": b"HTTP/1.1 200 OK\r\nX-Pad: " + b"a" * 3_000_000 + b"\r\n\r\n",
    "/head40k": head("200 OK", "X-Pad: " + "a" * 40_000, "Content-Length: 2") + b"hi",
    "/continue": b"HTTP/1.1 100 Continue\r\n\r\n" + head("200 OK", "Content-Length: 2") + b"hi",
    "/old": b"an answer of HTTP/0.9\n",
    "/zero": head("200 OK", "Content-Length: 0", "Content-Type: text/html"),
}


def send_cut(connection, reply, is_cut):
    """Sends the reply in pieces, each ending behind a byte for which `is_cut` says so."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    piece = b""
    for index in range(len(reply)):
        piece += reply[index : index + 1]
        if is_cut(piece[-1]) or index == len(reply) - 1:
            connection.sendall(piece)
            piece = b""
            # A pause is what makes the cut: without it the kernel would put the bytes together again.
            time.sleep(0.002)


def wait_for_close(connection):
    while connection.recv(65_536):
        pass


def read_request(connection):
    request = b""
    while b"\r\n\r\n" not in request and b"\n\n" not in request:
        piece = connection.recv(65_536)
        if not piece:
            return None
        request += piece
    return request


def serve(connection):
    request = read_request(connection)
    if request is None:
        return
    words = request.split()
    path = words[1].decode() if len(words) > 1 else ""
    hello = head("200 OK", "Content-Length: 11") + b"hello world"
    if path == "/echo":
        connection.sendall(head("200 OK", f"Content-Length: {len(request)}") + request)
    elif path == "/bytes":
        send_cut(connection, hello, lambda byte: True)
    elif path == "/returns":
        # CR is the last byte of one write, and LF the first of the next.
        send_cut(connection, hello, lambda byte: byte == 13)
    elif path == "/stall":
        connection.sendall(LENGTH + BODY[:100])
        wait_for_close(connection)
    elif path == "/halt":
        connection.sendall(REPLIES["/halfhead"])
        wait_for_close(connection)
    elif path == "/silent":
        wait_for_close(connection)
    elif path == "/rst":
        connection.sendall(LENGTH + BODY[:5_000])
        # The client has to read the bytes before the reset, which throws away what has not been read.
        time.sleep(0.2)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        connection.sendall(REPLIES.get(path, head("404 Not Found", "Content-Length: 10") + b"not found\n"))


def handle(connection):
    try:
        serve(connection)
    except OSError:
        pass  # The client has gone, as some are meant to.
    finally:
        connection.close()


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(f"port {listener.getsockname()[1]}", flush=True)
while True:
    client, _ = listener.accept()
    threading.Thread(target=handle, args=(client,), daemon=True).start()
