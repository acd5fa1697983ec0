"""What a comparison covers, in words: model, window, summariser, conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from compactlab.reports.analysis.aggregate import replays
from compactlab.reports.analysis.calls import column, models, window_of
from compactlab.reports.analysis.comparison import RECALL, Comparison, Row
from compactlab.reports.render.text import capitalised, clean, counted, listed
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.run import Run

# A clock that starts at 0 has no date.
_A_YEAR = 365 * 86_400.0

# Formats an external name for an output.
Name = Callable[[str], str]


def scope(comparison: Comparison, name: Name = str) -> str:
    """What a comparison covers, in one line."""
    over = counted(comparison.conversations, "conversation")
    if len(comparison.cases) > comparison.conversations:
        over += f" in {counted(len(comparison.cases), 'replay')}"
    strategies = counted(len(comparison.strategies or comparison.rows), "strategy")
    under = f"model {model_names(comparison, name)}; {window(comparison)}"
    if comparison.written_by:
        under += f"; summaries by {name(comparison.written_by)}"
    return f"{under}; {strategies} over {over}"


def without_recall(comparison: Comparison) -> str:
    """Why no strategy has a recall, and the distance at which one has; "" if one has it."""
    rows = (*comparison.rows, *comparison.bounds)
    if any(row.recall is not None for row in rows):
        return ""
    why = f"recall has no value at a distance of {comparison.lag:,} tokens"
    known = [lag for lag, at in RECALL.items() if any(row.figures[at] is not None for row in rows)]
    return f"{why}; --distance {max(known)} has one" if known else why


def told_apart(comparison: Comparison, compared: Sequence[Comparison], name: Name = str) -> str:
    """The model, window or summariser in which a comparison differs from the others."""
    kinds = list(zip(*(each.kind for each in compared), strict=True))
    model, narrowed, writer = (len(set(values)) > 1 for values in kinds)
    parts = []
    if model:
        parts.append(f"Model {name(clean(comparison.model))}")
    if narrowed:
        parts.append(capitalised(window(comparison)))
    if writer:
        parts.append(f"Summaries by {name(comparison.written_by or clean(comparison.summarizer))}")
    return "; ".join(parts) or capitalised(scope(comparison, name))


def model_names(comparison: Comparison, name: Name = str) -> str:
    """The model; for recordings, the models that they called."""
    if comparison.model != "recorded" or not comparison.rows:
        return name(clean(comparison.model))
    used = models(group[0] for group in replays(comparison.rows[0].runs))
    names = [f"{name(clean(each))} ({counted(n, 'call')})" for each, n in used.most_common()]
    return f"as recorded: {listed(names)}"


def window(comparison: Comparison) -> str:
    """The context window that prompts were compared with."""
    return window_of_models(comparison.models or {comparison.model: 0}, comparison)


def window_of_models(used: Iterable[str], comparison: Comparison) -> str:
    """The context window of some models of a comparison, e.g. those of one conversation."""
    known = comparison.catalogue
    sizes = sorted({size for each in used if (size := window_of(each, 0, known))})
    own = listed([f"{size:,}" for size in sizes])
    if not comparison.window:
        return f"window {own} tokens" if sizes else "window: the model's own"
    asked = f"{comparison.window:,}"
    if own == asked:
        return f"window {own} tokens"
    if sizes and sizes[-1] <= comparison.window:
        return f"window {own} tokens (the model's own, below the limit of {asked})"
    if sizes and sizes[0] <= comparison.window:
        return f"window narrowed to {asked} tokens (only where the model's own is larger: {own})"
    return f"window narrowed to {asked} tokens"


def windows_of(run: Run, catalogue: Catalogue) -> list[tuple[int, int]]:
    """The windows of a run: first call and tokens of each; 0 tokens if unknown."""
    called = column(run, "model")
    known = {model: window_of(model, run.window, catalogue) for model in dict.fromkeys(called)}
    windows: list[tuple[int, int]] = []
    for number, model in enumerate(called, 1):
        if not windows or windows[-1][1] != known[model]:
            windows.append((number, known[model]))
    return windows


def title_of(run: Run) -> str:
    """The title of a conversation: its first prompt and its date, else its id."""
    if not run.title:
        return named_by_id(run)
    start = float(run.calls.array("time")[0]) if len(run.calls) else 0.0
    details = [f"{datetime.fromtimestamp(start, UTC):%Y-%m-%d}"] if start > _A_YEAR else []
    details += [f"seed {run.seed}"] if run.seed else []
    about = f" ({', '.join(details)})" if details else ""
    return f"{clean(run.title)}{about}"


def named_by_id(run: Run) -> str:
    """A conversation's id, format and number of the replay."""
    name = clean(run.conversation) or "(no name)"
    return f"{name} ({clean(run.scenario)}{f', seed {run.seed}' if run.seed else ''})"


Sweep = Sequence[Comparison]
"""Comparisons that differ in the window alone, the smallest window first."""


def sweeps(compared: Sequence[Comparison]) -> list[Sweep]:
    """The comparisons by model and summariser, where there are several windows."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for each in compared:
        groups.setdefault((each.model, each.summarizer), []).append(each)
    several = (sorted(group, key=size_of) for group in groups.values())
    return [group for group in several if len(group) > 1 and any(each.rows for each in group)]


def sweep_title(sweep: Sweep, name: Name = str) -> str:
    """What a sweep covers, in one line."""
    first = sweep[0]
    windows = listed([short(size_of(each)) for each in sweep])
    under = f"model {model_names(first, name)}; windows of {windows} tokens"
    if first.written_by:
        under += f"; summaries by {name(first.written_by)}"
    number = counted(len(strategies(sweep)), "strategy")
    return f"{under}; {number} over {counted(first.conversations, 'conversation')}"


def size_of(comparison: Comparison) -> int:
    """The window in tokens; of several models, the largest."""
    used = comparison.models or {comparison.model: 0}
    return max(window_of(each, comparison.window, comparison.catalogue) for each in used)


def short(tokens: int) -> str:
    """A number of tokens as the name of a window.

    Examples
    --------
    >>> short(40_000), short(40_500)
    ('40k', '40,500')
    """
    return f"{tokens // 1000}k" if tokens and tokens % 1000 == 0 else f"{tokens:,}"


def strategies(sweep: Sweep) -> list[Row]:
    """Each strategy once, without bounds; the cheapest under the largest window first."""
    by_spec = {row.spec: row for each in reversed(sweep) for row in reversed(each.strategies)}
    ranked = [row.spec for each in reversed(sweep) for row in each.strategies]
    return [by_spec[spec] for spec in dict.fromkeys(ranked)]
