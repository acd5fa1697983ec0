"""The report of tuning: what to set for each strategy, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.reports.render.document import (
    Block,
    Chart,
    Code,
    Document,
    Heading,
    Sentence,
    Sentences,
    name,
    sentences,
)
from compactlab.reports.render.text import counted, lag_from, listed, show
from compactlab.reports.tune.settings_table import (
    MARKS,
    TIMES,
    figures_of,
    grid,
    settings_table,
    strategy_data,
)
from compactlab.reports.tune.survey import Selection
from compactlab.reports.tune.tuned import TRIGGER, Target, Tuned
from compactlab.reports.tune.verdict import called, held_out, memory, sureness, verdict

if TYPE_CHECKING:
    import pandas as pd

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
    from compactlab.reports.tune.chart import chart  # only for pages

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
