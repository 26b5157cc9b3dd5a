# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The page that explains the results: tables in Markdown, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from columns import COLUMNS, Column
from echoes import ECHOES
from meters import METERS, Meter
from shares import BASELINE, share, shares

MIB = 2**20
CLIENT_BOUND = 0.95

HEAD = """\
# Echo servers, side by side

Written by `Scripts/bench`; do not edit it, run that again. Every figure is in [results.json](results.json).
"""

REPRODUCE = """\
## How to reproduce

```
Scripts/bench            everything but the soak, in about ten minutes; writes this folder
Scripts/bench --quick    the same in less than a minute, to see that it works
Scripts/bench --soak --out docs/benchmarks    adds memory over 1,000,000 connections
Scripts/bench --help     single parts, columns, servers
```

How often and how long each part was run for this page is in *Machine*: `--rounds`, `--seconds`.
It installs what it needs on Debian (`Scripts/setup --bench`). The servers are in `Benchmarks/C` and
`Benchmarks/Sources/EchoServer`, the runner in `Benchmarks/Runner`.
"""

METHOD = """\
## Method

- Every server reads up to 64 KiB at once, as far as its library does (a bufferevent reads 4 KiB), and sends
  back what it got; `TCP_NODELAY` is on, the backlog 4,096. One loop, one thread.
- One client, `Benchmarks/C/load_generator.c`, a single thread over epoll, compares every byte that comes
  back with what it sent; a byte that differs, is missing or is one too many ends the run with an error.
- *64 B* and *16 KiB*: each connection sends a message, waits for the echo, sends the next. *Streaming*:
  each sends and reads all it can, 64 KiB a call. *Connect*: each connects, has one echo of 64 B, and
  closes.
- The servers are interleaved: each round goes through all columns, and through all servers in each, in an
  order that is rotated every time. A server process lives for one run. The figures are medians over the
  rounds; the ratios are those of each round, as a shared machine has fast rounds and slow ones.
- A run is repeated if the client or the server waited for its processor for more than 1.5 % of the time
  (`/proc/PID/schedstat`), up to twice; the least disturbed one counts.
- A server's processor time is that of its process during the measured time, divided by the echoes of that
  time. It depends less than throughput does on how fast the client is.
"""

LIMITS = """\
## Limits

- Loopback only: there is no network card, and client and server share one machine.
- One client thread takes about as long for a small message as the fastest servers. Where its share of a
  processor is near 1 (see *Client and server*), the true ratio may be larger or smaller: compare processor
  time beside raw epoll there.
- Each server is the ordinary way to use its library, not the fastest that can be written with it.
"""


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
  headings = list(headings)
  lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
  return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float, digits: int = 0) -> str:
  # Adding 0 takes the sign from a 0.
  return f"{round(value, digits) + 0:,.{digits}f}"


def circumstances(part: dict) -> str:
  length = f", {part['rounds']} × {part['seconds']:g} s" if "rounds" in part else ""
  return f"on {part['measured']['date']} at commit {part['measured']['commit']}{length}"


