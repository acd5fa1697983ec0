"""What must be said beside a comparison, in sentences that every format uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.aggregate import figures_of, replays
from compactlab.reports.analysis.comparison import (
    ARROWS_MEAN,
    BREAKS,
    FAULT_MARGIN,
    FAULTY,
    FUTURE,
    NULL,
    OVER,
    PLAYED,
    Comparison,
    Row,
    label,
    marks,
)
from compactlab.reports.render.document import name
from compactlab.reports.render.text import clean, counted, enumerated, listed, show
from compactlab.sim.experiment.results import Results

# What must be said beside a comparison, in sentences that every format uses.

# Summarisers that copy lines: nothing of them was written by a model.
_EXTRACTIVE = ("lexrank", "centroid", "lead", "tail", "salience", "checklist")
_COPIED = "lines picked by rule, a simulation, not a model's writing"

# How many strategies are told one by one with what they break.
_LISTED = 3


@dataclass(frozen=True)
class Failure:
    """A run that failed, or a source that could not be read."""

    conversation: str
    strategy: str
    model: str
    error: str


def failures(results: Results) -> list[Failure]:
    """All runs that failed, with texts that can be shown."""
    return [
        Failure(
            clean(run.conversation),
            label(results, run.strategy) if run.strategy else "(unreadable)",
            clean(run.model),
            clean(run.error) or "no reason given",
        )
        for run in results.failed
    ]


def summaries(results: Results) -> str:
    """Who made the summaries, and that it was no model."""
    writers = results.manifest.get("summarizers", {})
    if not writers:
        return "no summariser"
    simulated = {spec: _simulated(spec, writer) for spec, writer in writers.items()}
    parts = [
        f"by {name(spec)}{': ' if method else ''}{method}" for spec, method in simulated.items()
    ]
    if any(simulated.values()) and results.manifest.get("flushes"):
        parts.append("what agents put into their memory is picked and simulated so, too")
    return f"summaries {'; '.join(parts)}"


def _simulated(spec: str, writer: Mapping[str, str]) -> str:
    """What of a summariser is no model's writing."""
    if method := clean(writer.get("simulated", "")):
        return f"SIMULATED, {method}"
    return _COPIED if spec.startswith(_EXTRACTIVE) else ""


def unfinished(results: Results) -> str:
    """How much of the experiment is not there yet, as after an interruption."""
    if not results.missing:
        return ""
    lacking = counted(results.missing, "cell")
    return (
        f"Not finished: {lacking} (a conversation's source under a strategy and a model) still "
        "to be run; the same command goes on where it stopped."
    )


def passed_over(results: Results) -> str:
    """Which lines and files were not read; "" if there are none."""
    files = results.manifest.get("skipped_files", 0)
    lines = {run.conversation: run.skipped for run in results.runs if run.skipped}
    parts = []
    if lines:
        where = [f"{name(each)} {number:,}" for each, number in sorted(lines.items())]
        listing = enumerated(where, 3)
        parts.append(f"{counted(sum(lines.values()), 'line')} that cannot be read ({listing})")
    if files:
        parts.append(f"{counted(files, 'file')} of no known format in folders")
    return f"Passed over: {listed(parts)}." if parts else ""


def notes(comparison: Comparison) -> list[str]:
    """What a reader of this table must know and cannot see in it."""
    return [
        *_missing(comparison),
        *_inferred(comparison),
        *_failed_summaries(comparison),
        *_heard(comparison),
        *_idle(comparison),
    ]


def legend(compared: Sequence[Comparison]) -> list[str]:
    """How the tables are to be read: once for all of them."""
    rows = [row for comparison in compared for row in comparison.rows]
    if not rows:
        return []
    meanings = {
        OVER: "over the window on some calls, which a provider would refuse: such a bill and such "
        "a memory cannot be had.",
        NULL: "a yardstick, not a proposal.",
        FAULTY: "more of its calls than of keep_all's (without it, of the soundest) would be "
        f"refused, by more than {100 * FAULT_MARGIN:.0f} in 100: a result without its call, a call "
        "without its result, or an empty prompt.",
        FUTURE: "knows what comes; nothing real does.",
        BREAKS: f"breaks a rule, as the system does that it follows: {_breaks(rows)}.",
        PLAYED: "what was run, as far as the log tells, with its summaries for free: the requests "
        "for them are not in the log. So it is no choice beside the others.",
    }
    replayed = any(len(each.cases) > each.conversations for each in compared)
    averaged = ", of each the mean of its replays" if replayed else ""
    carried = "".join(map(marks, rows))
    return [
        f"{ARROWS_MEAN}. Dollars, tokens and counts are sums over conversations{averaged}; "
        "prefix reuse and over window are shares of all tokens and calls; write spike is a "
        "median; the other shares are means over conversations.",
        *(f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in carried),
    ]


