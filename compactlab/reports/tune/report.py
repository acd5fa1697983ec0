"""The report of tuning: what to set for each strategy, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.reports.charts.drawing import canvas, svg
from compactlab.reports.charts.kit import (
    PERCENT,
    TOKENS,
    USD,
    WIDTH,
    KeyEntry,
    Sheet,
    mark,
    measure,
    measure_powers,
)
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.document import (
    Block,
    Chart,
    Code,
    Custom,
    Document,
    Heading,
    Sentence,
    Sentences,
    Table,
    TableRow,
    name,
    sentences,
    with_names,
)
from compactlab.reports.render.fields import (
    Field,
    as_data,
    cells_of,
    data_of,
    heads_of,
    hidden,
)
from compactlab.reports.render.html import in_script
from compactlab.reports.render.text import counted, dollars, lag_from, listed, show, with_interval
from compactlab.reports.tune.choice import Ratio
from compactlab.reports.tune.survey import Selection
from compactlab.reports.tune.tuned import TRIGGER, Target, Tried, Tuned
from compactlab.reports.tune.verdict import called, held_out, memory, sureness, verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_COSTS, _MISSED, _GAP, _BELOW = 210.0, 110.0, 20.0, 36.0
_LEFT, _RIGHT = 56.0, 18.0
_KEY = (
    KeyEntry("cost with recovery", "blue", "line"),
    KeyEntry("cost", "sky", "line"),
    KeyEntry("missed facts", "vermillion", "line"),
    KeyEntry("as it was given", "muted", "mark", mark="D"),
    KeyEntry("may be the cheapest", "grey", "pale"),
)
_CAPTION = (
    "Above: dollars of all sessions together by the size at which it compacts, in tokens; the mark "
    "is the setting to take, the band its 95 % interval paired with the strategy as it was given. "
    "Below: the share of needed facts at a distance of {lag:,} tokens or more that the prompt does "
    "not hold, with its 95 % interval. Intervals need ten sessions."
)
# The band of possibly cheapest settings extends beyond them by this factor.
_AROUND = 1.03


def chart(tuned: Tuned, anchor: str) -> Chart | None:
    """Draw the settings that differ only in the trigger; None if there are fewer than two."""
    shown = [
        index
        for index, each in enumerate(tuned.tried)
        if each.size and set(each.values) <= {TRIGGER}
    ]
    if len(shown) < 2:
        return None
    points = [tuned.tried[index] for index in shown]
    with canvas():
        sheet = Sheet(_BELOW + _MISSED + _GAP + _COSTS, _KEY)
        width = WIDTH - _LEFT - _RIGHT
        upper = sheet.axes(_LEFT, _BELOW + _MISSED + _GAP, width, _COSTS)
        lower = sheet.axes(_LEFT, _BELOW, width, _MISSED)
        _costs(upper, tuned, points)
        _memory(lower, points)
        for axes in (upper, lower):
            _sizes(axes, points)
            _maybe(axes, tuned, shown)
        upper.set_xlabel("")
        upper.tick_params(labelbottom=False)
    title = f"{name(tuned.label)}: what it costs by the size at which it compacts"
    caption = _CAPTION.format(lag=tuned.lag)
    described = "cost, cost with recovery and missed facts by trigger"
    return Chart(title, svg(sheet.figure, anchor, described), caption, "tune")


def _sizes(axes: Axes, points: Sequence[Tried]) -> None:
    from matplotlib.ticker import LogLocator

    sizes = [point.size or 0.0 for point in points]
    ticks = LogLocator(10, subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), numticks=20)
    measure_powers(axes, TOKENS, ticks, "trigger, tokens (logarithmic)")
    axes.set_xlim(min(sizes) / 1.06, max(sizes) * 1.06)


def _costs(axes: Axes, tuned: Tuned, points: Sequence[Tried]) -> None:
    sizes = [point.size or 0.0 for point in points]
    own = tuned.tried[tuned.own].recovery
    known = [p for p in points if p.of_own.low is not None and p.of_own.high is not None]
    if known:
        low, high = (
            [(getattr(p.of_own, end) or 0.0) * own for p in known] for end in ("low", "high")
        )
        across = [p.size or 0.0 for p in known]
        axes.fill_between(across, low, high, color=light("blue"), alpha=0.14, linewidth=0)
    for colour, values in (
        ("sky", [p.cost for p in points]),
        ("blue", [p.recovery for p in points]),
    ):
        look = LINES[colour]
        axes.plot(
            sizes, values, color=light(colour), linewidth=look.width, linestyle=look.dashes,
            marker=look.marker, markersize=4,
        )  # fmt: skip
    for point in points:
        if point.own:
            mark(axes, [(point.size or 0.0, point.recovery)], "D", "muted", 7)
    if tuned.advised is not None and (taken := tuned.tried[tuned.advised]) in points:
        around = [(taken.size or 0.0, taken.recovery)]
        mark(axes, around, "o", "ink", 12, markerfacecolor="none", markeredgewidth=1.8)
    measure(axes, "y", USD, "cost of all sessions, USD")


def _memory(axes: Axes, points: Sequence[Tried]) -> None:
    known = [point for point in points if point.missed is not None]
    sizes = [point.size or 0.0 for point in known]
    shares = [point.missed.value for point in known if point.missed is not None]
    look = LINES["vermillion"]
    axes.plot(
        sizes, shares, color=light("vermillion"), linewidth=look.width, linestyle=look.dashes,
        marker=look.marker, markersize=4,
    )  # fmt: skip
    for point in known:
        missed = point.missed
        if missed and missed.low is not None and missed.high is not None:
            ends = [missed.low, missed.high]
            axes.plot(
                [point.size or 0.0] * 2, ends, color=light("vermillion"), linewidth=0.9, alpha=0.6
            )
    axes.set_ylim(bottom=0)
    measure(axes, "y", PERCENT, "missed, %")


def _maybe(axes: Axes, tuned: Tuned, shown: Sequence[int]) -> None:
    sizes = [tuned.tried[at].size or 0.0 for at in tuned.interval or () if at in shown]
    if sizes:
        ends = min(sizes) / _AROUND, max(sizes) * _AROUND
        axes.axvspan(*ends, color=light("grey"), alpha=0.16, linewidth=0, zorder=0)


TIMES = "\N{MULTIPLICATION SIGN}"
_TAKE, _BEST, _MAYBE, _NEAR, _KNEE, _OUT = ">", "*", "~", "=", "k", "!"
MARKS = {
    _TAKE: "to take",
    _BEST: "cheapest with recovery",
    _MAYBE: "may be the cheapest (95 %)",
    _NEAR: "within the margin of the cheapest",
    _KNEE: "knee between cost and recall",
    _OUT: "not allowed: below the limit of recall, or more prompts exceed the window than by its "
    "own rule",
}


@dataclass(frozen=True)
class _Row:
    """A setting of a strategy."""

    tuned: Tuned
    index: int
    tried: Tried
    allowed: bool
    shown: bool

    @property
    def marks(self) -> dict[str, bool]:
        tuned, index = self.tuned, self.index
        return {
            _TAKE: index == tuned.advised,
            _BEST: index == tuned.best,
            _MAYBE: index in (tuned.interval or ()),
            _NEAR: index in tuned.flat,
            _KNEE: index == tuned.knee,
            _OUT: not self.allowed,
        }

    @property
    def limited(self) -> bool:
        """Whether there is a limit on memory."""
        return self.tuned.choice.limit is not None

    @property
    def carried(self) -> list[str]:
        return [mark for mark, has in self.marks.items() if has]


def _rows(tuned: Tuned) -> Iterator[_Row]:
    allowed, shown = tuned.choice.allowed(), tuned.choice.shown()
    for index, tried in enumerate(tuned.tried):
        yield _Row(tuned, index, tried, bool(allowed[index]), bool(shown[index]))


def _ratio(value: Ratio) -> str:
    if value.low is None or value.high is None or value.low == value.high:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.2f}, {value.high:.2f}]"


_SETTING = (
    *hidden("strategy", "window", of="tuned"),
    Field("setting", "tried.spec", text=lambda row: called(row.tuned, row.index), words=True),
    *hidden("size", of="tried"),
    Field("cost_usd", "tried.cost", "cost USD", "USD", rank=3),
    Field("cost_with_recovery_usd", "tried.recovery", "with recovery USD", "USD"),
    Field("of_own", "tried.of_own", f"{TIMES}own", write=_ratio),
    Field("missed", "tried.missed", write=with_interval),
    Field("compactions", "tried.compactions", write="{:,.0f}".format, rank=2),
    Field("over_window", "tried.over", "exceeds window", "share", rank=4),
    *hidden(
        within_limit=lambda row: row.allowed if row.limited else None,
        shown_within_limit=lambda row: row.shown if row.limited else None,
        may_be_cheapest=lambda row: row.tuned.interval and row.marks[_MAYBE],
        within_margin=lambda row: row.marks[_NEAR],
        best=lambda row: row.marks[_BEST],
        advised=lambda row: row.marks[_TAKE],
        knee=lambda row: row.marks[_KNEE],
    ),
    Field("", "carried", "marks", write="".join, words=True),
)


def settings_table(tuned: Tuned) -> Table:
    """The settings as a table, with the cost of ``keep_all``."""
    columns = heads_of(_SETTING)
    rows = [
        TableRow(cells_of(_SETTING, row), "important" if row.index == tuned.advised else "")
        for row in _rows(tuned)
    ]
    if tuned.keep_all is not None:
        # It misses nothing, so it has no cost of recovery.
        whole = (f"{name('keep_all')}, for comparison", *[dollars(tuned.keep_all)] * 2)
        rows.append(TableRow((*whole, *[""] * (len(columns) - len(whole))), "quiet"))
    return Table(columns, tuple(rows), stacked=True)


def figures_of(tuned: Tuned) -> list[dict[str, Any]]:
    """The figures of each setting, by name."""
    return [
        data_of(_SETTING, row) | {name: as_data(row.tried.values.get(name)) for name in tuned.over}
        for row in _rows(tuned)
    ]


def strategy_data(tuned: Tuned) -> dict[str, Any]:
    """All data of a strategy, for JSON."""

    def specs(indices: int | Sequence[int] | None) -> str | list[str] | None:
        if indices is None or isinstance(indices, int):
            return None if indices is None else tuned.tried[indices].spec
        return [tuned.tried[index].spec for index in indices]

    held = tuned.held_out
    return {
        "strategy": tuned.strategy,
        "window": tuned.window,
        "model": tuned.model.name,
        "lag": tuned.lag,
        "inferred": tuned.inferred,
        "sessions": list(tuned.conversations),
        "keep_all_usd": tuned.keep_all,
        "settings": figures_of(tuned),
        "best": specs(tuned.best),
        "may_be_cheapest": specs(tuned.interval),
        "within_margin": specs(tuned.flat),
        "candidate": specs(tuned.candidate),
        "advised": specs(tuned.advised),
        "knee": specs(tuned.knee),
        "held_out": held
        and {**as_data(held), "chosen": specs(held.chosen), "best": specs(held.best)},
        "of_own_left_out": as_data(tuned.saving),
        "summaries": [{**as_data(each), "apart": each.apart} for each in tuned.summaries],
        "paste": None if tuned.advised is None else as_data(tuned.pasted(tuned.advised)),
    }


# A slider whose positions are replays, without interpolation.


@dataclass(frozen=True)
class Grid:
    """All settings of all strategies and windows, as JSON that is safe in a script element."""

    text: str
    settings: int


def grid(tuned: Sequence[Tuned]) -> Custom:
    """Serialise the selectable settings."""
    data = {
        # The page renders the name and the marks differently.
        "heads": [column.title for column in heads_of(_SETTING)[1:-1]],
        "strategies": [
            {
                "label": with_names(each.label),
                "window": each.window,
                "sessions": len(each.conversations),
                "keep_all": None if each.keep_all is None else dollars(each.keep_all),
                "first": each.own if each.advised is None else each.advised,
                "settings": [*map(_choice, _rows(each))],
            }
            for each in tuned
        ],
    }
    settings = sum(len(each.tried) for each in tuned)
    return Custom("settings.html.j2", Grid(in_script(data), settings))


def _choice(row: _Row) -> dict[str, Any]:
    pasted = row.tuned.pasted(row.index)
    first, *cells, _ = cells_of(_SETTING, row)
    return {
        "name": with_names(first),
        "place": row.tried.size,
        "cells": [*map(with_names, cells)],
        "recovery": float(f"{row.tried.recovery:.6g}"),
        "marked": "; ".join(MARKS[mark] for mark in row.carried),
        "file": pasted.file if pasted else "",
        "condition": pasted.condition if pasted else "",
        "paste": "\n".join(pasted.lines) if pasted else "",
    }


# The scripts of the page; later ones use definitions of earlier ones.
SCRIPTS = ("report.js", "drawing.js", "settings.js")
_GRID = (
    "Every place of the slider is a setting that was replayed; nothing between them is computed. "
    "Windows have sessions of their own, so two windows are not compared."
)


@dataclass(frozen=True)
class TuningResult:
    """The result of tuning.

    Parameters
    ----------
    tuned
        One entry per strategy and window.
    selections
        The sessions of each window, and the numbers of those left out.
    surveyed
        The number of sources read.
    failures
        Error messages of unreadable sources.
    target
        The limit on memory and the margin.
    runs, calls, seconds
        The effort: new runs, their calls, and time.
    """

    tuned: tuple[Tuned, ...]
    selections: tuple[Selection, ...]
    surveyed: int
    failures: tuple[str, ...]
    target: Target
    runs: int = 0
    calls: int = 0
    seconds: float = 0.0

    def frame(self) -> pd.DataFrame:
        """One row per setting, strategy and window, with all figures."""
        import pandas as pd

        rows = [row for tuned in self.tuned for row in figures_of(tuned)]
        return pd.json_normalize(rows, sep="_")

    def text(self) -> str:
        """The report as text for a terminal."""
        from compactlab.reports.render import terminal

        return terminal.write(report(self))

    def html(self) -> str:
        """The report as a page, with a chart of each strategy."""
        from compactlab.reports.charts.palette import COLOURS
        from compactlab.reports.render import html

        return html.write(page(self), COLOURS, SCRIPTS)

    def data(self) -> dict[str, Any]:
        """The whole report as numbers and names."""
        return {
            "recall": self.target.recall,
            "margin": self.target.margin,
            "files": self.surveyed,
            "failures": list(self.failures),
            "windows": [
                {
                    "window": each.window,
                    "sessions": len(each.chosen),
                    "too_short": each.quiet,
                    "left_out": each.shorter,
                    "share_of_tokens": each.share,
                    "models": dict(each.models),
                }
                for each in self.selections
            ],
            "work": {"runs": self.runs, "calls": self.calls, "seconds": self.seconds},
            "strategies": [strategy_data(each) for each in self.tuned],
        }


def report(found: TuningResult) -> Document:
    """The report for a terminal, Markdown and JSON."""
    blocks: list[Block] = [*_scope(found)]
    for tuned in found.tuned:
        blocks += [Heading(_title(tuned, found), 2), *_about(tuned)]
    blocks += [sentences(_legend(found), "quiet"), sentences([_work(found)], "quiet")]
    return Document(tuple(blocks), data=found.data)


def page(found: TuningResult) -> Document:
    """The report as a page, with a chart of each strategy."""
    blocks: list[Block] = [Heading("At what size to compact", 1), *_scope(found)]
    for number, tuned in enumerate(found.tuned):
        drawn: Chart | None = chart(tuned, f"tune-{number}")
        first, *rest = _about(tuned)
        title = _title(tuned, found)
        blocks += [Heading(title, 2, f"tuned-{number}", tuned.label), first]
        blocks += [*([drawn] if drawn else []), *rest]
    if found.tuned:
        blocks += [Heading("Try a setting", 2, "settings"), sentences([_GRID], "quiet")]
        blocks += [grid(found.tuned)]
    blocks += [Heading("How to read it", 2, "reading"), sentences(_legend(found))]
    blocks += [sentences([_work(found)], "quiet")]
    return Document(tuple(blocks))


# The sources.


def _scope(found: TuningResult) -> Iterator[Block]:
    lines = [_of_window(each) for each in found.selections]
    yield sentences(lines, "quiet")
    yield sentences([f"Left out: {name(failure)}" for failure in found.failures], "bad")


def _of_window(selection: Selection) -> str:
    models = listed([f"{name(model)}" for model, _ in selection.models.most_common(4)])
    sessions = counted(len(selection.chosen), "session")
    text = f"Window {selection.window:,} tokens ({models}): {sessions}"
    if selection.shorter:
        share = show(selection.share, "share")
        text += (
            f", the longest, with {share} of the prompt tokens; {selection.shorter:,} shorter ones"
        )
        text += " are left out"
    if selection.quiet:
        text += (
            f". {counted(selection.quiet, 'session')} more never reach the smallest trigger: no "
        )
        text += "setting changes them"
    return f"{text}."


def _title(tuned: Tuned, found: TuningResult) -> str:
    return f"{name(tuned.label)}, window {tuned.window:,} tokens"


# One strategy.


def _about(tuned: Tuned) -> Iterator[Block]:
    first, *others = verdict(tuned)
    yield Sentences((Sentence(first, "strong"), *map(Sentence, others)), bullets=False)
    yield settings_table(tuned)
    yield sentences([*held_out(tuned), *sureness(tuned), *memory(tuned)])
    yield from _paste(tuned)


# What to paste.


def _paste(tuned: Tuned) -> Iterator[Block]:
    taken = tuned.advised
    if taken is None or taken == tuned.own or not tuned.acts:
        return
    yield from _pasted(tuned, taken, "To set it")
    # Without a limit on memory, the knee is an alternative if it saves significantly.
    knee = tuned.knee if tuned.inferred else None
    if knee is not None and knee != taken and tuned.tried[knee].of_own.cheaper:
        yield from _pasted(tuned, knee, f"Or, for {called(tuned, knee)},")


def _pasted(tuned: Tuned, index: int, why: str) -> Iterator[Block]:
    pasted = tuned.pasted(index)
    if pasted is None:
        if not tuned.tried[index].own and TRIGGER in tuned.tried[index].values:
            yield sentences(
                ["How a client sets this was not looked up: nothing is there to paste."]
            )
        return
    if pasted.lines:
        where = f"{why} in {pasted.client}, in {pasted.file}:"
        yield sentences([pasted.condition, where], bullets=False)
        yield Code(pasted.lines)
    yield sentences([*pasted.remarks, f"Source: {pasted.source}."], "quiet")


def _legend(found: TuningResult) -> Iterator[str]:
    inferred = {tuned.inferred for tuned in found.tuned}
    lags = listed(sorted({lag_from(tuned.lag) for tuned in found.tuned}))
    yield "; ".join(f"{mark} {meaning}" for mark, meaning in MARKS.items()) + "."
    yield (
        f"{TIMES}own: cost with recovery over that of the strategy as it was given, paired by "
        f"session, with its 95 % interval. Missed: share of needed facts at a distance {lags} that "
        "the prompt does not hold, the mean over sessions, with its 95 % interval for any "
        "distribution" + (" (inferred needs)." if inferred == {True} else ".")
    )
    yield (
        "Replays are simulated: summaries, and the agent that fetches, asks for or misuses what it "
        "lacks, are models of them."
    )


def _work(found: TuningResult) -> str:
    replayed = sum(tuned.runs for tuned in found.tuned)
    return (
        f"{counted(found.surveyed, 'file')} read; {counted(replayed, 'run')} in the curves; "
        f"{found.runs:,} run now, null summarisers among them ({counted(found.calls, 'call')}, "
        f"{found.seconds:,.0f} s)."
    )
