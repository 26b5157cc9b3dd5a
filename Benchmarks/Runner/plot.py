# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""The chart: throughput as a share of raw epoll's, a group of bars for each column."""

from __future__ import annotations

from html import escape

from columns import COLUMNS, Column
from shares import BASELINE, share

# This library's servers are blue, libevent's in C orange, the other libraries' violet and grey.
COLOURS = {
  "callbacks": "#1f5fd0",
  "closures": "#4f94f5",
  "lending": "#7bb0f8",
  "bufferevent": "#b3d1fc",
  "events": "#d9730d",
  "bufferevents-c": "#f2b266",
  "libuv": "#8957c9",
  "asio": "#8b949e",
}
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 124, 58
BAR, BAR_GAP, GROUP_GAP = 16, 2, 30
PLOT_HEIGHT = 260
STEP = 0.25
# What is higher is cut off; its number says how high it is.
HIGHEST = 1.75
LEGEND_COLUMNS = 4
FONT = "-apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif"

STYLE = f"""
text {{ font-family: {FONT}; fill: #1f2328; }}
.card {{ fill: #ffffff; stroke: #d1d9e0; }}
.grid {{ stroke: #d1d9e0; }}
.line {{ stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 5 3; }}
.title {{ font-size: 17px; font-weight: 600; }}
.heading {{ font-size: 12px; font-weight: 600; }}
.small {{ font-size: 11px; }}
.faint {{ fill: #59636e; }}
.value {{ font-size: 10px; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #f0f6fc; }}
  .card {{ fill: #0d1117; stroke: #3d444d; }}
  .grid {{ stroke: #30363d; }}
  .line {{ stroke: #f0f6fc; }}
  .faint {{ fill: #9198a1; }}
  .value {{ stroke: #0d1117; }}
}}
"""


def text(x: float, y: float, content: str, style: str, anchor: str = "start", turned: bool = False) -> str:
  turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
  place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
  return f'<text {place} class="{style}"{turn}>{escape(content)}</text>'


def draw(results: dict) -> str | None:
  """The chart as SVG; nothing if raw epoll was not measured, or nothing else was."""
  measured = results["parts"]["load"]["columns"]
  columns = [column for column in COLUMNS if BASELINE in measured.get(column.name, {})]
  servers = [name for name in COLOURS if columns and all(name in measured[column.name] for column in columns)]
  if not servers:
    return None

  ratios = {
    column.name: [share(measured[column.name], server) for server in servers] for column in columns
  }
  top = min(HIGHEST, max(1.25, STEP * (1 + int(max(max(row) for row in ratios.values()) / STEP))))
  group = len(servers) * (BAR + BAR_GAP) - BAR_GAP
  width = max(LEFT + RIGHT + len(columns) * (group + GROUP_GAP), 760)
  height = TOP + PLOT_HEIGHT + BOTTOM
  step = (width - LEFT - RIGHT) / len(columns)
  groups = [
    (column, ratios[column.name], LEFT + place * step + (step - group) / 2)
    for place, column in enumerate(columns)
  ]
  line = y_of(1, top)
  parts = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    f'height="{height}" role="img" aria-label="Throughput of echo servers as a share of raw epoll">',
    f"<style>{STYLE}</style>",
    f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    text(LEFT - 32, 34, "Echo throughput, as a share of a raw epoll server in C", "title"),
    text(LEFT - 32, 52, "higher is better; the dashed line is raw epoll", "small faint"),
    *legend(servers, results["servers"]),
    *scale(top, width),
    *[bar for _, row, left in groups for bar in bars(servers, row, left, top)],
    f'<line class="line" x1="{LEFT}" x2="{width - RIGHT}" y1="{line:.1f}" y2="{line:.1f}"/>',
    *[label for column, row, left in groups for label in labels(column, row, left, group, top)],
    "</svg>",
  ]
  return "\n".join(parts) + "\n"


def y_of(value: float, top: float) -> float:
  return TOP + PLOT_HEIGHT * (1 - value / top)


def legend(servers: list[str], titles: dict[str, str]) -> list[str]:
  parts = []
  for place, name in enumerate(servers):
    x = LEFT - 32 + place % LEGEND_COLUMNS * 235
    y = 68 + place // LEGEND_COLUMNS * 19
    parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" fill="{COLOURS[name]}"/>')
    parts.append(text(x + 18, y + 10.5, titles[name], "small"))
  return parts


def scale(top: float, width: float) -> list[str]:
  parts = []
  for number in range(round(top / STEP) + 1):
    y = y_of(number * STEP, top)
    parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(text(LEFT - 8, y + 4, f"{number * STEP:.2f}", "small faint", "end"))
  return parts


def bars(servers: list[str], ratios: list[float], left: float, top: float) -> list[str]:
  parts = []
  for place, (name, ratio) in enumerate(zip(servers, ratios)):
    x, y = left + place * (BAR + BAR_GAP), y_of(min(ratio, top), top)
    size = f'width="{BAR}" height="{TOP + PLOT_HEIGHT - y:.1f}"'
    parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="1.5" fill="{COLOURS[name]}"/>')
  return parts


def labels(column: Column, ratios: list[float], left: float, group: float, top: float) -> list[str]:
  """The number on each bar, and what the group is."""
  middle = left + group / 2
  parts = [
    text(middle, TOP + PLOT_HEIGHT + 22, column.heading[0], "heading", "middle"),
    text(middle, TOP + PLOT_HEIGHT + 38, column.heading[1], "small faint", "middle"),
  ]
  for place, ratio in enumerate(ratios):
    x = left + place * (BAR + BAR_GAP) + BAR / 2 + 3.5
    parts.append(text(x, y_of(min(ratio, top), top) - 4, f"{ratio:.2f}", "value", turned=True))
  return parts
