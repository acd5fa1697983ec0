"""Replayed calls a second, side by side with the nearest tools that can be installed.

Usage: python examples/bench_peers.py [--messages N ...] [--json FILE], or `make bench-peers`.

The same made-up session of a coding agent goes to each tool, each in a process and a virtual
environment of its own below ``.peers/``; the processor time is taken inside of that process,
without starting it and without reading the file, and is the best of several. A *replayed call* is
a model call whose context was gone through, whatever the tool does with it: none of the others
does everything that compactlab does, and what each leaves out is printed below the table. Every
tool is taken the quickest way that its own documentation shows. A tool that cannot be had is named
with the reason. The exit code is 0, whatever comes out, unless nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from peers.environment import ADAPTERS, CHECKED, TOOLS, InstallError, Tool, ready, started
from peers.session import session, write

import compactlab

FOLDER = Path(__file__).parents[1] / ".peers"
OURS = Tool(
    "compactlab",
    (f"compactlab=={compactlab.__version__}",),
    "with_compactlab.py",
    "applies the strategy, counts tokens exactly (o200k, fitted to the model), replays the "
    "provider's cache, prices every request, says what of the next actions' needs is in context, "
    "and gives a row for the run and one for each call",
    "no record of every message in every prompt (contextwatch), no rounds over a compactor's own "
    "output alone (compaction-conformance-kit), nobody is asked (maf-cachebench can)",
)
BAR = 10.0
LONGEST = 900  # seconds for one tool on one session


@dataclass(frozen=True)
class Row:
    """What one tool needed for one session under one strategy."""

    messages: int
    strategy: str
    tool: str
    version: str
    ran: str
    calls: int
    seconds: float
    runs: int
    python: str

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


@dataclass(frozen=True)
class Ratio:
    """How compactlab stands to the best of the others, on one session under one strategy."""

    messages: int
    strategy: str
    best: str
    ratio: float

    @property
    def met(self) -> bool:
        return self.ratio >= BAR


def measured(tool: Tool, python: Path, folder: Path, messages: int) -> list[Row]:
    """Run a tool's adapter over the files of a folder."""
    done = started([str(python), str(ADAPTERS / tool.adapter), str(folder)], LONGEST)
    if done.returncode:
        raise RuntimeError((done.stderr.splitlines() or ["it failed"])[-1])
    found = json.loads(done.stdout.splitlines()[-1])
    rows = [Row(messages, tool=tool.name, version=tool.version, **each) for each in found]
    return rows if tool is OURS else [*rows, *together(rows)]


def together(rows: Sequence[Row]) -> Iterator[Row]:
    """What one tool needed for both strategies, one after the other."""
    kept = [row for row in rows if row.strategy == "keep_all"]
    slid = {row.tool: row for row in rows if row.strategy == "sliding_window"}
    for one in kept:
        if one.tool in slid:
            two = slid[one.tool]
            calls, seconds = one.calls + two.calls, one.seconds + two.seconds
            yield replace(
                one, strategy="both", ran="the sum of the two", calls=calls, seconds=seconds
            )


def ratios(rows: Sequence[Row]) -> Iterator[Ratio]:
    """compactlab against the best of the others, wherever both were measured."""
    for ours in (row for row in rows if row.tool == OURS.name):
        others = [
            row
            for row in rows
            if (row.messages, row.strategy) == (ours.messages, ours.strategy) and row is not ours
        ]
        if others:
            best = max(others, key=lambda row: row.rate)
            yield Ratio(ours.messages, ours.strategy, best.tool, ours.rate / best.rate)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each row, in groups of one session and one strategy."""
    head = ("tool", "version", "Python", "calls", "seconds", "calls/s", "compactlab / tool")
    form = "{:<27}{:<9}{:<9}{:>6}{:>10}{:>9}{:>19}   {}"
    for messages, strategy in dict.fromkeys((row.messages, row.strategy) for row in rows):
        group = [row for row in rows if (row.messages, row.strategy) == (messages, strategy)]
        ours = next((row.rate for row in group if row.tool == OURS.name), None)
        yield f"\n{strategy}, {messages:,} messages"
        yield form.format(*head, "what was run")
        for row in group:
            ratio = f"{ours / row.rate:,.1f}" if ours and row.tool != OURS.name else ""
            figures = (f"{row.calls:,}", f"{row.seconds:.4f}", f"{row.rate:,.0f}", ratio)
            yield form.format(row.tool, row.version, row.python, *figures, row.ran)


def verdict(found: Sequence[Ratio]) -> Iterator[str]:
    """Whether the bar holds, for each comparison and for all."""
    for each in found:
        yield (
            f"  {'met   ' if each.met else 'MISSED'}  {each.strategy}, {each.messages:,} messages: "
            f"{each.ratio:,.1f} times the best of them, {each.best}"
        )
    if not found:
        yield "nothing could be compared"
        return
    met = sum(each.met for each in found)
    holds = "holds" if met == len(found) else "does not hold"
    yield f"at least {BAR:.0f} times the best of them: {holds} ({met} of {len(found)})"


def compare(sizes: Sequence[int]) -> tuple[list[Row], dict[str, str]]:
    """Measure all tools on sessions of about so many messages; what failed is named with why."""
    pythons, missing = {OURS: Path(sys.executable)}, {}
    for tool in TOOLS:
        try:
            pythons[tool] = ready(tool, FOLDER)
        except InstallError as error:
            missing[tool.name] = f"cannot be installed: {error}"
    rows: list[Row] = []
    for size in sizes:
        conversation = session(size)
        folder = FOLDER / "sessions" / str(size)
        write(conversation, folder)
        for tool, python in pythons.items():
            print(f"{tool.name}, {len(conversation.messages):,} messages ...", file=sys.stderr)
            try:
                rows += measured(tool, python, folder, len(conversation.messages))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                missing[f"{tool.name}, about {size:,} messages"] = f"failed: {error}"
    return rows, missing


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Replayed calls a second, beside other tools.")
    parser.add_argument("--messages", type=int, nargs="+", default=[400, 4_000])
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args(arguments)
    rows, missing = compare(options.messages)
    found = list(ratios(rows))
    print(f"{platform.platform()}, {os.cpu_count()} cores; versions of {CHECKED}")
    print(*table(rows), "", *verdict(found), "", sep="\n")
    for tool in (OURS, *TOOLS):
        print(f"{tool.name}\n  at each call: {tool.does}\n  not: {tool.lacks}")
    for name, reason in missing.items():
        print(f"not measured: {name}: {reason}")
    if options.json:
        figures = {
            "machine": f"{platform.platform()}, {os.cpu_count()} cores",
            "rows": [{**asdict(row), "calls_per_second": row.rate} for row in rows],
            "ratios": [{**asdict(each), "met": each.met} for each in found],
            "not_measured": missing,
        }
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return int(not found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
