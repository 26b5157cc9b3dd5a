# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What idle connections take and cost the active ones, and what a million of short ones leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import processes
from load import limit, median, rotated, timing
from servers import Running, Server, load, loading, serving

IDLE = 10_000
# The share of them that comes before what is measured.
FIRST = 5
IDLE_LIMIT = 120.0
ACTIVE = 100
# Descriptors of a server besides its connections.
OTHERS = 100
SOAK_STEPS = 10
SOAK_STEP = 100_000


def idle_count(wanted: int) -> int:
  """How many idle connections the limit of open files allows, in the server and in its client alike."""
  return min(wanted, processes.allow_descriptors(wanted + ACTIVE + OTHERS) - ACTIVE - OTHERS)


def active_rate(running: Running, for_client: list[int], seconds: float) -> float:
  arguments = ["--connections", str(ACTIVE), *timing(seconds)]
  return load("pingpong", running, arguments, for_client, limit(seconds))["rate"]


def idle(running: Running, count: int, for_client: list[int]) -> AbstractContextManager[str]:
  """Connections that have had one echo each, and stay until the end of the block.

  They are opened one after the other. Of many at once, a server's buffers for their echoes come to lie
  between what it keeps of them, so that their memory never goes back to the system, more or less of it
  by chance."""
  return loading("idle", running, ["--connections", str(count)], for_client, IDLE_LIMIT)


def measure(server: Server, count: int, seconds: float) -> dict:
  """Some of the connections come first, so that what a server makes once does not count."""
  for_server, for_client = processes.split_processors()
  first = count // FIRST
  with serving(server.command, for_server) as running:
    alone = active_rate(running, for_client, seconds)
    with idle(running, first, for_client):
      few = running.memory()
      with idle(running, count - first, for_client):
        many = running.memory()
        among = active_rate(running, for_client, seconds)
  return {
    "rss": (many["rss"] - few["rss"]) / (count - first),
    "dirty": (many["dirty"] - few["dirty"]) / (count - first),
    "alone": alone,
    "among_idle": among,
    "ratio": among / alone,
  }


def run(
  servers: list[Server], rounds: int, seconds: float, is_quick: bool, say: Callable[[str], None]
) -> dict:
  count = idle_count(IDLE // 10 if is_quick else IDLE)
  results: dict[str, list[dict]] = {server.name: [] for server in servers}
  for number in range(rounds):
    say(f"memory, round {number + 1} of {rounds}: {count:,} idle connections")
    for server in rotated(servers, number):
      results[server.name].append(measure(server, count, seconds))
  return {
    "rounds": rounds,
    "seconds": seconds,
    "first": count // FIRST,
    "idle": count,
    "active": ACTIVE,
    "servers": {
      name: {key: median([one[key] for one in runs]) for key in runs[0]} for name, runs in results.items()
    },
  }


def soak(servers: list[Server], is_quick: bool, say: Callable[[str], None]) -> dict:
  """Resident memory after each tenth of the connections."""
  step = SOAK_STEP // 100 if is_quick else SOAK_STEP
  for_server, for_client = processes.split_processors()
  results = {}
  for server in servers:
    say(f"soak: {server.title}, {SOAK_STEPS * step:,} connections")
    with serving(server.command, for_server) as running:
      sizes = []
      for _ in range(SOAK_STEPS):
        load("connect", running, ["--connections", "50", "--count", str(step)], for_client, step / 500 + 30)
        sizes.append(running.memory()["rss"])
    results[server.name] = sizes
  return {"step": step, "servers": results}
