# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What an operation costs, in what does not depend on the machine's speed: heap allocations, system calls and
instructions.

A meter runs a program under a tool that counts everything the program does. An operation's cost is the slope
between a run of few operations and one of many, so that starting, connecting and ending do not count."""

from __future__ import annotations

import os
import re
import select
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import processes
from places import ALLOCATION_COUNTER

Job = TypeVar("Job")
Result = TypeVar("Result")

# How long one run may take, in seconds.
LIMIT = 120.0


@dataclass(frozen=True)
class Meter:
  """Something that is counted, and the tool that counts it."""

  # As in thresholds and results.
  key: str
  title: str
  # What has to be installed.
  tool: str
  # What comes before the program that is measured; the tool leaves what it found in a file.
  prefix: Callable[[Path], list[str]]
  # What is in that file: counts by kind.
  counts: Callable[[str], Counter[str]]

  @property
  def is_there(self) -> bool:
    return shutil.which(self.tool) is not None


@dataclass(frozen=True)
class Measured:
  """How a program is started so that it is measured."""

  prefix: list[str]
  held: int

  def command(self, program: Sequence[str]) -> list[str]:
    return [*self.prefix, *program]

  @property
  def options(self) -> dict:
    """For the process: what tells that it has ended, and its tool as well."""
    return {"pass_fds": [self.held]}


@dataclass(frozen=True)
class Operation:
  """Something whose cost can be measured: what does it a number of times, and how often it is to be done."""

  name: str
  run: Callable[[int, Measured], None]
  few: int
  many: int


# --- What is counted ----------------------------------------------------------------------------------------


def allocation_tool(file: Path) -> list[str]:
  return ["env", f"LD_PRELOAD={ALLOCATION_COUNTER}", f"ALLOCATION_COUNT={file}"]


def system_call_tool(file: Path) -> list[str]:
  """Of every thread, but without the futex: how often threads meet at a lock is up to the scheduler.

  With -D the program is our child, not the tracer's, so that it can be asked to end."""
  return ["strace", "-D", "-f", "-qq", "-e", "trace=!futex", "-e", "signal=none", "-o", str(file)]


def instruction_tool(file: Path) -> list[str]:
  """In user space, of threads that take turns: one that waits is not overtaken by chance."""
  return ["valgrind", "-q", "--tool=callgrind", "--fair-sched=try", f"--callgrind-out-file={file}"]


def allocations(text: str) -> Counter[str]:
  return Counter(all=int(text))


def system_calls(text: str) -> Counter[str]:
  # A call that another thread's interrupts is two lines, of which the second begins in another way.
  return Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", text, re.MULTILINE))


def instructions(text: str) -> Counter[str]:
  found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
  return Counter(all=int(found[1])) if found else Counter()


METERS = (
  Meter("allocations", "allocations", "env", allocation_tool, allocations),
  Meter("systemCalls", "system calls", "strace", system_call_tool, system_calls),
  Meter("instructions", "instructions", "valgrind", instruction_tool, instructions),
)


# --- Measuring ----------------------------------------------------------------------------------------------


def total(meter: Meter, operation: Operation, count: int) -> Counter[str]:
  """Everything that `count` operations, and the program around them, do."""
  with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "found"
    # A tracer that stands aside ends a little later than the program: this pipe ends when both have.
    ended, held = os.pipe()
    try:
      try:
        operation.run(count, Measured(meter.prefix(file), held))
      finally:
        os.close(held)
      if not select.select([ended], [], [], LIMIT)[0]:
        raise processes.Failure(f"{meter.tool} did not end with {operation.name} within {LIMIT:.0f} s")
    finally:
      os.close(ended)
    try:
      found = meter.counts(file.read_text())
    except (OSError, ValueError) as error:
      raise processes.Failure(f"{operation.name}: the {meter.title} cannot be read: {error}") from error
  if not found:
    raise processes.Failure(f"{meter.tool} counted nothing of {operation.name}")
  return found


def slope(meter: Meter, operation: Operation) -> dict[str, float]:
  """What one more operation adds, by kind."""
  few, many = (total(meter, operation, count) for count in (operation.few, operation.many))
  return {kind: (many[kind] - few[kind]) / (operation.many - operation.few) for kind in {**few, **many}}


def each(measure: Callable[[Job], Result], jobs: Iterable[Job], at_a_time: int) -> dict[Job, Result]:
  """The results by job, of which some are measured at the same time.

  Some servers make more calls, or fewer, when their client is kept waiting: these want to be alone."""
  jobs = list(jobs)
  with ThreadPoolExecutor(at_a_time) as pool:
    try:
      return dict(zip(jobs, pool.map(measure, jobs)))
    except BaseException:
      # Or the pool would wait for what is still running.
      processes.kill_all()
      raise
