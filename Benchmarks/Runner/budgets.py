# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Scripts/check-budgets: measures what each operation costs and compares it with Benchmarks/Thresholds."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import costs
import thresholds
from costs import Failure
from programs import BENCHMARKS, Programs

TOOLS = ("gcc", "strace", "valgrind")
TITLES = {"allocations": "allocations", "systemCalls": "system calls", "instructions": "instructions"}

# Operations of the two runs: fewer where one takes long, more where it is hardly more than start-up's own variation.
COUNTS = (500, 2500)
COUNTS_OF = {
    "connect-and-accept": (100, 500),
    "line-framing": (1000, 21_000),
    "poll-can-accept-bytes": (1000, 11_000),
    "poll-has-bytes-available": (1000, 11_000),
    "poll-status": (1000, 21_000),
}
# The library connects on a thread of its own: how often the two wait for each other is up to the scheduler, so
# there system calls are not measured, and allocations are whole numbers.
UNSTEADY = {"connect-and-accept": ("systemCalls",)}
DECIMALS = {"connect-and-accept": 0}
# A cost that is too high is measured again: what else happens on the machine can only add to it.
ATTEMPTS = 3


# --- Measuring --------------------------------------------------------------------------------------------------------


def have_tools():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not missing:
        return
    setup = [BENCHMARKS.parent / "Scripts/setup", "--budgets"]
    if subprocess.run(setup, stdin=subprocess.DEVNULL).returncode != 0:
        raise Failure(f"{', '.join(missing)} could not be installed, so nothing can be measured")


def measure(operations, meters, wanted):
    """What each (name, key) of `wanted` costs; as many are measured at a time as there are processors."""

    def one(pair):
        name, key = pair
        few, many = COUNTS_OF.get(name, COUNTS)
        cost = costs.slope(meters[key], operations[name], few, many, name)
        # Start-up itself differs by a few calls, with the layout of memory.
        return abs(max(round(cost, DECIMALS.get(name, 2)), 0))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(wanted, pool.map(one, wanted)))


def measure_within(operations, meters, names, allowed):
    """What `names` cost, by name and key. What is more than `allowed` is measured again; the least counts."""
    pairs = [(n, key) for n in names for key in thresholds.KEYS if key not in UNSTEADY.get(n, ())]
    found = measure(operations, meters, pairs)
    for _ in range(1, ATTEMPTS):
        again = [(n, key) for (n, key), cost in found.items() if cost > allowed.get(n, {}).get(key, cost)]
        for pair, cost in measure(operations, meters, again).items():
            found[pair] = min(found[pair], cost)
    return {n: {key: found[n, key] for key in thresholds.KEYS if (n, key) in found} for n in names}


def from_runs(options):
    """Measures. Returns what was measured and what is allowed, by name."""
    have_tools()
    with tempfile.TemporaryDirectory() as folder:
        operations = Programs(folder).operations()
        names = chosen(operations, options.only)
        # Read first: a fault in them shows at once.
        allowed = {} if options.update else read_thresholds(options, operations, names)
        meters = (
            costs.AllocationMeter.built(BENCHMARKS / "C/count_allocations.c", folder),
            costs.SystemCallMeter(),
            costs.InstructionMeter(),
        )
        measured = measure_within(operations, {meter.key: meter for meter in meters}, names, allowed)
    if options.update:
        update(options.thresholds, measured, operations)
        allowed = read_thresholds(options, operations, names)
    return measured, allowed


def from_file(options):
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


# --- Thresholds -------------------------------------------------------------------------------------------------------


def chosen(names, only):
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


def read_thresholds(options, all_names, names):
    for file in thresholds.strangers(options.thresholds, all_names):
        raise Failure(f"{file} belongs to no benchmark; `Scripts/check-budgets --update` removes it")
    return {name: thresholds.read(options.thresholds, name) for name in names}


def update(folder, measured, all_names):
    for name, cost in measured.items():
        thresholds.write(folder, name, cost)
    for file in thresholds.strangers(folder, all_names):
        file.unlink()
        print(f"removed {file}, which belonged to no benchmark")


# --- What is said -----------------------------------------------------------------------------------------------------


def number(value, key):
    if value is None:
        return "any"
    return f"{value:,.0f}" if key == "instructions" or value == int(value) else f"{value:,.2f}"


def print_table(measured, allowed):
    """Returns how many costs exceed their thresholds."""
    width = max(map(len, measured))
    print(" " * width + "".join(f"  {TITLES[key]:>20}" for key in thresholds.KEYS))
    failed = 0
    for name, cost in measured.items():
        cells = [
            f"{number(cost[key], key)} of {number(allowed[name].get(key), key)}" if key in cost else "–"
            for key in thresholds.KEYS
        ]
        over = [TITLES[key] for key in thresholds.exceeded(cost, allowed[name])]
        failed += bool(over)
        verdict = f"EXCEEDED: {', '.join(over)}" if over else "within"
        print(f"{name:{width}}" + "".join(f"  {cell:>20}" for cell in cells) + f"  {verdict}")
    return failed


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="Scripts/check-budgets",
        description="Measures what each operation costs in heap allocations, system calls and user-space "
        "instructions, and compares it with Benchmarks/Thresholds. Times are never measured.",
        epilog="Ends with 0 if all costs are within their thresholds, with 1 if one is exceeded, and with 2 "
        "if nothing could be compared.",
    )
    parser.add_argument("--only", metavar="NAME,…", help="some benchmarks instead of all")
    parser.add_argument(
        "--update", action="store_true", help="write the thresholds anew, from what is measured now")
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
    measured, allowed = from_file(options) if options.measured else from_runs(options)
    if not measured:
        raise Failure("there is nothing to compare")
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
