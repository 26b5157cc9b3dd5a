# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""A server's figures beside those of raw epoll."""

from __future__ import annotations

from statistics import median

BASELINE = "epoll"


def shares(cells: dict, server: str, key: str = "rate") -> list[float]:
  """The ratio of each round. What the machine does to a round it does to both of them, mostly."""
  pairs = zip(cells[server]["rounds"], cells[BASELINE]["rounds"])
  return [one[key] / other[key] for one, other in pairs]


def share(cells: dict, server: str, key: str = "rate") -> float:
  """The median of the ratios of each round."""
  return median(shares(cells, server, key))
