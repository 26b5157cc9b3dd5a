# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A chat server on Twisted, of lines: iam:NAME, then msg:TEXT. Prints the port of 127.0.0.1 that it got.
from twisted.internet import reactor
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineReceiver


class Chat(LineReceiver):
    delimiter = b"\n"
    MAX_LENGTH = 4096
    name = None

    def connectionMade(self):
        self.factory.members.append(self)

    def connectionLost(self, reason):
        self.factory.members.remove(self)
        if self.name:
            self.tell(self.name + " left")

    def lineReceived(self, line):
        word, _, rest = line.decode("utf-8", "replace").strip().partition(":")
        rest = rest.strip()
        if word == "iam" and rest:
            self.name = rest
            self.tell(self.name + " joined")
        elif word == "msg" and self.name:
            self.tell(self.name + ": " + rest)
        else:
            self.sendLine(b"error: say iam:NAME first, then msg:TEXT")

    def lineLengthExceeded(self, line):
        self.sendLine(b"error: line too long")
        self.transport.loseConnection()

    def tell(self, text):
        for member in self.factory.members:
            member.sendLine(text.encode())


factory = Factory.forProtocol(Chat)
factory.members = []
port = reactor.listenTCP(0, factory, interface="127.0.0.1")
print("port", port.getHost().port, flush=True)
reactor.run()
