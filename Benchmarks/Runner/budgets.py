# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Measures what each operation costs and compares it with Benchmarks/Thresholds.

Started by Scripts/check-budgets."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import building
import meters
import operations
import processes
import thresholds
from meters import METERS, Meter, Operation
from places import THRESHOLDS
from processes import Failure
from thresholds import KEYS, Costs

TITLES = {meter.key: meter.title for meter in METERS}

# The library connects on a thread of its own: how often the two wait for each other is up to the scheduler.
# There system calls are not measured, and allocations are whole numbers.
UNSTEADY = {"connect-and-accept": ("systemCalls",)}
DECIMALS = {"connect-and-accept": 0}
# A cost that is too high is measured again: what else happens on the machine can only add to it.
ATTEMPTS = 3


# --- Measuring ----------------------------------------------------------------------------------------------


def set_up() -> None:
  """Installs what is missing and builds what is measured."""
  if not all(meter.is_there for meter in METERS):
    reason = building.set_up("--budgets")
    if reason:
      raise Failure(f"nothing can be measured: {reason}")
  building.build_tools()
  for product in ("MicroBenchmarks", "EchoServer"):
    building.build_swift(product)


def measure(job: tuple[Operation, Meter]) -> float:
  operation, meter = job
  cost = sum(meters.slope(meter, operation).values())
  # Start-up itself differs by a few calls, with the layout of memory.
  return abs(max(round(cost, DECIMALS.get(operation.name, 2)), 0))


def measure_within(wanted: Iterable[Operation], allowed: dict[str, Costs]) -> dict[str, Costs]:
  """What the operations cost, by name and key. More than is allowed is measured again; the least counts."""
  found: dict[str, Costs] = {operation.name: {} for operation in wanted}
  again = [
    (operation, meter)
    for operation in wanted
    for meter in METERS
    if meter.key not in UNSTEADY.get(operation.name, ())
  ]
  for _ in range(ATTEMPTS):
    for (operation, meter), cost in meters.each(measure, again, len(processes.processors())).items():
      costs = found[operation.name]
      costs[meter.key] = min(cost, costs.get(meter.key, cost))
    again = [
      (operation, meter)
      for operation, meter in again
      if meter.key in thresholds.exceeded(found[operation.name], allowed.get(operation.name, {}))
    ]
  return found


def from_runs(options: argparse.Namespace) -> tuple[dict[str, Costs], dict[str, Costs]]:
  """Measures. Returns what was measured and what is allowed, by name."""
  set_up()
  known = operations.all_by_name()
  names = chosen(known, options.only)
  # Read first: a fault in them shows at once.
  allowed = {} if options.update else read_thresholds(options, known, names)
  measured = measure_within([known[name] for name in names], allowed)
  if options.update:
    update(options.thresholds, measured, known)
    allowed = read_thresholds(options, known, names)
  return measured, allowed


def from_file(options: argparse.Namespace) -> tuple[dict[str, Costs], dict[str, Costs]]:
  """Takes the costs from a file instead."""
  try:
    found = json.loads(options.measured.read_text())
  except (OSError, ValueError) as error:
    raise Failure(f"{options.measured} cannot be read: {error}") from error
  if not isinstance(found, dict):
    raise Failure(f"{options.measured}: an object of costs by benchmark is expected")
  names = chosen(found, options.only)
  measured = {name: thresholds.checked(f"{options.measured}, {name}", found[name]) for name in names}
  return measured, read_thresholds(options, found, names)


# --- Thresholds ---------------------------------------------------------------------------------------------


def chosen(names: Iterable[str], only: str | None) -> list[str]:
  """The names that `only` asks for; all without it."""
  if only is None:
    return list(names)
  wanted = [name for name in only.split(",") if name]
  for name in wanted:
    if name not in names:
      raise Failure(f"there is no benchmark {name!r}; there are {', '.join(names)}")
  if not wanted:
    raise Failure("--only names no benchmark")
  return wanted


def read_thresholds(
  options: argparse.Namespace, all_names: Collection[str], names: Iterable[str]
) -> dict[str, Costs]:
  for file in thresholds.strangers(options.thresholds, all_names):
    raise Failure(f"{file} belongs to no benchmark; `Scripts/check-budgets --update` removes it")
  return {name: thresholds.read(options.thresholds, name) for name in names}


def update(folder: Path, measured: dict[str, Costs], all_names: Collection[str]) -> None:
  for name, costs in measured.items():
    thresholds.write(folder, name, costs)
  for file in thresholds.strangers(folder, all_names):
    file.unlink()
    print(f"removed {file}, which belonged to no benchmark")


# --- What is said -------------------------------------------------------------------------------------------


def number(value: float | None, key: str) -> str:
  if value is None:
    return "any"
  return f"{value:,.0f}" if key == "instructions" or value == int(value) else f"{value:,.2f}"


def print_table(measured: dict[str, Costs], allowed: dict[str, Costs]) -> int:
  """Returns how many costs exceed their thresholds."""
  width = max(map(len, measured))
  print(" " * width + "".join(f"  {TITLES[key]:>20}" for key in KEYS))
  failed = 0
  for name, costs in measured.items():
    cells = [
      f"{number(costs[key], key)} of {number(allowed[name].get(key), key)}" if key in costs else "–"
      for key in KEYS
    ]
    over = [TITLES[key] for key in thresholds.exceeded(costs, allowed[name])]
    failed += bool(over)
    verdict = f"EXCEEDED: {', '.join(over)}" if over else "within"
    print(f"{name:{width}}" + "".join(f"  {cell:>20}" for cell in cells) + f"  {verdict}")
  return failed


def parse(arguments: list[str]) -> argparse.Namespace:
  parser = argparse.ArgumentParser(
    prog="Scripts/check-budgets",
    description="Measures what each operation costs in heap allocations, system calls and user-space "
    "instructions, and compares it with Benchmarks/Thresholds. Times are never measured.",
    epilog="Ends with 0 if all costs are within their thresholds, with 1 if one is exceeded, and with 2 "
    "if nothing could be compared.",
  )
  parser.add_argument("--only", metavar="NAME,…", help="some benchmarks instead of all")
  parser.add_argument(
    "--update", action="store_true", help="write the thresholds anew, from what is measured now"
  )
  parser.add_argument(
    "--thresholds", metavar="FOLDER", type=Path, default=THRESHOLDS, help="another folder of thresholds"
  )
  parser.add_argument(
    "--measured",
    metavar="FILE",
    type=Path,
    help='do not measure: take the costs from a JSON file such as {"poll-status": {"allocations": 0}}',
  )
  return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
  options = parse(arguments)
  if options.update and options.measured:
    raise Failure("--update takes what it measures, so it does not go with --measured")
  measured, allowed = from_file(options) if options.measured else from_runs(options)
  if not measured:
    raise Failure("there is nothing to compare")
  failed = print_table(measured, allowed)
  if failed:
    advice = "If that is meant, `Scripts/check-budgets --update` accepts it."
    print(f"\n{failed} of {len(measured)} exceeded. {advice}")
  return 1 if failed else 0


if __name__ == "__main__":
  processes.end_on_signals()
  try:
    sys.exit(main(sys.argv[1:]))
  except (Failure, OSError) as failure:
    print(f"budgets: {failure}", file=sys.stderr)
    sys.exit(2)
  except KeyboardInterrupt as interrupt:
    sys.exit(processes.code_of(interrupt))
  finally:
    processes.kill_all()
