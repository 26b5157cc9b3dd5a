# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What the figures were taken on and with."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import processes
from places import PROGRAMS, ROOT


def first_match(pattern: str, text: str) -> str:
  found = re.search(pattern, text, re.MULTILINE)
  return found[1] if found else "unknown"


def output(*command: str) -> str:
  """What a program prints; nothing if it is not there or fails."""
  try:
    return processes.run(command, 30, cwd=ROOT)
  except (OSError, processes.Failure):
    return ""


def describe() -> dict[str, str]:
  return {
    "processor": first_match(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text()),
    "processors": str(len(processes.processors())),
    "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
    "system": first_match(r'^PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text()),
    "kernel": platform.release(),
  }


def commit() -> str:
  """Which state of this project it is."""
  return output("git", "describe", "--always", "--dirty").strip() or "unknown"


def versions() -> dict[str, str]:
  found = {
    "Swift": first_match(r"Swift version (\S+)", output("swift", "--version")),
    "gcc": output("gcc", "-dumpfullversion").strip(),
    "glibc": platform.libc_ver()[1],
    "libevent": output("pkg-config", "--modversion", "libevent_core").strip(),
  }
  if (PROGRAMS / "echo_libuv").exists():
    found["libuv"] = output("pkg-config", "--modversion", "libuv").strip()
  if (PROGRAMS / "echo_asio").exists():
    found["Asio"] = asio_version()
  return {name: version or "unknown" for name, version in found.items()}


def asio_version() -> str:
  macros = output("g++", "-E", "-dM", "-include", "asio/version.hpp", "-x", "c++", "/dev/null")
  number = first_match(r"#define ASIO_VERSION (\d+)", macros)
  if not number.isdigit():
    return ""
  return f"{int(number) // 100_000}.{int(number) // 100 % 1000}.{int(number) % 100}"


def method() -> dict[str, bool]:
  """Whether servers and clients have processors of their own, and whether they come first."""
  servers, clients = processes.split_processors()
  with processes.started(["true"], servers, stdout=subprocess.DEVNULL) as process:
    try:
      comes_first = os.getpriority(os.PRIO_PROCESS, process.pid) == -20
    except ProcessLookupError:
      comes_first = False
  return {"pinned": servers != clients, "priority": comes_first}
