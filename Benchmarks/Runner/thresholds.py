# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What each benchmark may cost: one small JSON file each, named after it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

from meters import METERS
from processes import Failure

Costs = dict[str, float]

KEYS = tuple(meter.key for meter in METERS)
# How far instructions may grow: libraries and compilers differ a little from machine to machine.
HEADROOM = 1.1
# Whether the caller sleeps before the other thread is done is up to the scheduler.
HEADROOM_OF = {"sync-from-another-thread": 1.2}
# The path of a byte, by the names that its benchmarks begin with. What is measured does not raise these.
ECHO = "echo-"
ECHO_HEADROOM = 1.05
ECHO_BUDGETS = {"allocations": 0, "systemCalls": 3}
# Headroom ends here for costs that are not above it.
INSTRUCTION_BUDGET = 1000


def read(folder: Path, name: str) -> Costs:
  """The costs that `name` may have. A cost that is not in the file is not limited."""
  file = folder / f"{name}.json"
  try:
    found = json.loads(file.read_text())
  except FileNotFoundError:
    raise Failure(f"{file} is missing; `Scripts/check-budgets --update --only {name}` writes it") from None
  except (OSError, ValueError) as error:
    raise Failure(f"{file} cannot be read: {error}") from error
  return checked(str(file), found)


def checked(place: str, costs: object) -> Costs:
  """`costs`, which were read from `place`, if they are numbers by known keys."""
  if not isinstance(costs, dict) or not costs:
    raise Failure(f"{place}: an object of numbers is expected, by {', '.join(KEYS)}")
  for key, value in costs.items():
    if key not in KEYS:
      raise Failure(f"{place}: {key!r} is none of {', '.join(KEYS)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
      raise Failure(f"{place}: {key} is {value!r}, which is not a number of 0 or more")
  return costs


def write(folder: Path, name: str, costs: Costs) -> None:
  """Allows `name` what it costs now, and some more instructions."""
  thresholds = {key: allowed(name, key, costs[key]) for key in KEYS if key in costs}
  folder.mkdir(parents=True, exist_ok=True)
  (folder / f"{name}.json").write_text(json.dumps(thresholds, indent=2) + "\n")


def allowed(name: str, key: str, cost: float) -> float:
  if name.startswith(ECHO) and key in ECHO_BUDGETS:
    return ECHO_BUDGETS[key]
  if key != "instructions":
    return int(cost) if cost == int(cost) else cost
  headroom = ECHO_HEADROOM if name.startswith(ECHO) else HEADROOM_OF.get(name, HEADROOM)
  limit = math.ceil(cost * headroom / 10) * 10
  is_within = name.startswith(ECHO) and cost <= INSTRUCTION_BUDGET
  return min(limit, INSTRUCTION_BUDGET) if is_within else limit


def exceeded(costs: Costs, thresholds: Costs) -> list[str]:
  """The keys whose cost is more than what is allowed."""
  return [key for key in KEYS if key in costs and key in thresholds and costs[key] > thresholds[key]]


def strangers(folder: Path, names: Iterable[str]) -> list[Path]:
  """The files in `folder` that belong to none of `names`."""
  return [file for file in sorted(folder.glob("*.json")) if file.stem not in names]
