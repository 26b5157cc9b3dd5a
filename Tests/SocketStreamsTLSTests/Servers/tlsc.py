# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A client for tests of TLS: python3 tlsc.py MODE PORT OPTION…. It does the one thing that MODE says against a server on
# 127.0.0.1 that echoes, and prints what was agreed upon and what came of it.
import argparse
import socket
import ssl

from tlsends import (
    Cut, Secured, add_arguments, configure, describe, pattern, read_all, read_count, read_line, say,
)

TIMEOUT = 60


def connect(arguments):
    connection = socket.create_connection(("127.0.0.1", arguments.port), TIMEOUT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def secure(connection, context, arguments, session=None):
    tls = Secured(connection, context, server_hostname=arguments.name, session=session)
    say("secured", describe(tls))
    return tls


def converse(tls, arguments):
    """Sends, and reads as much back; then ends properly, and waits for the same of the server.

    What it returns can be resumed."""
    sent = pattern(arguments.count)
    tls.sendall(sent)
    say("echoed", "same" if read_count(tls, len(sent)) == sent else "other")
    session = tls.tls.session
    tls.finish()
    data, end = read_all(tls)
    say("end", end, "after", len(data))
    return session


def echo(context, arguments):
    with connect(arguments) as connection:
        converse(secure(connection, context, arguments), arguments)


def half(context, arguments):
    """Sends all and ends its side before it reads."""
    with connect(arguments) as connection:
        tls = secure(connection, context, arguments)
        tls.sendall(pattern(arguments.count))
        tls.finish()
        data, end = read_all(tls)
        say("end", end, "after", len(data))


def cut(context, arguments):
    """Ends the connection without close_notify."""
    with connect(arguments) as connection:
        tls = secure(connection, context, arguments)
        tls.sendall(pattern(arguments.count))
        say("echoed", "same" if read_count(tls, arguments.count) == pattern(arguments.count) else "other")


def listen(context, arguments):
    """Says nothing, and reads to the end."""
    with connect(arguments) as connection:
        tls = secure(connection, context, arguments)
        data, end = read_all(tls)
        say("end", end, "after", len(data), "same" if data == pattern(len(data)) else "other")


def resume(context, arguments):
    session = None
    for _ in range(2):
        with connect(arguments) as connection:
            session = converse(secure(connection, context, arguments, session), arguments)


def starttls(context, arguments, injected=b""):
    with connect(arguments) as connection:
        say("greeted", read_line(connection).decode().strip())
        connection.sendall(b"STARTTLS\r\n" + injected)
        say("answered", read_line(connection).decode().strip())
        converse(secure(connection, context, arguments), arguments)


def inject(context, arguments):
    """The same, but somebody slips a command in behind the request."""
    starttls(context, arguments, b"INJECTED\r\n")


def unwrap(context, arguments):
    """Python's own TLS: asks for its end, takes it off, and goes on in plain."""
    with connect(arguments) as connection:
        tls = context.wrap_socket(connection, server_hostname=arguments.name)
        tls.sendall(b"CCC\n")
        say("answered", read_line(tls).decode().strip())
        with tls.unwrap() as plain:
            sent = pattern(arguments.count)
            plain.sendall(sent)
            say("plain", "same" if read_count(plain, len(sent)) == sent else "other")


MODES = {mode.__name__: mode for mode in [echo, half, cut, listen, resume, starttls, inject, unwrap]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("port", type=int)
    parser.add_argument("--name", default="localhost", help="whom the server has to be")
    parser.add_argument("--count", type=int, default=1000, help="how many bytes to send")
    add_arguments(parser)
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    configure(context, arguments)
    try:
        MODES[arguments.mode](context, arguments)
        say("done")
    except (Cut, OSError) as error:
        say("failed:", error)


main()