def _missing(comparison: Comparison) -> Iterator[str]:
    if not comparison.rows:
        return  # The verdict says so.
    if comparison.left_out:
        yield (
            f"Left out: {counted(len(comparison.left_out), 'conversation')} where not every "
            "strategy in the table succeeded."
        )
    if comparison.dropped:
        yield (
            "Not compared, because too few of their runs succeeded: "
            f"{listed([name(each) for each in comparison.dropped])}."
        )


def _inferred(comparison: Comparison) -> Iterator[str]:
    """Where nobody has labelled a conversation, say how one knows what it needs."""
    runs = comparison.rows[0].runs if comparison.rows else ()
    number = len(replays(run for run in runs if run.labels == "inferred"))
    if number:
        yield (
            f"What is needed is inferred from the recorded actions in {number:,} of "
            f"{counted(comparison.conversations, 'conversation')}, which have no labels: names and "
            "arguments that an action uses and that had appeared before."
        )


def _failed_summaries(comparison: Comparison) -> Iterator[str]:
    """A summary that is none is an event; say what figures are without those runs."""
    for row in comparison.rows:
        bad = [run for run in row.runs if run.metrics.get("summaries_failed")]
        if not bad:
            continue
        number = sum(run.metrics["summaries_failed"] or 0 for run in bad)
        sentence = f"{counted(int(number), 'summary')} under {name(row.label)} failed to be one"
        others = figures_of([run for run in row.runs if not run.metrics.get("summaries_failed")])
        if others["calls"]:
            forgotten = show(others["amnesia_need"], "share")
            sentence += (
                f"; without the runs in question, it has forgotten {forgotten} of what calls need"
            )
        yield f"{sentence}."


def _heard(comparison: Comparison) -> Iterator[str]:
    """A flush of memory must be invisible; say where it was not."""
    for row in comparison.rows:
        if tokens := row.figures["flush_heard"]:
            yield f"Users were shown {tokens:,.0f} tokens of the flushes of {name(row.label)}."


def _breaks(rows: Iterable[Row]) -> str:
    """Who breaks what, and why; where these are many, how many, and where to read why."""
    broken = {row.label: row.breaks for row in rows if row.breaks}
    if len(broken) > _LISTED:
        times = Counter(rule for rules in broken.values() for rule in rules)
        counts = [f"{rule} ({number})" for rule, number in sorted(times.items())]
        return f"{listed(counts)}; `compactlab list strategies --json` tells who and why"
    parts = (
        f"{name(label)}, {name(', '.join(f'{rule}: {why}' for rule, why in rules))}"
        for label, rules in ((label, sorted(rules.items())) for label, rules in broken.items())
    )
    return "; ".join(parts)


def _idle(comparison: Comparison) -> Iterator[str]:
    """Strategies that did nothing look alike; say so before somebody wonders."""
    asked = [row for row in comparison.rows if row.name != "keep_all"]
    never = [row for row in asked if not row.acted]
    some = [
        f"{name(row.label)} in {row.acted} of {row.conversations}"
        for row in asked
        if 0 < row.acted < row.conversations
    ]
    if never:
        roomy = not any(row.hollow for row in never)
        why = "the window never filled far enough, and" if roomy else "so"
        yield (
            f"Never acted: {listed([name(row.label) for row in never])}. No prompt was changed and "
            f"nothing asked for: {why} the figures are those of keeping everything."
        )
    if some:
        yield f"Acted only in some conversations: {listed(some)}."


# What failed, an entry an error: a fault that has many runs is told once.

# So many conversations and strategies are named of each; the JSON and the CSV have all.
_NAMED = 20


@dataclass(frozen=True)
class Fault:
    """An error, how many runs it ended under a model, and which.

    Parameters
    ----------
    error, model
        What went wrong, and under which model.
    runs
        How many runs.
    conversations, strategies
        Which, in words.
    """

    error: str
    model: str
    runs: int
    conversations: str
    strategies: str


def faults(failures: Sequence[Failure]) -> list[Fault]:
    """Put the runs that failed together, those of an error in one entry.

    Examples
    --------
    >>> [found] = faults([Failure("a", "x", "m", "no"), Failure("b", "x", "m", "no")])
    >>> found.runs, found.conversations, found.strategies
    (2, 'a and b', 'x')
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for each in failures:
        groups.setdefault((each.error, each.model), []).append(each)
    return [
        Fault(
            error,
            model,
            len(group),
            enumerated(list(dict.fromkeys(each.conversation for each in group)), _NAMED),
            enumerated(list(dict.fromkeys(each.strategy for each in group)), _NAMED),
        )
        for (error, model), group in groups.items()
    ]
