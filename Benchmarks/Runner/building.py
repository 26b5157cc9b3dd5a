# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Builds the servers, and what loads and measures them. What needs a missing package is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import processes
from places import ALLOCATION_COUNTER, BENCHMARKS, LOAD_GENERATOR, PROGRAMS, SETUP, SOURCES
from servers import Server

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
COMPILE_LIMIT = 120.0
SWIFT_LIMIT = 1200.0
SETUP_LIMIT = 1800.0


def compile_file(source: str, output: Path, *flags: str) -> None:
  compiler = "g++" if source.endswith(".cpp") else "gcc"
  # The libraries come last, after what needs them.
  command = [compiler, "-O3", *WARNINGS, "-o", str(output), str(SOURCES / source), *flags]
  processes.run(command, COMPILE_LIMIT)


def build_tools() -> None:
  """The load generator and what counts allocations."""
  if not shutil.which("gcc"):
    raise processes.Failure("gcc is not installed, and without it there is no load generator")
  PROGRAMS.mkdir(parents=True, exist_ok=True)
  compile_file("load_generator.c", LOAD_GENERATOR)
  compile_file("count_allocations.c", ALLOCATION_COUNTER, "-shared", "-fPIC")


def build_swift(product: str) -> None:
  place = ["--package-path", str(BENCHMARKS)]
  processes.run(["swift", "build", "--configuration", "release", *place, "--product", product], SWIFT_LIMIT)


def has_header(compiler: str, header: str) -> bool:
  language = "c++" if compiler == "g++" else "c"
  try:
    # Asio's header refuses to be read without this.
    command = [compiler, "-M", "-DASIO_STANDALONE", "-include", header, "-x", language, "/dev/null"]
    processes.run(command, COMPILE_LIMIT)
  except processes.Failure:
    return False
  return True


def why_left_out(server: Server) -> str | None:
  """The reason, for people, why a server cannot be built here."""
  if server.is_ours:
    return None
  compiler = "g++" if server.source.endswith(".cpp") else "gcc"
  if not shutil.which(compiler):
    return f"{compiler} is not installed"
  if server.header and not has_header(compiler, server.header):
    return f"{server.package} is not installed"
  return None


def build_servers(wanted: list[Server]) -> tuple[list[Server], list[str]]:
  """Builds what it can. Returns the servers that there are, and a notice for each one that is left out."""
  if any(server.is_ours for server in wanted):
    build_swift("EchoServer")
  built, notices = [], []
  for server in wanted:
    reason = why_left_out(server)
    if reason:
      notices.append(f"{server.title} is left out, as {reason}")
      continue
    if not server.is_ours:
      compile_file(server.source, Path(server.command[0]), *server.flags)
    built.append(server)
  return built, notices


def set_up(option: str) -> str | None:
  """Installs what is missing. Returns the reason, for people, if that fails."""
  try:
    processes.run([str(SETUP), option], SETUP_LIMIT)
  except processes.Failure as failure:
    return str(failure).splitlines()[-1]
  return None
