"""The comparison as a table with its verdict, on a terminal and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from compactlab.reports.analysis.aggregate import figures_of, replays
from compactlab.reports.analysis.columns import (
    ARROWS_MEAN,
    BREAKS,
    DOUBT,
    FAULTY,
    FUTURE,
    NULL,
    OVER,
    PLAYED,
    columns,
    marks,
)
from compactlab.reports.analysis.comparison import (
    FAULT_MARGIN,
    REJECTED,
    Comparison,
    Row,
    comparisons,
    label,
)
from compactlab.reports.analysis.effects import caps, without_effect
from compactlab.reports.analysis.scope import scope
from compactlab.reports.page.figures import preserved
from compactlab.reports.page.headlines import bounds, price
from compactlab.reports.page.verdict import verdict
from compactlab.reports.render import markdown as md
from compactlab.reports.render import terminal
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Sentence,
    Sentences,
    Table,
    TableRow,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import capitalised, clean, counted, enumerated, listed, show
from compactlab.sim.core.errors import ModelError
from compactlab.sim.store.results import Results

# Summarisers that copy lines: no model writes their summaries.
_EXTRACTIVE = ("lexrank", "centroid", "lead", "tail", "salience", "checklist")
NOTHING = "No runs: there is nothing to compare."
_COPIED = "lines selected by a rule; a simulation, not a model's writing"
_ASKED = "written by that model, whose answers are recorded"

# Up to this many strategies are named with the rules that they break.
_LISTED = 3


@dataclass(frozen=True)
class Failure:
    """A run that failed, or a source that could not be read."""

    conversation: str
    strategy: str
    model: str
    error: str


def failures(results: Results) -> list[Failure]:
    """All failed runs, with printable texts."""
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
    """Which summarisers were used, and whether they were models."""
    writers = results.manifest.get("summarizers", {})
    if not writers:
        return "no summariser"
    methods = {spec: _method(spec, writer) for spec, writer in writers.items()}
    parts = [f"by {name(spec)}{': ' if method else ''}{method}" for spec, method in methods.items()]
    if any(method and method != _ASKED for method in methods.values()) and results.manifest.get(
        "flushes"
    ):
        parts.append("what agents write into their memory is simulated in the same way")
    return f"summaries {'; '.join(parts)}"


def _method(spec: str, writer: Mapping[str, str]) -> str:
    """The method of a summariser; "" for a plug-in that does not declare one."""
    if method := clean(writer.get("simulated", "")):
        return f"SIMULATED, {method}"
    if spec.startswith("llm("):
        return _ASKED
    return _COPIED if spec.startswith(_EXTRACTIVE) else ""


def unfinished(results: Results) -> str:
    """How much of the experiment is missing, e.g. after an interruption."""
    if not results.missing:
        return ""
    lacking = counted(results.missing, "cell")
    return (
        f"Not finished: {lacking} (a source of conversations with a strategy and a model) not run "
        "yet; the same command continues."
    )


def passed_over(results: Results) -> str:
    """Which lines and files were skipped; "" if none."""
    files = results.manifest.get("skipped_files", 0)
    unknown = {run.conversation: run.passed_over for run in results.runs if run.passed_over}
    parts = []
    if unknown:
        where = [f"in {name(each)} {name(what)}" for each, what in sorted(unknown.items())]
        parts.append(enumerated(where, 3))
    if files:
        parts.append(f"{counted(files, 'file')} of no known format in folders")
    return f"Passed over: {listed(parts)}." if parts else ""


def notes(comparison: Comparison) -> list[str]:
    """Remarks that a reader of this table needs and cannot see in it."""
    return [
        *_missing(comparison),
        *inferred_models(comparison),
        *_inferred(comparison),
        *suspect(comparison),
        *_heard(comparison),
        *unusable(comparison.rows),
        *_idle(comparison),
        *unused(comparison),
        *capped(comparison),
    ]


def unusable(rows: Sequence[Row]) -> Iterator[str]:
    """Say why rows are not usable, and which did nothing."""
    bad = [row for row in rows if not (row.usable or row.bound)]
    if bad:
        reasons = [f"{name(row.label)} ({fault(row)})" for row in bad]
        yield (f"Not usable (`compactlab explain` shows the calls): {listed(reasons)}.")
    yield from never_acted(rows)


def never_acted(rows: Sequence[Row]) -> Iterator[str]:
    """Name the strategies that never compacted, the user's own first, and those that paid for it.

    The rows of those that paid for nothing are equal.
    """
    every = [row for row in rows if not (row.acted or row.bound or row.as_recorded)]
    for row in (paid := [row for row in every if row.figures["side_cost_usd"]]):
        yield (
            f"{name(row.label)} changed no prompt, and still paid {price(row, 'side_cost_usd')} "
            "for side calls, such as summaries."
        )
    if still := [row for row in every if row not in paid]:
        names = [name(row.label) for row in sorted(still, key=lambda row: not row.own)]
        more = (
            "`compactlab explain` shows the size of each prompt."
            if any(row.exceeds_window for row in still)
            else "Longer conversations or a smaller --window may make them compact."
        )
        yield (
            f"Never compacted: {enumerated(names, _LISTED)}. No prompt was changed and no call "
            f"was added, so the figures are those of keep_all. {more}"
        )


def fault(row: Row) -> str:
    """Why a strategy is not usable, in words."""
    if row.exceeds_window:
        why = f": {name(clean(row.beyond))}" if row.beyond else ""
        share = show(row.figures["over_window"], "share")
        return f"exceeds the context window on {share} of calls{why}"
    if row.bare:
        share = show(row.figures["system_dropped"], "share")
        return f"no system prompt or no tools in {share} of its calls"
    share = show((row.figures["rejected_calls"] or 0.0) / (row.figures["calls"] or 1.0), "share")
    if row.doubtful:
        return f"{share} of its calls are torn, and it is not known how many are in the log"
    return f"the API would reject {share} of its calls"


def unused(comparison: Comparison) -> Iterator[str]:
    """Name parameters without effect."""
    for each in without_effect(comparison):
        rows = enumerated([name(row.label) for row in each.rows], _LISTED)
        what = f"{listed(list(map(name, each.parameters)))} never mattered"
        if each.idle:
            yield f"{rows}: {what}: 0 compactions."
            continue
        number = comparison.conversations
        where = "the one conversation" if number == 1 else f"all {number:,} conversations"
        yield f"{rows} made the same runs in {where}: {what}."


def capped(comparison: Comparison) -> Iterator[str]:
    """Name defaults that a narrowed window reduced."""
    every = caps(comparison)
    words = [
        f"{name(each.what)} of {enumerated([name(row.label) for row in each.rows], _LISTED)}, "
        f"not {each.tokens:,}"
        for each in every
    ]
    if words:
        yield (
            f"In the window narrowed to {comparison.window:,} tokens these defaults count as a "
            f"quarter of it, {every[0].counts:,}: {'; '.join(words)}. What is set counts as it is."
        )


def legend(compared: Sequence[Comparison]) -> list[str]:
    """How to read the tables, once for all of them."""
    rows = [row for comparison in compared for row in comparison.rows]
    if not rows:
        return []
    meanings = {
        OVER: "exceeds the context window on some calls. A provider would reject these calls, so "
        "its cost and its recall cannot be attained.",
        NULL: "a bound (null strategy), not a candidate.",
        FAULTY: "a provider would reject more of its calls than are torn in the log as it was "
        f"sent (keep_all shows them), by more than {100 * FAULT_MARGIN:.0f} in 100 calls: a tool "
        "result without its call, a call without its result, or an empty prompt. Or its calls lack "
        "the system prompt or the tools, so that the agent could not go on.",
        DOUBT: "it is not known whether a provider would reject its calls: keep_all, which shows "
        "how many are torn in the log itself, is not there.",
        FUTURE: "a bound that sees future messages; no real strategy does.",
        BREAKS: _breaks(rows),
        PLAYED: "as recorded, as far as the log shows; a summary costs what the log bills for it. "
        "No candidate.",
    }
    replayed = any(len(each.cases) > each.conversations for each in compared)
    averaged = ", of each the mean of its replays" if replayed else ""
    carried = "".join(map(marks, rows))
    return [
        f"{ARROWS_MEAN}. Dollars, tokens and counts are means over conversations{averaged}; "
        "cache hit rate and exceeds window are shares of all tokens and calls; the spike is a "
        "median; the other shares are means over conversations.",
        *(f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in carried),
    ]


def _missing(comparison: Comparison) -> Iterator[str]:
    if not comparison.rows:
        return  # The verdict has it already.
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


def inferred_models(comparison: Comparison) -> Iterator[str]:
    """Name what was inferred about models from others of their providers."""
    for each in sorted(comparison.models or {comparison.model: 0}):
        with suppress(ModelError):
            if said := comparison.catalogue.find(each).inferred:
                yield f"{clean(said)}."


def _inferred(comparison: Comparison) -> Iterator[str]:
    """Say where facts come from if a conversation has no labels."""
    runs = comparison.rows[0].runs if comparison.rows else ()
    number = len(replays(run for run in runs if run.labels == "inferred"))
    if number:
        yield (
            f"Without labels in {number:,} of {counted(comparison.conversations, 'conversation')}: "
            "facts are inferred there. A fact is a name or an argument that a user or a tool said, "
            "that a recorded action uses later, and that can be neither known nor composed "
            "without it."
        )


def failed_summaries(row: Row) -> str:
    """How many summaries of a strategy failed, of how many; "" if none did."""
    asked, bad = (
        sum(run.metrics.get(metric) or 0 for run in row.runs)
        for metric in ("summaries", "summaries_failed")
    )
    return f"{bad:,.0f} of {asked:,.0f}" if bad else ""


def suspect(comparison: Comparison) -> Iterator[str]:
    """Say which summaries failed, what that means for recall, and what names their faults."""
    parts = []
    for row in comparison.lines:
        if failed := failed_summaries(row):
            others = [run for run in row.runs if not run.metrics.get("summaries_failed")]
            recall = figures_of(others)[comparison.headline]
            without = f" (recall without these runs: {show(recall, 'share')})"
            parts.append(f"{failed} under {name(row.label)}{'' if recall is None else without}")
    if parts:
        yield (
            f"Summaries that failed the sanity check: {enumerated(parts, _LISTED)}. They are "
            "suspect: empty, too long, or with little of their input. Where they stay in "
            "the prompts, recall counts them. `compactlab explain` names the fault of each."
        )


def _heard(comparison: Comparison) -> Iterator[str]:
    """Say where memory flushes, which must be invisible, were visible to users."""
    for row in comparison.rows:
        if tokens := row.figures["flush_heard"]:
            yield f"{name(row.label)} showed users {tokens:,.0f} tokens of its memory flushes."


def _breaks(rows: Iterable[Row]) -> str:
    """Which rules whose violation a provider may reject are broken, and why."""
    rules = dict.fromkeys(rule for row in rows for rule in row.rejected_for)
    named = " and ".join(f"{rule!r} ({REJECTED[rule]})" for rule in rules)
    why = dict.fromkeys(
        f"{name(row.label)}, {name(row.breaks[rule])}" for row in rows for rule in row.rejected_for
    )
    reasons = enumerated(list(why), _LISTED)
    return (
        f"breaks the rule {named} on purpose, as the system that it follows. Repair its prompts "
        f"before you send them: {reasons}. `compactlab list strategies --format json` lists all "
        "rules."
    )


def _idle(comparison: Comparison) -> Iterator[str]:
    """Name strategies that did nothing in some conversations."""
    some = [
        f"{name(row.label)} in {row.acted} of {row.conversations}"
        for row in comparison.rows
        if 0 < row.acted < row.conversations
    ]
    if some:
        yield f"Compacted in some conversations only: {listed(some)}."


@dataclass(frozen=True)
class Fault:
    """An error under a model, and the runs that failed with it."""

    error: str
    model: str
    runs: tuple[Failure, ...]

    def conversations(self, most: int) -> str:
        """The conversations, up to ``most`` by name."""
        return enumerated(list(dict.fromkeys(each.conversation for each in self.runs)), most)

    def strategies(self, most: int) -> str:
        """The strategies, up to ``most`` by name."""
        return enumerated(list(dict.fromkeys(each.strategy for each in self.runs)), most)


def faults(failures: Sequence[Failure], alike: Callable[[str], str] = str) -> list[Fault]:
    """Group failed runs by model and by error, or by the common part of errors.

    Examples
    --------
    >>> [fault] = faults([Failure("a", "x", "m", "no"), Failure("b", "x", "m", "no")])
    >>> fault.error, len(fault.runs), fault.conversations(3), fault.strategies(3)
    ('no', 2, 'a and b', 'x')
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for each in failures:
        groups.setdefault((each.model, alike(each.error)), []).append(each)
    return [Fault(group[0].error, model, tuple(group)) for (model, _), group in groups.items()]


