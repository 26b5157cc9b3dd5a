# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A server for tests of TLS, on a port of the kernel's choice: python3 tlsd.py MODE OPTION…. It treats every connection in the
# one way that MODE says, and prints the port, what was agreed upon, and what it got.
import argparse
import socket
import ssl
import threading

from tlsends import (
    Secured, add_arguments, configure, describe, pattern, read_all, read_each, read_line, reset_on_close, say,
)

arguments = None


# With TLS from the beginning.


def echo(tls):
    """Sends back what comes, to the end, and then says close_notify."""
    count = 0

    def send_back(piece):
        nonlocal count
        count += len(piece)
        tls.sendall(piece)

    end = read_each(tls, send_back)
    say("echoed", count, "end", end)
    tls.finish()


def burst(tls):
    """Sends, and ends properly at once."""
    send(tls)
    tls.finish()


def hello(tls):
    """Greets, ends its side, and waits for the client to end the other."""
    tls.sendall("Hello over TLS \u4f60\u597d\n".encode())
    tls.finish()
    read_all(tls)


def page(tls):
    """A web server that has one page."""
    head = b""
    while b"\r\n\r\n" not in head and (piece := tls.recv(65536)):
        head += piece
    tls.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>ok</p>")
    tls.finish()
    read_all(tls)


def keep(tls):
    """Sends, and then nothing more."""
    send(tls)
    threading.Event().wait()


def cut(tls):
    """Sends, and ends the connection without close_notify."""
    send(tls)


def reset(tls):
    """Sends, and resets the connection once a byte has come."""
    send(tls)
    tls.recv(1)
    reset_on_close(tls.connection)


def half(tls):
    """Sends, ends its side, and goes on reading."""
    send(tls)
    tls.finish()
    take(tls)


def answer(tls):
    """Reads to the end, and only then sends, and ends."""
    take(tls)
    send(tls)
    tls.finish()


def rude(tls):
    """Reads to the end, and ends the connection without close_notify."""
    take(tls)


def stay(tls):
    """Sends, reads to the end, tells how the connection below ends, and does not end it itself."""
    send(tls)
    take(tls)
    try:
        say("below:", "more" if tls.connection.recv(1) else "end")
    except ConnectionResetError:
        say("below:", "reset")
    threading.Event().wait()


def slow(tls):
    """Reads nothing until somebody connects to the other port."""
    say("waiting")
    released.wait()
    take(tls)
    tls.finish()


def flood(tls):
    """Sends a lot, a piece at a time."""
    piece, left = pattern(65536), arguments.count
    while left > 0:
        tls.sendall(piece[:left])
        left -= len(piece)
    tls.finish()
    say("flooded", arguments.count)
    threading.Event().wait()


def send(tls):
    tls.sendall(arguments.text.encode() or pattern(arguments.count))


def take(tls):
    """Reads to the end, and tells whether it was the pattern, how it ended, and how it began."""
    count, begin, is_same = 0, b"", True

    def check(piece):
        nonlocal count, begin, is_same
        offset = count % 65536
        is_same = is_same and piece == pattern(offset + len(piece))[offset:]
        begin += piece[:40 - len(begin)]
        count += len(piece)

    end = read_each(tls, check)
    say("got", count, "same" if is_same else "other", "end", end, begin)


# Without, or not at once.


def silent(_):
    """Never says a word, whatever comes."""
    threading.Event().wait()


def early(_):
    """Ends the connection at once."""


