# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The programs that Scripts/check-budgets measures: builds them, and runs them through whatever counts."""

import select
import subprocess
import sys
import tempfile
from pathlib import Path

import costs
from costs import Failure

BENCHMARKS = Path(__file__).resolve().parents[1]
ECHO_APIS = ("callbacks", "closures")
ECHO_SIZES = (64, 16_384)


class Programs:
    """The micro-benchmarks, and an echo server with its client."""

    def __init__(self, folder):
        for product in ("MicroBenchmarks", "EchoServer"):
            done = subprocess.run(
                swift_build("--product", product), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                print(done.stdout, file=sys.stderr)
                raise Failure(f"{product} could not be built; the compiler's messages are above")
        path = costs.run(swift_build("--show-bin-path"), "the folder of the release build is not known")
        self.micro = Path(path.strip()) / "MicroBenchmarks"
        self.server = Path(path.strip()) / "EchoServer"
        self.client = Path(folder) / "pingpong"
        costs.compile_c(BENCHMARKS / "C/pingpong.c", self.client)

    def operations(self):
        """By each benchmark's name, how to do `count` of its operations: a function of that and of `wrap`, through
        which the command line of the program that is measured is passed."""
        listing = costs.run([self.micro, "list"], "the micro-benchmarks cannot be listed")
        found = {name: self.micro_run(name) for name in (line.split()[0] for line in listing.splitlines())}
        for api in ECHO_APIS:
            for size in ECHO_SIZES:
                found[f"echo-{api}-{size}"] = self.echo_run(api, size)
        return found

    def micro_run(self, name):
        return lambda count, wrap: costs.run(wrap([self.micro, "run", name, str(count)]), f"{name} failed")

    def echo_run(self, api, size):
        return lambda count, wrap: self.echo(api, size, count, wrap)

    def echo(self, api, size, count, wrap):
        """One connection of `count` round trips of `size` bytes."""
        command = costs.limited(wrap([self.server, api]))
        with tempfile.TemporaryFile("w+") as messages, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages, text=True
        ) as server:
            try:
                ready = select.select([server.stdout], [], [], costs.TIME_LIMIT)[0]
                port = server.stdout.readline().strip() if ready else ""
                if port:
                    client = [self.client, port, str(size), str(count)]
                    costs.run(client, f"the client of the echo server by {api} failed")
                    server.wait()
            finally:
                server.terminate()
                server.wait()
            if not port or server.returncode != 0:
                messages.seek(0)
                why = costs.reason(messages.read(), server.returncode)
                raise Failure(f"the echo server by {api} failed: {why}")


def swift_build(*options):
    return ["swift", "build", "--configuration", "release", "--package-path", str(BENCHMARKS), *options]
