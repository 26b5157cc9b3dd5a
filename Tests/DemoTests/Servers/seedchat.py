# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
# A chat server as a tutorial has it, with a tutorial's faults, which clients have to live with: whatever one packet brings
# is one message, a text ends at its first colon, and what it does not expect is an exception, which ends the connection.
# Prints the port of 127.0.0.1 that it got.
from twisted.internet import reactor
from twisted.internet.protocol import Factory, Protocol


class SeedChat(Protocol):
    def connectionMade(self):
        self.factory.clients.append(self)

    def connectionLost(self, reason):
        self.factory.clients.remove(self)

    def dataReceived(self, data):
        parts = data.decode("utf-8").split(":")
        if len(parts) > 1:
            command, content = parts[0].strip(), parts[1].strip()
            message = ""
            if command == "iam":
                self.name = content
                message = self.name + " has joined"
            elif command == "msg":
                message = self.name + ": " + content
            for client in self.factory.clients:
                client.transport.write(message.encode() + b"\n")


factory = Factory.forProtocol(SeedChat)
factory.clients = []
port = reactor.listenTCP(0, factory, interface="127.0.0.1")
print("port", port.getHost().port, flush=True)
reactor.run()
