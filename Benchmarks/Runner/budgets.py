# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Scripts/check-budgets: measures what each operation costs and compares it with Benchmarks/Thresholds."""

import argparse
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import costs
import thresholds
from costs import Failure

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "Benchmarks"
TOOLS = ("gcc", "strace", "valgrind")

ECHO_APIS = ("callbacks", "closures")
ECHO_SIZES = (64, 16384)
# Operations of the two runs. Where one takes long, fewer.
COUNTS = (500, 2500)
SLOW_COUNTS = {"connect-and-accept": (100, 500)}
# The library connects on a thread of its own: how often the two wait for each other is up to the scheduler, so there
# system calls are not measured, and allocations are whole numbers.
UNSTEADY = {"connect-and-accept": ("systemCalls",)}
DECIMALS = {"connect-and-accept": 0}
# A cost that is too high is measured again: what else happens on the machine can add to it, and never take away.
ATTEMPTS = 3

TITLES = {"allocations": "allocations", "systemCalls": "system calls", "instructions": "instructions"}


class Programs:
  """What is measured, built, and how to run it."""

  def __init__(self, folder):
    for product in ("MicroBenchmarks", "EchoServer"):
      build = ["swift", "build", "--configuration", "release", "--package-path", BENCHMARKS, "--product", product]
      done = subprocess.run(build, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
      if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise Failure(f"{product} could not be built; the compiler's messages are above")
    path = ["swift", "build", "--configuration", "release", "--package-path", BENCHMARKS, "--show-bin-path"]
    bin_path = Path(costs.run(path, "the folder of the release build is not known").strip())
    self.micro, self.server = bin_path / "MicroBenchmarks", bin_path / "EchoServer"
    self.client = folder / "pingpong"
    costs.compile_c(BENCHMARKS / "C/pingpong.c", self.client)

  def operations(self):
    """Every benchmark's name, and how to do some of its operations with the command line passed through `wrap`."""
    listing = costs.run([self.micro, "list"], "the micro-benchmarks cannot be listed")
    found = {name: self.micro_run(name) for name in (line.split()[0] for line in listing.splitlines())}
    for api in ECHO_APIS:
      for size in ECHO_SIZES:
        found[f"echo-{api}-{size}"] = self.echo_run(api, size)
    return found

  def micro_run(self, name):
    return lambda count, wrap: costs.run(wrap([self.micro, "run", name, str(count)]), f"{name} failed")

  def echo_run(self, api, size):
    return lambda count, wrap: self.echo(api, size, count, wrap)

  def echo(self, api, size, count, wrap):
    """One connection of `count` round trips of `size` bytes, with the server's command line passed through `wrap`."""
    what = f"the echo server by {api} failed"
    with tempfile.TemporaryFile("w+") as messages, subprocess.Popen(
      costs.limited(wrap([self.server, api])), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages,
      text=True) as server:
      try:
        ready = select.select([server.stdout], [], [], costs.TIME_LIMIT)[0]
        port = server.stdout.readline().strip() if ready else ""
        if port:
          costs.run([self.client, port, str(size), str(count)], f"the client of the echo server by {api} failed")
          server.wait()
      finally:
        server.terminate()
        server.wait()
      if not port or server.returncode != 0:
        messages.seek(0)
        raise Failure(f"{what}: {costs.reason(messages.read(), server.returncode)}")


def measure(operations, meters, wanted):
  """Measures each (name, key) of `wanted`, as many at a time as there are processors."""
  def one(pair):
    name, key = pair
    few, many = SLOW_COUNTS.get(name, COUNTS)
    cost = costs.slope(meters[key], operations[name], few, many, name)
    # Start-up itself differs by a few calls, with the layout of memory.
    return max(round(cost, DECIMALS.get(name, 2)), 0.0)

  workers = max(1, len(os.sched_getaffinity(0)))
  with ThreadPoolExecutor(workers) as pool:
    return dict(zip(wanted, pool.map(one, wanted)))


def keys(name):
  return [key for key in thresholds.KEYS if key not in UNSTEADY.get(name, ())]


def number(value, key):
  if value is None:
    return "–"
  return f"{value:,.0f}" if key == "instructions" or value == int(value) else f"{value:,.2f}"


def print_table(measured, allowed):
  width = max(map(len, measured))
  print(f"{'':{width}}" + "".join(f"  {TITLES[key]:>20}" for key in thresholds.KEYS))
  failed = 0
  for name, cost in measured.items():
    cells = [
      f"{number(cost.get(key), key)} of {number(allowed[name].get(key), key)}" if key in cost else "–"
      for key in thresholds.KEYS]
    over = [TITLES[key] for key in thresholds.exceeded(cost, allowed[name])]
    failed += bool(over)
    verdict = f"EXCEEDED: {', '.join(over)}" if over else "within"
    print(f"{name:{width}}" + "".join(f"  {cell:>20}" for cell in cells) + f"  {verdict}")
  return failed


def chosen(names, only):
  """The names that `only` asks for, all without it."""
  if only is None:
    return list(names)
  wanted = [name for name in only.split(",") if name]
  for name in wanted:
    if name not in names:
      raise Failure(f"there is no benchmark {name!r}; there are {', '.join(names)}")
  if not wanted:
    raise Failure("--only names no benchmark")
  return wanted


def have_tools():
  missing = [tool for tool in TOOLS if not shutil.which(tool)]
  if missing and subprocess.run([ROOT / "Scripts/setup", "--budgets"], stdin=subprocess.DEVNULL).returncode != 0:
    raise Failure(f"{', '.join(missing)} could not be installed, so nothing can be measured")


def check_names(folder, names):
  found = thresholds.strangers(folder, names)
  if found:
    raise Failure(f"{found[0]} belongs to no benchmark; remove it, or `Scripts/check-budgets --update` does")


def by_name(pairs):
  table = {}
  for (name, key), cost in pairs.items():
    table.setdefault(name, {})[key] = cost
  return table


def take_measurements(options, compare):
  """Measures, and reads the thresholds to compare with first. Returns both by name, and the names of all benchmarks."""
  have_tools()
  with tempfile.TemporaryDirectory() as folder:
    programs = Programs(Path(folder))
    operations = programs.operations()
    names = chosen(operations, options.only)
    allowed = {}
    if compare:
      check_names(options.thresholds, operations)
      allowed = {name: thresholds.read(options.thresholds, name) for name in names}
    meters = {meter.key: meter for meter in (
      costs.AllocationMeter.built(BENCHMARKS / "C/count_allocations.c", folder),
      costs.SystemCallMeter(), costs.InstructionMeter())}
    found = measure(operations, meters, [(name, key) for name in names for key in keys(name)])
    for _ in range(1, ATTEMPTS):
      again = [(name, key) for (name, key), cost in found.items() if compare and cost > allowed[name].get(key, cost)]
      for pair, cost in measure(operations, meters, again).items():
        found[pair] = min(found[pair], cost)
  return by_name(found), allowed, list(operations)


def read_measurements(options):
  """What a file says instead."""
  try:
    found = json.loads(options.measured.read_text())
  except (OSError, ValueError) as error:
    raise Failure(f"{options.measured} cannot be read: {error}") from error
  if not isinstance(found, dict):
    raise Failure(f"{options.measured}: an object of costs by benchmark is expected")
  check_names(options.thresholds, found)
  names = chosen(found, options.only)
  measured = {name: thresholds.checked(f"{options.measured}, {name}", found[name]) for name in names}
  return measured, {name: thresholds.read(options.thresholds, name) for name in measured}


def parse(arguments):
  parser = argparse.ArgumentParser(
    prog="Scripts/check-budgets",
    description="Measures what each operation costs in heap allocations, system calls and user-space instructions, "
    "and compares it with Benchmarks/Thresholds. Times are never measured.",
    epilog="Ends with 0 if all costs are within their thresholds, 1 if one is exceeded, 2 if nothing could be compared.")
  parser.add_argument("--only", metavar="NAME,…", help="some benchmarks instead of all")
  parser.add_argument("--update", action="store_true", help="write the thresholds anew, from what is measured now")
  parser.add_argument(
    "--thresholds", metavar="FOLDER", type=Path, default=BENCHMARKS / "Thresholds",
    help="another folder of thresholds")
  parser.add_argument(
    "--measured", metavar="FILE", type=Path,
    help='do not measure: take the costs from a JSON file such as {"poll-status": {"allocations": 0}}')
  return parser.parse_args(arguments)


def main(arguments):
  options = parse(arguments)
  if options.update and options.measured:
    raise Failure("--update takes what it measures, so it does not go with --measured")
  if options.measured:
    measured, allowed = read_measurements(options)
  else:
    measured, allowed, names = take_measurements(options, compare=not options.update)
  if options.update:
    for name, cost in measured.items():
      thresholds.write(options.thresholds, name, cost)
    for file in thresholds.strangers(options.thresholds, names):
      file.unlink()
      print(f"removed {file}, which belonged to no benchmark")
    allowed = {name: thresholds.read(options.thresholds, name) for name in measured}
  failed = print_table(measured, allowed)
  if failed:
    print(f"\n{failed} of {len(measured)} exceeded. If that is meant, `Scripts/check-budgets --update` accepts it.")
  return 1 if failed else 0


if __name__ == "__main__":
  try:
    sys.exit(main(sys.argv[1:]))
  except (Failure, OSError) as failure:
    print(f"budgets: {failure}", file=sys.stderr)
    sys.exit(2)
