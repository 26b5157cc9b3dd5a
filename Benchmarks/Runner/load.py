# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Throughput, processor time and latency: every server under every column, round robin."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import processes
from columns import Column
from servers import Server, load, serving

# A run is repeated if the client or the server waited for its processor for more than this share of the time.
GATE = 0.015
REPEATS = 2
PAUSE = 0.5
KEPT = ("rate", "server_cpu", "p50", "p99", "p999", "client_share", "server_share", "contention")


class Gate:
  """Repeats runs that others disturbed, as long as there is time for it."""

  def __init__(self, spare_seconds: float) -> None:
    self.spare_seconds = spare_seconds
    self.runs = self.repeated = self.disturbed = 0
    self.worst = 0.0

  def best(self, measure: Callable[[], dict]) -> dict:
    result = self._measured(measure)
    for _ in range(REPEATS):
      if result["contention"] < GATE or self.spare_seconds <= 0:
        break
      self.repeated += 1
      start = time.monotonic()
      time.sleep(PAUSE)
      result = min(result, self._measured(measure), key=lambda one: one["contention"])
      self.spare_seconds -= time.monotonic() - start
    self.runs += 1
    self.disturbed += result["contention"] >= GATE
    self.worst = max(self.worst, result["contention"])
    return result

  @staticmethod
  def _measured(measure: Callable[[], dict]) -> dict:
    result = measure()
    result["contention"] = max(result["client_wait"], result["server_wait"])
    return result

  def summary(self) -> dict:
    return {
      "runs": self.runs,
      "repeated": self.repeated,
      "disturbed": self.disturbed,
      "worst_contention": self.worst,
    }


def measure(server: Server, column: Column, seconds: float) -> dict:
  """One run, with a server of its own."""
  for_server, for_client = processes.split_processors()
  with serving(server.command, for_server) as running:
    arguments = [*column.arguments, *timing(seconds)]
    return load(column.mode, running, arguments, for_client, limit(seconds))


def timing(seconds: float) -> list[str]:
  return ["--seconds", str(seconds), "--warmup", str(min(0.2, seconds / 4))]


def limit(seconds: float) -> float:
  """How long the load generator may take: it ends by itself if nothing happens."""
  return 30 + 2 * seconds


def rotated(items: Sequence, by: int) -> list:
  by %= len(items)
  return [*items[by:], *items[:by]]


def median(values: Sequence[float]) -> float:
  return statistics.median(values)


def run(
  servers: list[Server], columns: list[Column], rounds: int, seconds: float, say: Callable[[str], None]
) -> dict:
  """The medians over the rounds, and what each round measured."""
  gate = Gate(0.25 * rounds * len(columns) * len(servers) * seconds)
  kept: dict[str, dict[str, list[dict]]] = {
    column.name: {server.name: [] for server in servers} for column in columns
  }
  for number in range(rounds):
    for place, column in enumerate(columns):
      say(f"load, round {number + 1} of {rounds}: {column.title}")
      for server in rotated(servers, number * 3 + place):
        result = gate.best(lambda: measure(server, column, seconds))
        kept[column.name][server.name].append({key: result[key] for key in KEPT})
  return {
    "rounds": rounds,
    "seconds": seconds,
    "gate": gate.summary(),
    "columns": {
      column: {server: summary(runs) for server, runs in row.items()} for column, row in kept.items()
    },
  }


def summary(runs: list[dict]) -> dict:
  rates = [one["rate"] for one in runs]
  medians = {key: median([one[key] for one in runs]) for key in KEPT}
  return {**medians, "spread": (max(rates) - min(rates)) / median(rates), "rounds": runs}