# A number that is not a part of a name.
_NUMBER = re.compile(r"(?<![\w.@/-])\d[\d,.]*(?![\w@/-])")


def table(results: Results) -> str:
    """All comparisons for a terminal; one line for each error of failed runs."""
    return terminal.write(Document((*_compared(results), *_errors(failures(results)))))


def markdown(results: Results) -> str:
    """All comparisons in Markdown; one row for each failed run."""
    return md.write(Document((*_compared(results), *_failed(failures(results)))))


def troubles(results: Results) -> str:
    """Name skipped lines and failed runs, below a report that does not."""
    over = sentences([passed_over(results)], "important")
    return terminal.write(Document((over, *_errors(failures(results)))))


def _compared(results: Results) -> Iterator[Block]:
    if not results.runs:
        yield sentences([NOTHING], bullets=False)
    compared = comparisons(results)
    for comparison in compared:
        yield from _comparison(comparison)
    read = [*legend(compared), f"{capitalised(summaries(results))}."] if compared else []
    lacking = filter(None, [unfinished(results), passed_over(results)])
    lines = [
        *(Sentence(each, "quiet") for each in read),
        *(Sentence(s, "important") for s in lacking),
    ]
    yield Sentences(tuple(lines))


def _comparison(comparison: Comparison) -> Iterator[Block]:
    yield Heading(capitalised(scope(comparison, name)))
    if comparison.rows:
        shown = columns(comparison)
        heads = [Column(each.heading, rank=each.rank) for each in shown]
        lines = [
            TableRow(
                (
                    f"{name(row.label)} {marks(row)}".strip(),
                    *(each.cell(row.of_one) for each in shown),
                ),
                "" if row.usable and not row.bound else "quiet",
            )
            for row in sorted(comparison.lines, key=lambda row: row.bound)
        ]
        yield Table((Column("strategy", words=True), *heads), tuple(lines), stacked=True)
        yield from preserved(comparison)
    yield sentences([*bounds(comparison), *verdict(comparison), *notes(comparison)])


