"""Run the experiments of docs/results.md, and store what the page is made of.

``make results`` runs it: ``results_run.py .results ../shared/recorded``. What ``.results`` holds is
not run again, so a stopped run goes on where it was. With ``--at COMMIT`` nothing is run: what the
folder holds, run at that commit, is stored as far as it goes. ``results_page.py`` writes the pages.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab import __version__
from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.comparison import Comparison, Row, case_of, comparisons
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.reports.analysis.scope import size_of, sweeps
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, free_standing, strategy_colours
from compactlab.reports.charts.kit import PERCENT, KeyEntry, Unit, mark, measure, panels, row_tips
from compactlab.reports.charts.lines import by_window
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.pareto import pareto
from compactlab.sim.replay.strategy import Act
from compactlab.sim.store.results import Results
from compactlab.strategies.catalogue import find_strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "results"
PICTURE = ROOT / "docs" / "picture.svg"
# In the order in which they are run and shown: examples/results has a file of each.
EXPERIMENTS = ("agents", "million", "recordings", "rules", "small")
# The client that the others are compared with, whatever the provider.
REFERENCE = "claude_code"
# The columns of the data beside the labels of a run; the page is made of these.
METRICS = (
    "cost_usd", "cost_with_recovery_usd", "side_cost_usd", "tokens_cache_read",
    "tokens_cache_write", "tokens_uncached", "tokens_output", "prompt_tokens_peak", "calls",
    "compactions", "compactions_small_gain", "compaction_stall_s", "write_spike_max", "over_window",
    "recall_20k", "recall_40k", "recall_80k",
)  # fmt: skip
# What a strategy does, the most telling first: its family.
FAMILIES = (
    Act.SUMMARISE, Act.TRUNCATE, Act.CLEAR, Act.OFFLOAD, Act.NOTE, Act.RETRIEVE, Act.REPAIR,
)  # fmt: skip


def main() -> None:
    """Run what is missing, and store all of it under the version and the day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the runs are kept")
    parser.add_argument("recordings", nargs="*", type=Path, help="folders of folders of sessions")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--at", default="", metavar="COMMIT", help="run nothing")
    given = parser.parse_args()
    stores = {name: given.folder.resolve() / name for name in EXPERIMENTS}
    patterns = [f"{each.resolve()}/*/*.jsonl" for each in given.recordings]
    for name, folder in stores.items() if not given.at else ():
        run(name, folder, patterns if name == "recordings" else [], given.jobs)
    store(stores, given.at or commit())


def run(name: str, folder: Path, conversations: Sequence[str], jobs: str) -> None:
    """Run an experiment from the checkout, as far as its folder does not hold it."""
    if name == "recordings" and not conversations:
        print("no recordings are named: the page is made without them")
        return
    if name == "rules" and not folder.exists():
        # The line-up is among them, over some of the same sessions.
        shutil.copytree(folder.with_name("agents"), folder)
    more = [each for pattern in conversations for each in ("--conversations", pattern)]
    command = [sys.executable, "-m", "compactlab", "run", f"examples/results/{name}.toml", *more]
    # Sessions under a model without a price fail, and are told: the exit code is not asked.
    subprocess.run([*command, "--jobs", jobs, "--out", str(folder)], cwd=ROOT, check=False)  # noqa: S603


def store(stores: dict[str, Path], at: str) -> None:
    """Store the figures, charts and data of results that were run at a commit."""
    known = {name: folder for name, folder in stores.items() if folder.is_dir()}
    loaded = {name: complete(Results.load(folder)) for name, folder in known.items()}
    held = {name: results for name, results in loaded.items() if results.runs}
    edition = f"v{__version__}-{date.today()}"
    runs = list(chain.from_iterable(each.runs for each in held.values()))
    stored = {
        "version": __version__,
        "date": str(date.today()),
        "commit": at,
        "prices": next(iter(held.values())).manifest.get("prices", ""),
        "digest": hashlib.sha256("".join(sorted({r.digest for r in runs})).encode()).hexdigest(),
        "experiments": {name: list(told(name, results)) for name, results in held.items()},
    }
    STORED.mkdir(exist_ok=True)
    text = json.dumps(stored, ensure_ascii=False, indent=1) + "\n"
    (STORED / f"{edition}.json").write_text(text, encoding="utf-8")
    write_data(held, STORED / f"{edition}.parquet")
    PICTURE.write_text(free_standing(drawn(held["agents"], "picture").markup()), encoding="utf-8")


def complete(results: Results) -> Results:
    """Results without the conversations that not all strategies have been run over."""
    counts = Counter(case_of(run) for run in results.runs if run.status == "ok")
    most = max(counts.values(), default=0)
    return replace(results, runs=[r for r in results.runs if counts[case_of(r)] == most > 0])


