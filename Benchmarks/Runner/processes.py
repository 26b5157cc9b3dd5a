# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Child processes: pinned to processors, limited in time, and ended whatever happens."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

PR_SET_PDEATHSIG = 1
START_LIMIT = 60.0
END_LIMIT = 20.0

# Looked up now: between fork and exec nothing may be.
prctl = ctypes.CDLL(None).prctl
running: set[subprocess.Popen] = set()
is_ending = False


class Failure(Exception):
  """A run that cannot be used; the message is for people."""


def processors() -> list[int]:
  return sorted(os.sched_getaffinity(0))


def split_processors(for_servers: int = 1) -> tuple[list[int], list[int]]:
  """Processors for the server, and others for its clients; all for both if there are not enough."""
  available = processors()
  if len(available) <= for_servers:
    return available, available
  return available[:for_servers], available[for_servers:]


def allow_descriptors(wanted: int) -> int:
  """Raises the limit of open files, if it may be, to what is wanted. Returns what it is now."""
  soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
  if soft < wanted and hard < wanted:
    try:
      resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except (ValueError, PermissionError):
      pass
  soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
  if soft < wanted:
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, wanted), hard))
  return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def preparation(pinned_to: Sequence[int] | None) -> Callable[[], None]:
  """What a child does before it runs its program."""

  def prepare() -> None:
    # The signal comes when the thread that forks ends; each of ours outlives what it starts.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if pinned_to is not None:
      os.sched_setaffinity(0, pinned_to)
      try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
      except PermissionError:
        pass

  return prepare


@contextmanager
def started(
  command: Sequence[str], pinned_to: Sequence[int] | None = None, **options
) -> Iterator[subprocess.Popen]:
  """A process in a group of its own, which is killed at the end if it has not ended by itself."""
  if is_ending:
    raise Failure("no more is started, as the run is ending")
  process = subprocess.Popen(
    list(command), start_new_session=True, preexec_fn=preparation(pinned_to), text=True, **options
  )
  running.add(process)
  try:
    yield process
  finally:
    kill(process)


def kill(process: subprocess.Popen) -> None:
  try:
    os.killpg(process.pid, signal.SIGKILL)
  except ProcessLookupError:
    pass
  process.wait()
  for pipe in (process.stdin, process.stdout, process.stderr):
    if pipe:
      try:
        pipe.close()
      except BrokenPipeError:
        pass
  running.discard(process)


def kill_all() -> None:
  """Ends everything, for good: nothing is started any more."""
  global is_ending
  is_ending = True
  for process in list(running):
    kill(process)


def run(command: Sequence[str], limit: float, pinned_to: Sequence[int] | None = None, **options) -> str:
  """Runs a program to its end and returns what it printed."""
  with started(
    command, pinned_to, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
  ) as process:
    try:
      output, messages = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
      raise Failure(f"{command[0]} did not end within {limit:.0f} s") from None
    if process.returncode:
      raise Failure(f"{command[0]} ended with {process.returncode}: {(messages or output).strip()}")
    return output


def name(process: subprocess.Popen) -> str:
  return process.args[0] if isinstance(process.args, list) else str(process.args)


def line(process: subprocess.Popen, limit: float = START_LIMIT) -> str:
  """The first line that a process prints. Its output must be a pipe."""
  assert process.stdout
  deadline = time.monotonic() + limit
  text = b""
  while not text.endswith(b"\n"):
    ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
    if not ready:
      raise Failure(f"nothing came from {name(process)} within {limit:.0f} s")
    byte = os.read(process.stdout.fileno(), 1)
    if not byte:
      raise Failure(f"{name(process)} {end(process)} before it printed anything")
    text += byte
  return text.decode().strip()


def end(process: subprocess.Popen) -> str:
  """How a process ended that has closed its output."""
  try:
    return f"ended with {process.wait(END_LIMIT)}"
  except subprocess.TimeoutExpired:
    return "closed its output"


def terminate(process: subprocess.Popen) -> None:
  """Asks a process to end, and waits until it has."""
  process.send_signal(signal.SIGTERM)
  try:
    code = process.wait(END_LIMIT)
  except subprocess.TimeoutExpired:
    raise Failure(f"{name(process)} did not end within {END_LIMIT:.0f} s of SIGTERM") from None
  if code:
    raise Failure(f"{name(process)} ended with {code} after SIGTERM")


def end_on_signals() -> None:
  """Has the signals that ask this program to end raise `KeyboardInterrupt` with their number."""

  def interrupted(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)

  for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, interrupted)


def code_of(interrupt: KeyboardInterrupt) -> int:
  """What a program ends with that was interrupted, as shells have it."""
  return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
