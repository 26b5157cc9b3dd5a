# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""A server's throughput beside that of raw epoll."""

from __future__ import annotations

from statistics import median

BASELINE = "epoll"


def share(cells: dict, server: str) -> float:
  """The median of the ratios of each round. What the machine does to a round it does to both of them."""
  pairs = zip(cells[server]["rounds"], cells[BASELINE]["rounds"])
  return median([one["rate"] / other["rate"] for one, other in pairs])
