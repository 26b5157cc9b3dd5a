# SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
"""What an operation costs, in what does not depend on the machine's speed: heap allocations, system calls and
instructions.

A meter runs a program under a tool that counts everything the program does. An operation's cost is the slope between
a run of few operations and one of many, so that starting, connecting and ending do not count.
"""

import re
import subprocess
import tempfile
from pathlib import Path

# Longest time that one run may take, in seconds.
TIME_LIMIT = 120


class Failure(Exception):
    """Something could not be measured; the message is a sentence for people."""


class AllocationMeter:
    """Calls of the C library's allocator."""

    key = "allocations"

    def __init__(self, library):
        self.library = library

    @classmethod
    def built(cls, source, folder):
        library = Path(folder) / "count_allocations.so"
        compile_c(source, library, "-shared", "-fPIC")
        return cls(library)

    def command(self, program, output):
        return ["env", f"LD_PRELOAD={self.library}", f"ALLOCATION_COUNT={output}", *program]

    def total(self, text):
        return int(text)


class SystemCallMeter:
    """System calls of every thread but the futex: how often threads meet at a lock is up to the scheduler."""

    key = "systemCalls"

    def command(self, program, output):
        return ["strace", "-f", "-qq", "-e", "trace=!futex", "-e", "signal=none", "-o", output, *program]

    def total(self, text):
        # A call that another thread's interrupts is two lines.
        return sum(1 for line in text.splitlines() if "(" in line and "resumed>" not in line)


class InstructionMeter:
    """Instructions in user space, of threads that take turns: one that waits is not overtaken by chance."""

    key = "instructions"

    def command(self, program, output):
        return ["valgrind", "-q", "--tool=callgrind", "--fair-sched=try", f"--callgrind-out-file={output}", *program]

    def total(self, text):
        return int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE).group(1))


def compile_c(source, target, *options):
    run(["gcc", "-O2", *options, "-o", str(target), str(source)], f"{Path(source).name} could not be compiled")


def run(command, what):
    """Runs `command` to its end and returns its standard output. `what` says what is wrong when it fails."""
    done = subprocess.run(limited(command), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{what}: {reason(done.stderr, done.returncode)}")
    return done.stdout


def limited(command):
    """`command`, which ends with all that it started when it takes too long."""
    return ["timeout", "--kill-after=5", str(TIME_LIMIT), *map(str, command)]


def reason(messages, code):
    """The first line of what a program said, or the code that it ended with."""
    if code == 124:
        return f"it took longer than {TIME_LIMIT} s"
    lines = [line for line in messages.splitlines() if line.strip()]
    return lines[0].strip() if lines else f"it ended with {code}"


def measured(meter, operate, what):
    """What `meter` counts in one run. `operate(wrap)` runs the program, its command line passed through `wrap`."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        operate(lambda program: meter.command(program, output))
        try:
            return meter.total(output.read_text())
        except (OSError, ValueError, AttributeError) as error:
            raise Failure(f"{what}: the count of {meter.key} cannot be read ({error})") from error


def slope(meter, operate, few, many, what):
    """What one more operation adds. `operate(count, wrap)` runs a program that does `count` operations."""
    low, high = (measured(meter, lambda wrap: operate(count, wrap), what) for count in (few, many))
    return (high - low) / (many - few)
