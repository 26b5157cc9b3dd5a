# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""Where everything is."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "Benchmarks"
SOURCES = BENCHMARKS / "C"
THRESHOLDS = BENCHMARKS / "Thresholds"
SETUP = ROOT / "Scripts/setup"

PROGRAMS = BENCHMARKS / ".build/programs"
LOAD_GENERATOR = PROGRAMS / "load_generator"
ALLOCATION_COUNTER = PROGRAMS / "count_allocations.so"

RELEASE = BENCHMARKS / ".build/release"
ECHO_SERVER = RELEASE / "EchoServer"
MICRO_BENCHMARKS = RELEASE / "MicroBenchmarks"
