# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The round trips whose cost is measured: of one connection, and of many that are open and active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import processes
from meters import LIMIT, Measured, Operation
from servers import loading, serving


@dataclass(frozen=True)
class Echoes:
  """One kind of round trip, and how many there are in the two runs."""

  name: str
  title: str
  size: int
  connections: int
  few: int
  many: int


ECHOES = (
  Echoes("64", "64 B × 1", 64, 1, 500, 2500),
  Echoes("16384", "16 KiB × 1", 16_384, 1, 500, 2500),
  # More of them, as the connections are not accepted in the same groups each time.
  Echoes("64-by-50", "64 B × 50", 64, 50, 1000, 11_000),
)


def operation(name: str, command: Sequence[str], echoes: Echoes) -> Operation:
  """The round trips through a server. It is ended while the connections are open: their ends do not count."""

  def run(count: int, measured: Measured) -> None:
    arguments = ["--connections", str(echoes.connections), "--size", str(echoes.size), "--count", str(count)]
    with (
      serving(measured.command(command), None, **measured.options) as running,
      loading("pingpong", running, arguments, None, LIMIT),
    ):
      processes.terminate(running.process)

  return Operation(name, run, echoes.few, echoes.many)
