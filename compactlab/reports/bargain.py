"""The bargain that is none: a window sends fewer tokens, and may cost more for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from compactlab.reports.aggregate import replays
from compactlab.reports.calls import prompt_tokens
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.difference import times
from compactlab.reports.figures import show
from compactlab.reports.scope import Name
from compactlab.sim.run import Run


def bargain(comparison: Comparison, name: Name = str) -> Iterator[str]:
    """Say what a sliding window saves in tokens, and what in money.

    Parameters
    ----------
    comparison
        What is compared; nothing is said without both, or where no calls were stored.
    name
        Writes a name that comes from outside.
    """
    kept, slid = comparison.row("keep_all"), comparison.row("sliding_window")
    if kept is None or slid is None or not kept.value("cost_usd"):
        return
    everything = _prompts(kept)
    if not everything:
        return  # The table of calls was not written.
    tokens = _prompts(slid) / everything
    money = slid.value("cost_usd") / kept.value("cost_usd")
    pairs = zip(replays(slid.runs), replays(kept.runs), strict=True)
    costs = [(_cost(a), _cost(b)) for a, b in pairs]
    # In how many it is the other way round.
    less, more = sum(a < b for a, b in costs), sum(a > b for a, b in costs)
    word, number = ("more", more) if money < 1 else ("less", less)
    where = f" (but {word} in {number} of {len(costs)})" if number else ""
    yield (
        f"{name(slid.label)} sent {times(tokens)} keep_all in prompt tokens and cost "
        f"{times(money)} it{where}: the cache held {show(slid.figures['prefix_reuse'], 'share')} "
        f"of its prompt tokens, and {show(kept.figures['prefix_reuse'], 'share')} of keep_all's."
    )


def _prompts(row: Row) -> int:
    return sum(map(prompt_tokens, row.runs))


def _cost(runs: Sequence[Run]) -> float:
    return fmean(run.metrics["cost_usd"] or 0.0 for run in runs)
