# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The servers that are compared, and how one is run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import processes
from places import ECHO_SERVER, LOAD_GENERATOR, PROGRAMS


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
  ours("lending", "SocketStreams, lent bytes"),
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
  command: Sequence[str], pinned_to: Sequence[int] | None = None, **options
) -> Iterator[Running]:
  """Runs a server, which may have a tool before it, until the end of the block."""
  with (
    tempfile.TemporaryFile("w+") as messages,
    processes.started(
      command, pinned_to, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages, **options
    ) as process,
  ):
    try:
      port = processes.line(process)
    except processes.Failure as failure:
      messages.seek(0)
      raise processes.Failure(f"{failure}: {messages.read().strip()}") from None
    yield Running(process, port)


@contextmanager
def loading(
  mode: str, server: Running, arguments: Sequence[str], pinned_to: Sequence[int] | None, limit: float
) -> Iterator[str]:
  """Runs the load generator, and keeps its connections until the end of the block. Yields what it printed."""
  command = [str(LOAD_GENERATOR), mode, server.port, "--server", str(server.pid), *arguments]
  with processes.started(command, pinned_to, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
    yield processes.line(client, limit)


def load(
  mode: str, server: Running, arguments: Sequence[str], pinned_to: Sequence[int], limit: float
) -> dict:
  """One run of the load generator against a server, and its measurements."""
  with loading(mode, server, arguments, pinned_to, limit) as text:
    return json.loads(text)
