# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The operations that have thresholds: micro-benchmarks, and round trips through this library's servers."""

from __future__ import annotations

import processes
from echoes import ECHOES, operation
from meters import LIMIT, Measured, Operation
from places import MICRO_BENCHMARKS
from servers import SERVERS

# How often an operation is done in the two runs: fewer where it takes long, more where it is hardly more than
# start-up's own variation.
COUNTS = (500, 2500)
COUNTS_OF = {
  "connect-and-accept": (100, 500),
  "line-framing": (1000, 21_000),
  "poll-can-accept-bytes": (1000, 11_000),
  "poll-has-bytes-available": (1000, 11_000),
  "poll-status": (1000, 21_000),
}
# The other servers are there for a comparison only: a bufferevent's costs are libevent's.
ECHO_SERVERS = ("callbacks", "closures", "lending")


def micro_benchmark(name: str) -> Operation:
  def run(count: int, measured: Measured) -> None:
    command = [str(MICRO_BENCHMARKS), "run", name, str(count)]
    processes.run(measured.command(command), LIMIT, **measured.options)

  return Operation(name, run, *COUNTS_OF.get(name, COUNTS))


def all_by_name() -> dict[str, Operation]:
  listing = processes.run([str(MICRO_BENCHMARKS), "list"], LIMIT)
  found = [micro_benchmark(line.split()[0]) for line in listing.splitlines()]
  for server in SERVERS:
    if server.name in ECHO_SERVERS:
      found += [operation(f"echo-{server.name}-{echoes.name}", server.command, echoes) for echoes in ECHOES]
  return {operation.name: operation for operation in found}
