# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""This library's server with one loop and with two, which share connections in either way."""

from __future__ import annotations

from collections.abc import Callable

import processes
from columns import COLUMNS
from load import limit, median, rotated, timing
from places import ECHO_SERVER
from servers import load, serving

VARIANTS = {
  "1 loop": ["--loops", "1"],
  "2 loops, handed round": ["--loops", "2", "--share", "handover"],
  "2 loops, shared port": ["--loops", "2", "--share", "reuseport"],
}
MEASURED = [column for column in COLUMNS if column.name in ("pingpong-100", "pingpong-16k", "connect")]


def run(rounds: int, seconds: float, say: Callable[[str], None]) -> dict:
  # One client is enough as long as it has a processor of its own; with two processors nothing is pinned.
  for_server, for_client = processes.split_processors(2)
  rates: dict[str, dict[str, list[float]]] = {
    column.name: {variant: [] for variant in VARIANTS} for column in MEASURED
  }
  for number in range(rounds):
    for column in MEASURED:
      say(f"loops, round {number + 1} of {rounds}: {column.title}")
      for variant in rotated(list(VARIANTS), number):
        command = [str(ECHO_SERVER), "callbacks", "--stay", *VARIANTS[variant]]
        with serving(command, for_server) as running:
          arguments = [*column.arguments, *timing(seconds)]
          result = load(column.mode, running, arguments, for_client, limit(seconds))
        rates[column.name][variant].append(result["rate"])
  return {
    "rounds": rounds,
    "seconds": seconds,
    "pinned": for_server != for_client,
    "columns": {
      name: {variant: median(some) for variant, some in row.items()} for name, row in rates.items()
    },
  }