class Report:
  """Puts the parts together that were measured."""

  def __init__(self, results: dict) -> None:
    self.results = results
    self.parts: dict = results["parts"]
    self.titles: dict[str, str] = results["servers"]

  def write(self) -> str:
    sections = [HEAD]
    if "load" in self.parts:
      sections += self.load()
    if "memory" in self.parts:
      sections += self.memory()
    if "costs" in self.parts:
      sections += self.costs()
    if "loops" in self.parts:
      sections += self.loops()
    if "soak" in self.parts:
      sections += self.soak()
    sections += [REPRODUCE, self.machine(), METHOD, LIMITS]
    return "\n".join(sections)

  def load(self) -> list[str]:
    part = self.parts["load"]
    measured = part["columns"]
    columns = [column for column in COLUMNS if column.name in measured]
    servers = [name for name in self.titles if name in measured[columns[0].name]]
    sections = []

    def add_of(
      title: str, text: str, figure: Callable[[str, Column], str], some: list[Column] = columns
    ) -> None:
      rows = [[self.titles[name], *[figure(name, one) for one in some]] for name in servers]
      if some:
        sections.append(f"## {title}\n\n{text}\n\n" + table(["", *[column.title for column in some]], rows))

    def add(title: str, text: str, cell: Callable[[dict, Column], str], some: list[Column] = columns) -> None:
      add_of(title, text, lambda name, one: cell(measured[one.name][name], one), some)

    if BASELINE in servers:
      if len(servers) > 1:
        sections.append("![Throughput as a share of raw epoll, as a chart](results.svg)\n")
      add_of(
        "Ratio to raw epoll",
        "Throughput, divided by that of the raw epoll server in the same round; the median over the rounds.",
        lambda name, one: number(share(measured[one.name], name), 2),
      )
      add_of(
        "Processor time beside raw epoll",
        "The server's processor time for an echo or a MB, divided by raw epoll's in the same round; the "
        "median.",
        lambda name, one: number(share(measured[one.name], name, "server_cpu"), 2),
      )
      if part["rounds"] > 1:
        add_of(
          "Range of the throughput ratios",
          "The lowest and the highest of a round: differences within them mean nothing.",
          lambda name, one: "–".join(
            number(bound(shares(measured[one.name], name)), 2) for bound in (min, max)
          ),
        )
    add(
      "Throughput",
      "Round trips or connections a second; MB a second when streaming. Each is the median of its own "
      "rounds: compare servers by the ratios above, since of two medians one may be of a fast round and the "
      "other of a slow one.",
      lambda cell, _: number(cell["rate"]),
    )
    add(
      "Processor time of the server",
      "Microseconds for an echo, user and kernel; for a MB when streaming.",
      lambda cell, _: number(cell["server_cpu"], 2),
    )
    add(
      "Latency",
      "Microseconds: median / 99 % / 99.9 %.",
      lambda cell, _: " / ".join(number(cell[key]) for key in ("p50", "p99", "p999")),
      [column for column in columns if column.mode != "stream"],
    )
    add(
      "Client and server",
      "The shares of their processors that client and server used. "
      f"From about {CLIENT_BOUND} on, that side limits.",
      lambda cell, _: " / ".join(number(cell[key], 2) for key in ("client_share", "server_share")),
    )
    if part["rounds"] > 1:
      add(
        "Spread",
        "The difference between the best and the worst round, in % of the median: smaller differences "
        "between servers mean nothing.",
        lambda cell, _: number(100 * cell["spread"]),
      )
    return sections

  def memory(self) -> list[str]:
    part = self.parts["memory"]
    headings = ["", "bytes a connection", "alone, /s", "among idle, /s", "ratio"]
    rows = [
      [
        self.titles[name],
        number(one["dirty"]),
        number(one["alone"]),
        number(one["among_idle"]),
        number(one["ratio"], 2),
      ]
      for name, one in part["servers"].items()
    ]
    text = (
      "User-space bytes that one more idle connection takes: private memory that was written to, between "
      f"{part['first']:,} and {part['idle']:,} connections, which were opened one after the other and had "
      "one echo each. In this library's servers both halves are scheduled, and a client is set. The kernel's "
      f"memory does not count. Then 64 B round trips of {part['active']} active connections, alone and among "
      f"{part['idle']:,} idle ones."
    )
    return [f"## Memory and idle connections\n\n{text}\n\n" + table(headings, rows)]

  def costs(self) -> list[str]:
    servers = {name: one for name, one in self.parts["costs"]["servers"].items() if one}
    if not servers:
      return []
    text = (
      "What one more round trip adds, of one connection and of 50 that are all active: heap allocations, "
      "system calls (strace) and instructions in user space (callgrind), as the difference between two runs. "
      "These hardly depend on the machine."
    )
    sections = [f"## Costs of a round trip\n\n{text}\n"]
    for meter in METERS:
      measured = {name: one[meter.key] for name, one in servers.items() if meter.key in one}
      if measured:
        sections.append(self.costs_of(meter, measured))
    lines = []
    for name, one in servers.items():
      calls = sorted(one.get("systemCalls", {}).get(ECHOES[0].name, {}).items())
      if calls:
        lines.append(f"- {self.titles[name]}: " + ", ".join(f"{call} {count:.2g}" for call, count in calls))
    if lines:
      sections.append("System calls of a 64 B round trip of one connection:\n\n" + "\n".join(lines) + "\n")
    return sections

  def costs_of(self, meter: Meter, measured: dict[str, dict]) -> str:
    """A table of one kind of cost, by server and round trip."""
    columns = [echoes for echoes in ECHOES if all(echoes.name in one for one in measured.values())]
    digits = 0 if meter.key == "instructions" else 2
    rows = [
      [self.titles[name], *[number(sum(one[echoes.name].values()), digits) for echoes in columns]]
      for name, one in measured.items()
    ]
    return table([meter.title, *[echoes.title for echoes in columns]], rows)

  def loops(self) -> list[str]:
    part = self.parts["loops"]
    columns = [column for column in COLUMNS if column.name in part["columns"]]
    variants = list(part["columns"][columns[0].name])
    rows = [[name, *[number(part["columns"][one.name][name]) for one in columns]] for name in variants]
    text = "This library's server by C callbacks. " + (
      "The server has two processors, the client the others; it is still one thread, which limits what more "
      "loops can show."
      if part["pinned"]
      else "With two processors or fewer nothing is pinned, and two loops and the client share them: this "
      "shows what several loops cost, not what they gain. Differences of a quarter are the machine's fast and "
      "slow rounds."
    )
    return [f"## Several loops\n\n{text}\n\n" + table(["", *[column.title for column in columns]], rows)]

  def soak(self) -> list[str]:
    part = self.parts["soak"]
    servers = part["servers"]
    steps = len(next(iter(servers.values())))
    headings = ["", *[f"{part['step'] * (place + 1):,}" for place in range(steps)]]
    rows = [[self.titles[name], *[number(size / MIB, 1) for size in row]] for name, row in servers.items()]
    text = "Resident MiB after so many connections opened, used for one echo and closed, 50 at a time."
    return [f"## Memory over many connections\n\n{text}\n\n" + table(headings, rows)]

  def machine(self) -> str:
    here, versions, method = (self.results[key] for key in ("machine", "versions", "method"))
    measured = [f"{name} {circumstances(part)}" for name, part in sorted(self.parts.items())]
    lines = [
      f"- {here['processor']}, {here['processors']} processors, {here['memory']} of memory",
      f"- {here['system']}, Linux {here['kernel']}",
      "- " + ", ".join(f"{name} {version}" for name, version in versions.items()),
      "- " + ("The server and the client had a processor each" if method["pinned"] else "Nothing was pinned")
      + (", at the highest priority." if method["priority"] else ", at the usual priority."),
      f"- Measured: {'; '.join(measured)}.",
    ]
    if "load" in self.parts:
      gate = self.parts["load"]["gate"]
      lines.append(
        f"- {gate['runs']} runs under load, and {gate['repeated']} repeated as others disturbed them; "
        f"{gate['disturbed']} stayed above 1.5 %, the worst at {100 * gate['worst_contention']:.1f} %."
      )
    lines += [f"- Note: {notice}." for notice in self.results["notices"]]
    return "## Machine\n\n" + "\n".join(lines) + "\n"


def write(results: dict) -> str:
  return Report(results).write()
