"""How the cost of a run grows: with its calls, facts, conversations and strategies.

Usage: python examples/growth.py [--most SHARE] [--out FOLDER], or `make growth`.

Each point is one `compactlab.run` in a process of its own: its processor seconds without the start
of Python and the imports, and the most memory that it had. Only one thing grows at a time. The
*slope* is that of the line through the points of the upper half, on logarithmic axes: 1 is linear,
2 is quadratic; a cost that does not depend on what grows makes it smaller. The last rows compare a
dask cluster of two local workers with one of one, in seconds of the wall clock, started before.

It writes ``growth.json`` and ``growth.svg`` into the folder, which docs/dev/performance.md shows.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from typing import Any

import compactlab

FIGURES = ("money", "cache", "forward_need")
POINT = """
import json, resource, sys, time
from dataclasses import replace
import compactlab
from compactlab.scenarios.coding_agent import CodingAgent
compactlab.run("support_chat(turns=2)", "keep_all", metrics=["money", "memory"])
given = json.loads(sys.argv[1])
if density := given.pop("density", 0):
    mix = replace(CodingAgent.domain.mix, density=density)
    CodingAgent.domain = replace(CodingAgent.domain, mix=mix)
start = time.process_time()
results = compactlab.run(**given)
seconds = time.process_time() - start
assert all(run.status == "ok" for run in results.runs), results.failed[:1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
calls = sum(run.metrics["calls"] for run in results.runs)
print(json.dumps({"seconds": seconds, "megabytes": round(peak), "calls": calls}))
"""
CLUSTER = """
import json, sys, time
import compactlab
from distributed import Client
given = json.loads(sys.argv[1])
with Client(given["dask"], set_as_default=False) as client:
    client.wait_for_workers(given.pop("workers"), timeout=60)
compactlab.run("support_chat(turns=2)", "keep_all", dask=given["dask"])
start = time.perf_counter()
results = compactlab.run(**given)
seconds = time.perf_counter() - start
assert all(run.status == "ok" for run in results.runs)
print(json.dumps({"seconds": seconds}))
"""
PATIENCE = 60  # seconds until a scheduler must have started

Settings = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One run: how much there was of what grows, and what it took."""

    amount: int
    seconds: float
    megabytes: float
    calls: float


def session(calls: int) -> str:
    """A session of so many calls, 20 a turn, 200 tokens each."""
    return f"coding_agent(turns={max(1, calls // 20)}, calls={calls}, tokens={calls * 200})"


def series(most: float) -> dict[str, dict[int, Settings]]:
    """What is run: by what grows the settings of each point, up to a share of the largest."""
    plain: Settings = {
        "models": ["claude-sonnet-4-5"], "loop": "open", "window": 10**9,
        "metrics": FIGURES, "tables": ["calls"],
    }  # fmt: skip
    # The mix of a session states 0.36 facts in a thousand tokens; the same text with more of them.
    followed = {**plain, "metrics": (*FIGURES, "memory"), "conversations": session(1_000)}
    kept = ["keep_all", "pair_safe_window"]
    grown: dict[str, dict[int, Settings]] = {
        "calls of a session": {
            n: {**plain, "conversations": session(n), "strategies": kept}
            for n in (100, 1_000, 10_000, 100_000)
        },
        "facts of a session": {
            n: {**followed, "strategies": kept, "density": n / 200}
            for n in (72, 288, 1_152)
        },
        "conversations": {
            n: {**plain, "conversations": "support_chat(turns=4, tokens=2000)", "seeds": n,
                "strategies": kept}
            for n in (10, 100, 1_000, 10_000)
        },
        "strategies": {
            n: {**plain, "conversations": session(1_000),
                "strategies": [f"sliding_window(keep={20 + k})" for k in range(n)]}
            for n in (1, 4, 16, 64)
        },
    }  # fmt: skip
    return {
        name: {n: given for n, given in points.items() if n <= most * max(points)}
        for name, points in grown.items()
    }


def measured(program: str, given: dict[str, Any]) -> dict[str, float]:
    """Run a program on its settings in a process of its own, and read what it says."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, json.dumps(given)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def slope(points: Sequence[Point]) -> float:
    """The exponent of growth over the upper half of some points, by least squares.

    >>> slope([Point(n, n * n, 0, 0) for n in (1, 10, 100, 1000)])
    2.0
    """
    upper = points[(len(points) - 1) // 2 :]
    x, y = ([math.log(v) for v in values]
            for values in ([p.amount for p in upper], [p.seconds for p in upper]))  # fmt: skip
    if len(upper) < 2:
        return math.nan
    return round(linear_regression(x, y).slope, 2)


def grown(most: float) -> dict[str, list[Point]]:
    """Measure all points, the small ones first."""
    found: dict[str, list[Point]] = {}
    for name, points in series(most).items():
        for amount, given in points.items():
            print(f"{amount:,} {name} ...", file=sys.stderr)
            found.setdefault(name, []).append(Point(amount, **measured(POINT, given)))
    return found


def clusters(most: float) -> dict[str, float]:
    """Seconds of the wall clock that a dask cluster of one local worker takes, and one of two."""
    given: Settings = {
        "conversations": "coding_agent(turns=20, tokens=100000)", "seeds": max(2, int(96 * most)),
        "strategies": ["keep_all", "sliding_window", "auto_compact"],
        "models": ["claude-sonnet-4-5"],
    }  # fmt: skip
    print("a cluster of one worker, and of two ...", file=sys.stderr)
    seconds = []
    for workers in (1, 2):
        with started(workers) as address:
            settings = {**given, "workers": workers, "dask": address}
            seconds.append(measured(CLUSTER, settings)["seconds"])
    one, two = seconds
    return {"one": round(one, 1), "two": round(two, 1), "ratio": round(one / two, 2)}


@contextmanager
def started(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers of one thread, while it is looked at."""
    dask = [sys.executable, "-m", "dask"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with TemporaryDirectory() as folder, ExitStack() as running:
        file = Path(folder, "scheduler.json")
        where = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        commands = [[*dask, "scheduler", *where, "--no-dashboard"]]
        worker = [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1"]
        commands += [[*worker, "--no-nanny", "--no-dashboard"]] * workers
        for command in commands:
            process = running.enter_context(subprocess.Popen(command, cwd=folder, **silent))  # noqa: S603
            running.callback(process.kill)
            wait_for(file)
        yield str(json.loads(file.read_text("utf-8"))["address"])


def wait_for(file: Path) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > end:
            raise SystemExit(f"no dask scheduler within {PATIENCE} seconds")
        time.sleep(0.1)


def drawing(found: dict[str, list[Point]]) -> str:
    """The chart: seconds by what grows, each series beside a line of slope 1."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(8.6, 2.6), layout="constrained")
    for axes, (name, points) in zip(
        figure.subplots(1, len(found), sharey=True), found.items(), strict=True
    ):
        x, y = [p.amount for p in points], [p.seconds for p in points]
        axes.loglog(x, y, "o-", color="#0072b2", markersize=4)
        axes.loglog(x, [y[-1] * n / x[-1] for n in x], "--", color="#999999", linewidth=1)
        axes.set_xlabel(name)
        axes.set_title(f"slope {slope(points):g}", fontsize=9)
        axes.grid(which="major", color="#e5e5e5")
    figure.axes[0].set_ylabel("processor seconds")
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="How the cost of a run grows.")
    parser.add_argument("--most", type=float, default=1.0, help="share of the largest amounts")
    parser.add_argument("--out", type=Path, default=Path("docs/dev"), help="folder of both")
    options = parser.parse_args(arguments)
    found = grown(options.most)
    figures = {
        "machine": f"{platform.system()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "compactlab": compactlab.__version__,
        "points": {name: [asdict(point) for point in points] for name, points in found.items()},
        "slopes": {name: slope(points) for name, points in found.items()},
        "dask": clusters(options.most),
    }
    (options.out / "growth.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    (options.out / "growth.svg").write_text(drawing(found), "utf-8")
    for name, points in found.items():
        print(f"{name}: slope {slope(points):g} (1 is linear)")
        for p in points:
            print(f"  {p.amount:>9,}  {p.seconds:>9.2f} s  {p.megabytes:>7,.0f} MB  {p.calls / p.seconds:>9,.0f} calls/s")  # fmt: skip  # noqa: E501
    print("dask: {one} s with one local worker, {two} with two: {ratio} times".format(**figures["dask"]))  # fmt: skip  # noqa: E501
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