def commit() -> str:
    """The commit of the checkout that ran."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()  # noqa: S603


def told(name: str, results: Results) -> Iterator[dict[str, Any]]:
    """What is stored of each comparison of an experiment; charts are of the first."""
    compared = sorted(comparisons(results), key=size_of)
    for number, each in enumerate(compared):
        rows = list(figures(each))
        charts = list(charted(name, results, each, rows)) if not number else []
        yield {
            "model": each.model,
            "window": each.window or (size_of(each) if each.model != "recorded" else 0),
            "distance": each.lag,
            "conversations": each.conversations,
            "kinds": len({run.source.partition("(")[0] for run in each.rows[0].runs}),
            # The spec of a scenario leaves out a size that is its own.
            "source": max((run.source for run in each.rows[0].runs), key=lambda s: "tokens=" in s)
            if each.model != "recorded"
            else "",
            "calls": round(each.rows[0].value("calls")),
            "tokens": largest(each),
            "dropped": list(each.dropped),
            "rows": rows,
            "charts": charts,
        }


def largest(comparison: Comparison) -> list[int]:
    """The smallest and the largest prompt that a session comes to, if nothing is compacted."""
    whole = comparison.row("keep_all")
    peaks = sorted(run.metrics["prompt_tokens_peak"] or 0 for run in whole.runs) if whole else [0]
    return [round(peaks[0]), round(peaks[-1])]


def figures(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """The row of each strategy, the cheapest first; then bounds that nobody named."""
    reference = comparison.row(REFERENCE)
    against = contrasts(comparison, reference) if reference else {}
    ranks = {metric: dict(ranges(comparison, metric)) for metric in comparison.primary}
    for row in (*comparison.rows, *comparison.bounds):
        spread = row_interval(row, comparison.headline)
        yield {
            "label": row.label,
            "family": family(row.spec),
            "usable": row.usable,
            "bound": row.bound,
            "played": row.as_recorded,
            "acted": row.acted,
            "over": rounded(row.figures["over_window"]),
            "usd": rounded(row.mean()),
            "usd_with_recovery": rounded(row.mean("cost_with_recovery_usd")),
            "change": ends(against.get((row.spec, "cost_usd"))),
            "differs": {m: direction(against.get((row.spec, m))) for m in comparison.primary},
            "recall": [rounded(each) for each in (row.recall, spread.low, spread.high)],
            "hits": rounded(hits(row)),
            "spike": rounded(row.figures["write_spike_max"]),
            "compactions": rounded(row.mean("compactions")),
            "small": rounded(row.figures["compactions_small_gain"]),
            "stall": rounded(row.mean("compaction_stall_s")),
            "ranks": {metric: ranks[metric].get(row.spec) for metric in comparison.primary},
        }


def hits(row: Row) -> float:
    """The share of all prompt tokens that were read from the cache."""
    read, *missed = (
        row.value(f"tokens_{kind}") for kind in ("cache_read", "cache_write", "uncached")
    )
    return read / (read + sum(missed))


def direction(contrast: Contrast | None) -> str:
    """Whether a strategy is significantly better or worse than the reference."""
    return "" if contrast is None else "better" * contrast.better or "worse" * contrast.worse


def ends(contrast: Contrast | None) -> list[float | None]:
    """A ratio to the reference less 1, with the ends of its interval."""
    if contrast is None or contrast.kind != "ratio":
        return [None, None, None]
    known = (contrast.estimate, contrast.low, contrast.high)
    return [None if each is None else rounded(each - 1) for each in known]


def ranges(comparison: Comparison, metric: str) -> Iterator[tuple[str, list[int]]]:
    """The ranks that each usable strategy may have.

    The first is 1 more than the number of strategies that are significantly better, the last leaves
    out those that are significantly worse (sign-flip tests at 5 %, Holm over the strategies).
    """
    rows = tuple(row for row in comparison.strategies if row.usable and not row.as_recorded)
    among = replace(comparison, rows=rows)
    for row in rows:
        others = contrasts(among, row, (metric,)).values()
        better, worse = sum(c.better for c in others), sum(c.worse for c in others)
        yield row.spec, [1 + better, len(rows) - worse]


def family(spec: str) -> str:
    """What a strategy does, by the most telling of its parts' declarations."""
    declared = {act for part in find_strategy(spec).parts for act in part.does}
    return next((act.value for act in FAMILIES if act in declared), "nothing")


def rounded(value: float | None) -> float | None:
    """A figure as it is stored."""
    return None if value is None else float(f"{value:.6g}")


# The charts.

