# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The loads that servers are compared under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
  """One kind of load."""

  name: str
  title: str
  heading: tuple[str, str]
  mode: str
  connections: int
  size: int

  @property
  def unit(self) -> str:
    """What a rate counts."""
    return {"pingpong": "round trips", "stream": "MB", "connect": "connections"}[self.mode]

  @property
  def arguments(self) -> list[str]:
    """For the load generator."""
    return ["--connections", str(self.connections), "--size", str(self.size)]


COLUMNS = [
  Column("pingpong-1", "64 B × 1", ("64 B", "1 connection"), "pingpong", 1, 64),
  Column("pingpong-100", "64 B × 100", ("64 B", "100 connections"), "pingpong", 100, 64),
  Column("pingpong-1000", "64 B × 1,000", ("64 B", "1,000 connections"), "pingpong", 1000, 64),
  Column("pingpong-16k", "16 KiB × 100", ("16 KiB", "100 connections"), "pingpong", 100, 16_384),
  Column("stream-1", "stream × 1", ("streaming", "1 connection"), "stream", 1, 65_536),
  Column("stream-16", "stream × 16", ("streaming", "16 connections"), "stream", 16, 65_536),
  Column("connect", "connect × 50", ("connect, echo, close", "50 at once"), "connect", 50, 64),
]
