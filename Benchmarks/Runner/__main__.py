# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Builds, measures and reports, in this order. Started by Scripts/bench."""

from __future__ import annotations

import json
import sys
import time

import building
import costs
import load
import loops
import machine
import memory
import options
import plot
import processes
import report
from columns import COLUMNS
from options import Options
from servers import SERVERS, Server


# Grows when earlier results can no longer be joined with new ones.
LAYOUT = 2


def say(text: str) -> None:
  print(f"bench: {text}", file=sys.stderr, flush=True)


def measure(wanted: Options, servers: list[Server]) -> tuple[dict, list[str]]:
  """The results of each part, and notices."""
  results: dict = {}
  notices: list[str] = []
  for part in wanted.parts:
    if part == "load":
      columns = [column for column in COLUMNS if column.name in wanted.columns]
      results[part] = load.run(servers, columns, wanted.rounds, wanted.seconds, say)
    elif part == "memory":
      seconds = min(1.0, wanted.seconds)
      results[part] = memory.run(servers, wanted.rounds, seconds, wanted.is_quick, say)
    elif part == "costs":
      results[part], notices = costs.run(servers, wanted.is_quick, say)
    elif part == "loops" and any(server.is_ours for server in servers):
      results[part] = loops.run(wanted.rounds, wanted.seconds, say)
    elif part == "soak":
      results[part] = memory.soak(servers, wanted.is_quick, say)
    if part in results:
      results[part]["measured"] = {"date": time.strftime("%Y-%m-%d"), "commit": machine.commit()}
  return results, notices


def earlier(wanted: Options, here: dict) -> dict:
  """The parts that an earlier run on this machine left at the same place."""
  try:
    found = json.loads((wanted.out / "results.json").read_text())
  except (OSError, ValueError):
    return {}
  is_alike = found.get("layout") == LAYOUT and found.get("machine") == here
  return found["parts"] if is_alike else {}


def main() -> int:
  wanted = options.parse(sys.argv[1:])
  try:
    wanted.out.mkdir(parents=True, exist_ok=True)
  except OSError as error:
    raise processes.Failure(f"the results cannot go to {wanted.out}: {error.strerror}") from None
  not_set_up = building.set_up("--bench")
  if not_set_up:
    say(not_set_up)
  say("building")
  building.build_tools()
  servers, notices = building.build_servers([server for server in SERVERS if server.name in wanted.servers])
  for notice in notices:
    say(notice)
  if not servers:
    raise processes.Failure("no server is left to measure")
  here = machine.describe()
  parts, more = measure(wanted, servers)
  for notice in more:
    say(notice)
  results: dict = {
    "layout": LAYOUT,
    "machine": here,
    "versions": machine.versions(),
    "method": machine.method(),
    "notices": notices + more,
    "servers": {server.name: server.title for server in SERVERS},
    "parts": {**earlier(wanted, here), **parts},
  }
  (wanted.out / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
  chart = plot.draw(results) if "load" in results["parts"] else None
  if chart:
    (wanted.out / "results.svg").write_text(chart)
  text = report.write(results)
  (wanted.out / "README.md").write_text(text)
  print(text)
  say(f"written to {wanted.out}")
  return 0


if __name__ == "__main__":
  processes.end_on_signals()
  try:
    sys.exit(main())
  except processes.Failure as failure:
    say(str(failure))
    sys.exit(1)
  except KeyboardInterrupt as interrupt:
    say("interrupted; nothing was written")
    sys.exit(processes.code_of(interrupt))
  finally:
    processes.kill_all()
