# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What a round trip costs each server, whatever the machine."""

from __future__ import annotations

from collections.abc import Callable

import meters
import processes
from echoes import ECHOES, Echoes, operation
from meters import METERS, Meter
from servers import Server


def measure(job: tuple[Server, Meter, Echoes]) -> dict[str, float]:
  server, meter, echoes = job
  costs = meters.slope(meter, operation(server.title, server.command, echoes))
  # Starting and connecting differ by a few calls.
  return {kind: cost for kind, cost in costs.items() if abs(cost) >= 0.005 or kind == "all"}


def run(servers: list[Server], is_quick: bool, say: Callable[[str], None]) -> tuple[dict, list[str]]:
  """The costs, and a notice for each that cannot be measured."""
  chosen = [echoes for echoes in ECHOES if not is_quick or echoes is ECHOES[0]]
  at_a_time = len(processes.processors()) if is_quick else 1
  results: dict = {"servers": {server.name: {} for server in servers}}
  notices = []
  for meter in METERS:
    if not meter.is_there:
      notices.append(f"{meter.title} are left out, as {meter.tool} is not installed")
      continue
    say(f"costs: {meter.title}")
    jobs = [(server, meter, echoes) for server in servers for echoes in chosen]
    for (server, _, echoes), costs in meters.each(measure, jobs, at_a_time).items():
      results["servers"][server.name].setdefault(meter.key, {})[echoes.name] = costs
  return results, notices