def _failed(failed: Sequence[Failure]) -> Iterator[Block]:
    """Every failed run."""
    if failed:
        yield Heading(f"{counted(len(failed), 'run')} failed")
        heads = ("conversation", "strategy", "model", "error")
        cells = ((each.conversation, each.strategy, each.model, each.error) for each in failed)
        yield Table(
            tuple(Column(head, words=True) for head in heads),
            rows([name(cell) for cell in row] for row in cells),
        )


def _errors(failed: Sequence[Failure]) -> Iterator[Block]:
    """Every error once, with the number of its runs."""
    if failed:
        title = Sentence(f"{counted(len(failed), 'run')} failed:", "bad")
        yield Sentences(
            (title, *(Sentence(f"  {_line(fault)}") for fault in faults(failed, _uncounted)))
        )


def _uncounted(error: str) -> str:
    """An error without its counts: errors that differ only in these are the same."""
    return _NUMBER.sub("#", error)


def _line(fault: Fault) -> str:
    under = f" under {fault.model}" if fault.model else ""
    first = fault.runs[0]
    if len(fault.runs) == 1:
        return f"{first.conversation}, {first.strategy}{under}: {fault.error}"
    which = f"{fault.conversations(3)}; {fault.strategies(3)}"
    return f"{counted(len(fault.runs), 'run')} ({which}){under}: {fault.error}"
