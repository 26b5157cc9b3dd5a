# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What each benchmark may cost: one small JSON file each, named after it."""

import json
import math

from costs import Failure

KEYS = ("allocations", "systemCalls", "instructions")
# How far instructions may grow: libraries and compilers differ a little from machine to machine.
HEADROOM = 1.1
# Whether the caller sleeps before the other thread is done is up to the scheduler.
HEADROOM_OF = {"sync-from-another-thread": 1.2}


def read(folder, name):
    """The costs that `name` may have. A cost that is not in the file is not limited."""
    file = folder / f"{name}.json"
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        raise Failure(f"{file} is missing; `Scripts/check-budgets --update --only {name}` writes it") from None
    except (OSError, ValueError) as error:
        raise Failure(f"{file} cannot be read: {error}") from error
    return checked(file, found)


def checked(place, costs):
    """`costs`, which were read from `place`, if they are numbers by known keys."""
    if not isinstance(costs, dict) or not costs:
        raise Failure(f"{place}: an object of numbers is expected, by {', '.join(KEYS)}")
    for key, value in costs.items():
        if key not in KEYS:
            raise Failure(f"{place}: {key!r} is none of {', '.join(KEYS)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise Failure(f"{place}: {key} is {value!r}, which is not a number of 0 or more")
    return costs


def write(folder, name, costs):
    """Allows `name` what it costs now, and some more instructions."""
    thresholds = {key: allowed(name, key, costs[key]) for key in KEYS if key in costs}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(thresholds, indent=2) + "\n")


def allowed(name, key, cost):
    if key == "instructions":
        return math.ceil(cost * HEADROOM_OF.get(name, HEADROOM) / 10) * 10
    return int(cost) if cost == int(cost) else cost


def exceeded(costs, thresholds):
    """The keys whose cost is more than what is allowed."""
    return [key for key in KEYS if key in costs and key in thresholds and costs[key] > thresholds[key]]


def strangers(folder, names):
    """The files in `folder` that belong to none of `names`."""
    return [file for file in sorted(folder.glob("*.json")) if file.stem not in names]