def http(connection):
    """A web server without TLS, which takes the hello for a bad request."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    threading.Event().wait()


def garbage(connection):
    """Bytes that mean nothing, at once."""
    connection.sendall(bytes((i * 197 + 91) & 0xFF for i in range(1000)))
    threading.Event().wait()


def starttls(connection, answer=b"220 go\r\n"):
    """Begins as a mail server does, and then the same as `echo`."""
    connection.sendall(b"220 ready\r\n")
    while line := read_line(connection):
        say("line", line.decode().strip())
        if line.startswith(b"EHLO"):
            connection.sendall(b"250-mail.test\r\n250-SIZE 1000\r\n250 STARTTLS\r\n")
        elif line == b"STARTTLS\r\n":
            connection.sendall(answer)
            return secure(connection, echo)


def inject(connection):
    """The same, but somebody slips bytes in behind the reply."""
    starttls(connection, b"220 go\r\n250 INJECTED\r\n")


def refuse(connection):
    """The same, but for its answer."""
    starttls(connection, b"454 TLS not available\r\n")


def vanish(connection):
    """Ends instead of agreeing."""
    connection.sendall(b"220 ready\r\n")
    read_line(connection)


def mute(connection):
    """Never ends an answer."""
    connection.sendall(b"220 ready\r\n")
    while line := read_line(connection):
        say("line", line.decode().strip())
        connection.sendall(b"250-mail")


def quarrel(connection):
    """Resets the connection instead of agreeing."""
    connection.sendall(b"220 ready\r\n")
    read_line(connection)
    reset_on_close(connection)


def unwrap(connection):
    """Python's own TLS, until a line asks for its end; then it sends back what comes in plain."""
    tls = context.wrap_socket(connection, server_side=True)
    say("asked", read_line(tls).decode().strip())
    tls.sendall(b"200 plain\n")
    with tls.unwrap() as plain:
        plain.sendall(b"hello\n")
        send_plain_back(plain)


def send_plain_back(plain, first=b""):
    count = len(first)
    plain.sendall(first)
    while piece := plain.recv(65536):
        count += len(piece)
        plain.sendall(piece)
    say("sent back", count, "in plain")


def together(tls):
    """The same, with the answer, the end of TLS and plain bytes that look like a record in one piece."""
    say("asked", read_line(tls).decode().strip())
    tls.tls.write(b"200 plain\n")
    first = tls.stop(b"\x17\x03\x03\x00\x05hello\n")
    send_plain_back(tls.connection, first)


def silence(tls):
    """Answers, and never ends TLS."""
    read_line(tls)
    tls.sendall(b"200 plain\n")
    threading.Event().wait()


def leave(tls):
    """Answers, and ends the connection instead of TLS."""
    read_line(tls)
    tls.sendall(b"200 plain\n")
    tls.connection.shutdown(socket.SHUT_WR)
    threading.Event().wait()


SECURED = {
    mode.__name__: mode for mode in [
        echo, burst, hello, page, keep, cut, reset, half, answer, rude, stay, slow, flood, together, silence, leave,
    ]
}
PLAIN = {
    mode.__name__: mode
    for mode in [silent, early, http, garbage, starttls, inject, unwrap, refuse, vanish, mute, quarrel]
}

context = None
released = threading.Event()


def remember_name(tls, name, _):
    say("sni", name)


def secure(connection, mode):
    try:
        tls = Secured(connection, context, server_side=True)
    except OSError as error:
        say("no handshake:", error)
        return
    say("secured", describe(tls))
    mode(tls)


def serve(connection, mode):
    with connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if mode in SECURED:
                secure(connection, SECURED[mode])
            else:
                PLAIN[mode](connection)
        except OSError as error:
            say("server:", error)


def release(listener):
    listener.accept()
    released.set()


def main():
    global arguments, context
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=list(SECURED) + list(PLAIN))
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--count", type=int, default=0, help="how many bytes of the pattern a mode sends")
    parser.add_argument("--text", default="", help="what it sends instead")
    parser.add_argument("--clients", choices=["none", "optional", "required"], default="none")
    parser.add_argument("--small", action="store_true", help="small buffers in the kernel")
    add_arguments(parser)
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    configure(context, arguments)
    context.sni_callback = remember_name
    context.verify_mode = {
        "none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED,
    }[arguments.clients]
    family = socket.AF_INET6 if ":" in arguments.address else socket.AF_INET
    releaser = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=release, args=(releaser,), daemon=True).start()
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        if arguments.small:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind((arguments.address, 0))
        listener.listen(64)
        say("release", releaser.getsockname()[1])
        say("port", listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, arguments.mode), daemon=True).start()


main()