_CHANGE = Unit("share", lambda value: f"{100 * value:+.0f}".replace("-", "\N{MINUS SIGN}"))
# Farther than this from the reference, a figure is written instead; and the width, for all names.
_EDGE, _WIDTH = 0.65, 800.0
_KEY = (
    KeyEntry("figure", "blue", "mark", mark="o"),
    KeyEntry("95 % interval", "blue", "line"),
    KeyEntry("not at this window", "grey", "mark", mark="o"),
)


def charted(
    name: str, results: Results, compared: Comparison, rows: Sequence[dict[str, Any]]
) -> Iterator[dict[str, str]]:
    """The charts of an experiment: each strategy with its intervals, cost and recall, windows."""
    shown = [row for row in rows if not (row["bound"] or row["played"])]
    shown.sort(key=lambda row: (not row["usable"], row["usd"]))
    made: list[Chart | None] = []
    if name in ("agents", "million", "recordings"):
        made.append(intervals(shown, name, compared.lag))
    if name in ("agents", "rules"):
        made.append(drawn(results, f"{name}-pareto"))
    for sweep in sweeps(comparisons(results)):
        made.append(by_window(sweep, strategy_colours(results), f"{name}-windows"))
    for chart in filter(None, made):
        shown_as = {"title": chart.title, "caption": chart.caption, "markup": chart.markup()}
        yield {"name": chart.name, **shown_as, "narrow": chart.narrow_markup()}


def drawn(results: Results, name: str) -> Chart:
    """The chart of cost against recall."""
    compared = comparisons(results)
    chart = pareto(compared[0], strategy_colours(results, compared), name)
    assert chart is not None, "the sessions need facts"
    return chart


def intervals(rows: Sequence[dict[str, Any]], name: str, distance: int) -> Chart:
    """Every strategy in a row: its cost against the reference, and its recall."""
    caption = (
        f"Left: dollars against {REFERENCE} on the same sessions. Right: recall of needed facts "
        f"last stated {distance:,} tokens ago or earlier. Bars: 95 % confidence intervals."
    )
    with canvas():
        sheet, left, right = panels([row["label"] for row in rows], _KEY, 0.0, _WIDTH)
        for axes, key in ((left, "change"), (right, "recall")):
            barred(axes, rows, key)
        left.set_xlim(-_EDGE, _EDGE)
        measure(left, "x", _CHANGE, f"cost against {REFERENCE}, %")
        left.axvline(0.0, color=light("muted"), linewidth=0.8, zorder=1)
        right.set_xlim(0.0, 1.02)
        measure(right, "x", PERCENT, f"recall \N{GREATER-THAN OR EQUAL TO}{distance // 1000}k, %")
        row_tips(left, [[row["label"], f"{row['usd']:.2f} USD a session"] for row in rows])
    return Chart(f"{name}-intervals", "Cost and recall of each", caption, sheet.figure)


def barred(axes: Axes, rows: Sequence[dict[str, Any]], key: str) -> None:
    """A mark with its interval in each row."""
    for index, row in enumerate(rows):
        value, low, high = row[key]
        if key == "change" and row["label"] == REFERENCE:
            value = 0.0
        if value is None:
            continue
        colour = "blue" if row["usable"] else "grey"
        if key == "change" and abs(value) > _EDGE:
            side, align = (1, "right") if value > 0 else (-1, "left")
            at = (0.92 * side * _EDGE, index)
            axes.annotate(f"{100 * value:+.0f} %", at, ha=align, va="center_baseline", fontsize=8.5)
            mark(axes, [(0.97 * side * _EDGE, index)], ">" if side > 0 else "<", colour, 5.0)
            continue
        if low is not None and high is not None:
            axes.hlines([index], [low], [high], color=light(colour), linewidth=2, zorder=2)
        mark(axes, [(value, index)], "o", colour, 5.0)


# The data.


def write_data(held: dict[str, Results], out: Path) -> None:
    """A row a run, with the figures that the page shows; recordings have numbers for names."""
    import duckdb
    import pandas as pd

    frames = []
    for name, results in held.items():
        frame = results.frame()
        frame["experiment"] = name
        frame["scenario"] = frame["source"].str.partition("(")[0]
        if name == "recordings":
            frame["scenario"] = "recorded"
            frame["conversation"] = pd.factorize(frame["conversation"])[0].astype(str)
        labels = ["experiment", "scenario", "conversation", "window", "label", "model", "status"]
        frames.append(frame[[*labels, *METRICS]])
    whole = pd.concat(frames)
    whole[list(METRICS)] = whole[list(METRICS)].astype("float32")
    with duckdb.connect() as connection:
        connection.register("whole", whole)
        connection.execute(f"COPY (FROM whole) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")


if __name__ == "__main__":
    main()
