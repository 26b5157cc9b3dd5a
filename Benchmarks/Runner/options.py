# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The command line."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from columns import COLUMNS
from places import BENCHMARKS, ROOT
from servers import SERVERS

PARTS = ("load", "memory", "costs", "loops", "soak")
USAGE_ERROR = 64

DESCRIPTION = """\
Runs this library's echo servers beside others, interleaved, and writes tables (README.md), every figure
(results.json) and a chart (results.svg).

Without options: everything but the soak, in about ten minutes, into docs/benchmarks. Options that select
parts leave out the others; then, and with --quick, the results go to Benchmarks/.build/results, unless --out
says otherwise. Parts that are there from an earlier run on this machine are kept."""


@dataclass
class Options:
  """What is to be run."""

  parts: list[str]
  columns: list[str]
  servers: list[str]
  rounds: int
  seconds: float
  is_quick: bool
  out: Path


class Parser(argparse.ArgumentParser):
  """Ends with one sentence rather than with the usage."""

  def error(self, message: str) -> NoReturn:
    print(f"bench: {message} (see --help)", file=sys.stderr)
    sys.exit(USAGE_ERROR)


def chosen(what: str, known: list[str]):
  """A type of argument: some of the known names, comma-separated, in their usual order."""

  def parse(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
      if name not in known:
        raise argparse.ArgumentTypeError(f"there is no {what} '{name}'; known: {', '.join(known)}")
    return [name for name in known if name in names]

  return parse


def number(kind, low, high):
  """A type of argument: a number between two bounds."""

  def parse(text: str):
    try:
      value = kind(text)
    except ValueError:
      value = None
    if value is None or not low <= value <= high:
      raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low} to {high}")
    return value

  return parse


def parse(arguments: list[str]) -> Options:
  columns = [column.name for column in COLUMNS]
  servers = [server.name for server in SERVERS]
  parser = Parser(
    prog="Scripts/bench",
    description=DESCRIPTION,
    epilog=f"Columns: {', '.join(columns)}. Servers: {', '.join(servers)}.",
    formatter_class=argparse.RawDescriptionHelpFormatter,
    allow_abbrev=False,
  )
  parser.add_argument("--quick", action="store_true", help="a short round of everything, to see that it runs")
  parser.add_argument("--rounds", type=number(int, 1, 99), metavar="N", help="how often (3)")
  parser.add_argument("--seconds", type=number(float, 0.1, 60), metavar="S", help="how long a run is (1.5)")
  parser.add_argument("--only", type=chosen("column", columns), metavar="COLUMN,…", help="of the load")
  parser.add_argument("--servers", type=chosen("server", servers), metavar="A,B", help="these servers")
  parser.add_argument("--load", action="store_true", help="throughput, processor time and latency")
  parser.add_argument("--memory", action="store_true", help="10,000 idle connections")
  parser.add_argument("--costs", action="store_true", help="system calls, instructions, allocations")
  parser.add_argument("--loops", action="store_true", help="one loop and two")
  parser.add_argument("--soak", action="store_true", help="memory over 1,000,000 short connections")
  parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go")
  given = parser.parse_args(arguments)

  parts = [part for part in PARTS if getattr(given, part) or (part == "load" and given.only)]
  is_complete = not (given.quick or given.only or given.servers or parts)
  place = ROOT / "docs/benchmarks" if is_complete else BENCHMARKS / ".build/results"
  return Options(
    parts=parts or [part for part in PARTS if part != "soak"],
    columns=given.only or columns,
    servers=given.servers or servers,
    rounds=given.rounds or (1 if given.quick else 3),
    seconds=given.seconds or (0.2 if given.quick else 1.5),
    is_quick=given.quick,
    out=given.out or place,
  )
