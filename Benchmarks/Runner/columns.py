# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The loads that servers are compared under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One kind of load."""

    name: str
    title: str
    mode: str
    connections: int
    size: int

    @property
    def unit(self) -> str:
        """What a rate counts a second."""
        return {"pingpong": "round trips", "stream": "MB", "connect": "connections"}[self.mode]

    @property
    def arguments(self) -> list[str]:
        """For the load generator."""
        return ["--connections", str(self.connections), "--size", str(self.size)]


COLUMNS = [
    Column("pingpong-1", "64 B × 1", "pingpong", 1, 64),
    Column("pingpong-100", "64 B × 100", "pingpong", 100, 64),
    Column("pingpong-1000", "64 B × 1,000", "pingpong", 1000, 64),
    Column("pingpong-16k", "16 KiB × 100", "pingpong", 100, 16_384),
    Column("stream-1", "stream × 1", "stream", 1, 65_536),
    Column("stream-16", "stream × 16", "stream", 16, 65_536),
    Column("connect", "connect × 50", "connect", 50, 64),
]
