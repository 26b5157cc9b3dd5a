# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What a round trip costs a server, whatever the machine: system calls, instructions, heap allocations.

Each is the difference of two runs, divided by that of their round trips, so that starting, connecting and
ending do not count."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import processes
from servers import ALLOCATION_COUNTER, Server, load, serving

SIZES = (64, 16_384)
FEW, MANY = 300, 1300
LIMIT = 120.0


def serve(command: list[str], size: int, count: int, **options) -> None:
  """A server, perhaps under a tool, for one connection and `count` round trips."""
  # A tracer that stands aside ends a little later than the server: this pipe ends when both have.
  ended, held = os.pipe()
  try:
    with serving(command, None, pass_fds=[held], **options) as running:
      os.close(held)
      load("pingpong", running, ["--size", str(size), "--count", str(count)], processes.processors(), LIMIT)
      processes.terminate(running.process)
      if not select.select([ended], [], [], LIMIT)[0]:
        raise processes.Failure(f"{command[0]} did not end within {LIMIT:.0f} s")
  finally:
    os.close(ended)


def system_calls(server: Server, size: int, count: int, file: Path) -> dict[str, int]:
  # With -D the server is our child, and the tracer goes when it goes.
  serve(["strace", "-D", "-f", "-c", "-o", str(file), *server.command], size, count)
  calls = {}
  for text in file.read_text().splitlines():
    columns = text.split()
    if columns and re.fullmatch(r"[\d.]+", columns[0]) and columns[-1] != "total":
      calls[columns[-1]] = int(columns[3])
  if not calls:
    raise processes.Failure(f"strace counted nothing of {server.title}")
  return calls


def instructions(server: Server, size: int, count: int, file: Path) -> dict[str, int]:
  tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={file}"]
  serve([*tool, *server.command], size, count, stderr=subprocess.DEVNULL)
  found = re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE)
  if not found:
    raise processes.Failure(f"callgrind counted nothing of {server.title}")
  return {"all": int(found[1])}


def allocations(server: Server, size: int, count: int, file: Path) -> dict[str, int]:
  environment = {**os.environ, "LD_PRELOAD": str(ALLOCATION_COUNTER), "ALLOCATION_COUNT": str(file)}
  serve([*server.command], size, count, env=environment)
  return {"all": int(file.read_text())}


def slope(measure: Callable, server: Server, size: int) -> dict[str, float]:
  """What one more round trip adds, of each kind."""
  with tempfile.TemporaryDirectory() as folder:
    few = measure(server, size, FEW, Path(folder) / "few")
    many = measure(server, size, MANY, Path(folder) / "many")
  added = {kind: (many[kind] - few.get(kind, 0)) / (MANY - FEW) for kind in many}
  return {kind: value for kind, value in added.items() if abs(value) >= 0.005 or kind == "all"}


MEASURES = (
  ("system_calls", "strace", system_calls),
  ("instructions", "valgrind", instructions),
  ("allocations", None, allocations),
)


def run(servers: list[Server], is_quick: bool, say: Callable[[str], None]) -> tuple[dict, list[str]]:
  """The costs, and a notice for each that cannot be measured."""
  results: dict = {"servers": {server.name: {} for server in servers}}
  notices = []
  for name, tool, measure in MEASURES:
    title = name.replace("_", " ")
    if tool and not shutil.which(tool):
      notices.append(f"{title} are left out, as {tool} is not installed")
      continue
    say(f"costs: {title}")
    for server in servers:
      for size in SIZES[:1] if is_quick else SIZES:
        costs = slope(measure, server, size)
        results["servers"][server.name].setdefault(name, {})[str(size)] = costs
  return results, notices
