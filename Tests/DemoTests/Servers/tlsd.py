# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A TLS server for tests, on a port of the kernel's choice: python3 tlsd.py MODE CERTIFICATE KEY [--ca FILE] [--alpn A,B].
# It treats every connection in the one way that MODE says, and prints the port, and what happened. With --ca it requires
# a certificate of its clients.
import argparse
import socket
import ssl
import struct
import sys
import threading


def say(*words):
    # In one write, since every connection has its thread.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def secure(connection):
    secured = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=False)
    say("secured", secured.version(), secured.selected_alpn_protocol(), "client", bool(secured.getpeercert()))
    return secured


def read_all(connection):
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


def echo(connection):
    connection = secure(connection)
    while piece := connection.recv(65536):
        connection.sendall(piece)
    connection.unwrap().close()


def sink(connection):
    connection = secure(connection)
    data = read_all(connection)
    say("got", len(data), data[:40])
    connection.unwrap().close()


def rude(connection):
    """As sink, but for the notice at the end."""
    data = read_all(secure(connection))
    say("got", len(data), data[:40])


def hello(connection):
    connection = secure(connection)
    connection.sendall("Hello over TLS \u4f60\u597d\n".encode())
    connection.unwrap().close()


def cut(connection):
    """Ends without the notice that there is no more."""
    connection = secure(connection)
    connection.sendall(b"partial\n")
    socket.socket(fileno=connection.detach()).close()


def silent(connection):
    """Accepts the connection, and never says a word of TLS."""
    read_all(connection)


def http(connection):
    connection = secure(connection)
    head = b""
    while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
        head += piece
    connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>ok</p>")
    connection.unwrap().close()


def lines(connection):
    """The lines of a connection in plain, one byte at a time, so that nothing behind them is read."""
    while True:
        line = b""
        while not line.endswith(b"\n"):
            byte = connection.recv(1)
            if not byte:
                return
            line += byte
        yield line.decode().strip()


def mail(connection, answer=b"220 go ahead\r\n"):
    """Begins as a mail server does."""
    connection.sendall(b"220 mail.test\r\n")
    for line in lines(connection):
        say("line", line)
        if line.startswith("EHLO"):
            connection.sendall(b"250-mail.test\r\n250-SIZE 1000\r\n250 STARTTLS\r\n")
        elif line == "STARTTLS":
            connection.sendall(answer)
            return echo(connection)


def refuse(connection):
    mail(connection, b"454 TLS not available\r\n")


def inject(connection):
    mail(connection, b"220 go ahead\r\n250 injected\r\n")


def vanish(connection):
    """Ends instead of agreeing."""
    connection.sendall(b"220 mail.test\r\n")
    next(lines(connection))


def mute(connection):
    """Never ends an answer."""
    connection.sendall(b"220 mail.test\r\n")
    for line in lines(connection):
        say("line", line)
        connection.sendall(b"250-mail")


def reset(connection):
    """Breaks the connection instead of agreeing."""
    connection.sendall(b"220 mail.test\r\n")
    next(lines(connection))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


MODES = {
    mode.__name__: mode
    for mode in [echo, sink, rude, hello, cut, silent, http, mail, refuse, inject, vanish, mute, reset]
}


def serve(connection, mode):
    with connection:
        try:
            mode(connection)
        except OSError as error:
            say("server:", error)


parser = argparse.ArgumentParser()
parser.add_argument("mode", choices=MODES)
parser.add_argument("certificate")
parser.add_argument("key")
parser.add_argument("--ca")
parser.add_argument("--alpn")
arguments = parser.parse_args()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(arguments.certificate, arguments.key)
if arguments.ca:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(arguments.ca)
if arguments.alpn:
    context.set_alpn_protocols(arguments.alpn.split(","))
with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
    say("port", listener.getsockname()[1])
    while True:
        accepted, _ = listener.accept()
        threading.Thread(target=serve, args=(accepted, MODES[arguments.mode]), daemon=True).start()
