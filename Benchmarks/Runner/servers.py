# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The servers that are compared, and how one is run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import processes

BUILD = Path(__file__).resolve().parent.parent / ".build"
PROGRAMS = BUILD / "programs"
LOAD_GENERATOR = PROGRAMS / "load_generator"
ALLOCATION_COUNTER = PROGRAMS / "count_allocations.so"
ECHO_SERVER = BUILD / "release/EchoServer"


@dataclass(frozen=True)
class Server:
  """One way to write an echo server."""

  name: str
  title: str
  command: tuple[str, ...]
  is_ours: bool = False
  # Of servers in C and C++: the source, the package with its headers, and what else the compiler is told.
  source: str = ""
  header: str = ""
  package: str = ""
  flags: tuple[str, ...] = field(default=())


def ours(api: str, title: str) -> Server:
  return Server(api, title, (str(ECHO_SERVER), api, "--stay"), is_ours=True)


def other(name: str, title: str, source: str, header: str = "", package: str = "", *flags: str) -> Server:
  return Server(name, title, (str(PROGRAMS / f"echo_{name}"),), False, source, header, package, flags)


SERVERS = [
  other("epoll", "raw epoll, C", "echo_epoll.c"),
  ours("callbacks", "SocketStreams, C callbacks"),
  ours("closures", "SocketStreams, closures"),
  ours("bufferevent", "SocketStreams over bufferevents"),
  other("events", "libevent events, C", "echo_events.c", "event2/event.h", "libevent-dev", "-levent_core"),
  other(
    "bufferevents-c", "libevent bufferevents, C", "echo_bufferevent.c", "event2/event.h", "libevent-dev",
    "-levent_core",
  ),
  other("libuv", "libuv, C", "echo_libuv.c", "uv.h", "libuv1-dev", "-luv"),
  other("asio", "Asio, C++", "echo_asio.cpp", "asio.hpp", "libasio-dev", "-std=c++17", "-pthread"),
]


@dataclass
class Running:
  """A server that serves."""

  process: subprocess.Popen
  port: str

  @property
  def pid(self) -> int:
    return self.process.pid

  def memory(self) -> dict[str, int]:
    """Bytes: what of its memory is resident, and what of that is its own and was written to."""
    found = {}
    for text in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
      name, _, value = text.partition(":")
      if name in ("Rss", "Private_Dirty"):
        found[name] = int(value.split()[0]) * 1024
    return {"rss": found["Rss"], "dirty": found["Private_Dirty"]}


@contextmanager
def serving(
  command: Sequence[str], pinned_to: Sequence[int] | None, **options
) -> Iterator[Running]:
  """Runs a server, which may have a tool before it, until the end of the block."""
  with processes.started(
    command, pinned_to, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options
  ) as process:
    yield Running(process, processes.line(process))


def load(
  mode: str, server: Running, arguments: Sequence[str], pinned_to: Sequence[int], limit: float
) -> dict:
  """One run of the load generator against a server, and its measurements."""
  command = [str(LOAD_GENERATOR), mode, server.port, "--server", str(server.pid), *arguments]
  return json.loads(processes.run(command, limit, pinned_to))


@contextmanager
def idle_connections(server: Running, count: int, pinned_to: Sequence[int]) -> Iterator[None]:
  """Keeps connections that have had one echo each, until the end of the block."""
  command = [str(LOAD_GENERATOR), "idle", server.port, "--connections", str(count)]
  with processes.started(command, pinned_to, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
    processes.line(client)
    yield
