"""The answer of a comparison: up to three figures that matter, each with its strategy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compactlab.reports.analysis.advice import COST, Advice
from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.columns import TIMES
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.strength import bill, signed, signed_points
from compactlab.reports.page.picks import cost, missed, of_usable
from compactlab.reports.render.document import name
from compactlab.reports.render.text import MINUS, counted, dollars, enumerated, show

# A strategy stands out if its cost is at least this multiple of that of one with no less recall.
MUCH = 1.25
# Up to this many strategies with the same recall are named.
_NAMED = 2


@dataclass(frozen=True)
class Headline:
    """A figure that matters: its value, what it says, and the details."""

    value: str
    text: str
    detail: str
    row: Row

    @property
    def sentence(self) -> str:
        """The headline without a table beside it: the details have the value, too."""
        return f"{self.text}: {self.detail}."


@dataclass(frozen=True)
class Waste:
    """A strategy that costs much more than another one that recalls no less."""

    row: Row
    than: Row

    @property
    def times(self) -> float:
        """Its cost over that of the other one."""
        return self.row.value(COST) / self.than.value(COST)


def headlines(advice: Advice) -> list[Headline]:
    """The cheapest strategy, the one that recalls most, and the one that wastes most.

    A recommended strategy comes first. There are none where compaction is not needed.
    """
    if advice.idle is not None:
        return []
    found = [
        *_one(advice, advice.advised, "is recommended"),
        *_cheapest(advice),
        *_best_recall(advice),
        *outliers(advice),
    ]
    by_spec: dict[str, Headline] = {}
    for headline in found:
        by_spec.setdefault(headline.row.spec, headline)
    first = list(by_spec.values())
    # A reader can act on the waste, so it is not cut off.
    return first if len(first) <= 3 else [*first[:2], first[-1]]


def _one(advice: Advice, row: Row | None, what: str) -> Iterator[Headline]:
    if row is not None:
        contrast = advice.cost(row)
        value = signed(contrast).partition(" (")[0].replace("-", MINUS) if contrast else ""
        text = f"{name(row.label)} {what}"
        yield Headline(value or f"{dollars(row.mean())} USD", text, offer(advice, row), row)


def _cheapest(advice: Advice) -> Iterator[Headline]:
    row = advice.cheapest
    if row is None:
        return
    what = of_usable(advice, "costs least", cost, row, advice.comparison.strategies)
    best = advice.best_recall
    if best is not None and (best.spec == row.spec or _same_recall(best, row)):
        what += " and recalls most"
    yield from _one(advice, row, what)


def _best_recall(advice: Advice) -> Iterator[Headline]:
    best = advice.best_recall
    if best is None:
        return
    what = of_usable(advice, "recalls most", missed, best, advice.comparison.strategies)
    same = [row for row in advice.choices if row is not best and _same_recall(row, best)]
    same.sort(key=lambda row: " + " in row.label)  # agents before pipelines
    alike = enumerated([name(row.label) for row in same], _NAMED)
    also = f". So {'does' if len(same) == 1 else 'do'} {alike}" if alike else ""
    text = f"{name(best.label)} {what}"
    yield Headline(show(best.recall, "share"), text, f"{offer(advice, best)}{also}", best)


def outliers(advice: Advice) -> Iterator[Headline]:
    """The strategy that wastes most, if one does."""
    found = waste(advice.comparison)
    if found is None:
        return
    row, than = found.row, found.than
    times = f"{found.times:.1f}"
    recalls = f"{show(row.recall, 'share')} ({name(than.label)}: {show(than.recall, 'share')})"
    detail = f"{price(row)}; recall {recalls}{_cause(row)}"
    yield Headline(
        f"{times}{TIMES}",
        f"{name(row.label)} costs {times} times as much as {name(than.label)}",
        detail,
        row,
    )


def waste(comparison: Comparison) -> Waste | None:
    """The usable strategy that costs most times another one with no less recall; None if alike."""
    known = [row for row in comparison.choices if row.recall is not None and row.value(COST) > 0]
    pairs = []
    for row in known:
        others = [other for other in known if (other.recall or 0.0) >= (row.recall or 0.0)]
        pairs.append(Waste(row, min(others, key=lambda other: (other.value(COST), other.label))))
    worst = max(pairs, key=lambda pair: (pair.times, pair.row.label), default=None)
    return worst if worst is not None and worst.times >= MUCH else None


def _cause(row: Row) -> str:
    """Which share of the tokens that missed the cache compactions moved."""
    counts = causes_of(row.runs)
    if not counts.total() or not row.figures["compactions"]:
        return ""
    share = counts["compaction"] / counts.total()
    return (
        f". Its {counted(round(row.value('compactions')), 'compaction')} caused {share:.0%} of the "
        "tokens that missed the cache"
    )


def offer(advice: Advice, row: Row) -> str:
    """A strategy's cost and recall, compared with those of the reference."""
    reference, words = advice.reference, price(row)
    if row is reference:
        words += ", the reference"
    elif reference is not None and (text := bill(advice.cost(row), name(reference.label))):
        words += f", {text}"
    if row.recall is None:
        return words
    words += f"; recall {show(row.recall, 'share')}"
    contrast = advice.recalled(row)
    if contrast is None or contrast.estimate is None or reference is None:
        return words
    span = signed_points(contrast)
    difference = f"; difference {span} points" if span else ""
    return f"{words} ({name(reference.label)}: {show(reference.recall, 'share')}{difference})"


def price(row: Row, metric: str = COST) -> str:
    """The cost of a strategy, of one conversation."""
    text = f"{dollars(row.mean(metric))} USD"
    return text if row.conversations == 1 else f"{text} a conversation"


def _same_recall(row: Row, other: Row) -> bool:
    return row.recall is not None and show(row.recall, "share") == show(other.recall, "share")
