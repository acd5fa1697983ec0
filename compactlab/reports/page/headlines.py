"""The answer of a comparison: up to three figures that matter, each with its strategy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.advice import COST, Advice
from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.columns import TIMES
from compactlab.reports.analysis.comparison import ENOUGH, Comparison, Row
from compactlab.reports.analysis.strength import bill, signed, signed_points
from compactlab.reports.render.document import name
from compactlab.reports.render.text import MINUS, counted, dollars, enumerated, listed, show

# The maximum number of rows, besides the user's own; up to FEW strategies are all shown.
ROWS, FEW = 8, 20
# The role of the rows of the clients that wrote the logs, which come first.
WROTE = "the logs' client"
# How many points of the Pareto front are shown.
_STEPS = 3


def shown(advice: Advice) -> list[tuple[Row, str]]:
    """The rows of the verdict, also on the page: all if they are few, else those that matter."""
    chosen = picks(advice)
    if len(advice.comparison.strategies) <= FEW:
        roles = {row.spec: role for row, role in chosen}
        lines = (row for row in advice.comparison.lines if not row.bound)
        chosen = [(row, roles.get(row.spec, "")) for row in lines]
    clients = _clients(advice.comparison)

    def wrote(row: Row) -> bool:
        # A row of equal strategies has all their names.
        return not clients.isdisjoint(map(_word, row.label.split(", ")))

    told = [(row, ", ".join(filter(None, (role, WROTE)))) for row, role in chosen if wrote(row)]
    return told + [each for each in chosen if not wrote(each[0])]


def _word(name: str) -> str:
    return re.split("[-_]", name)[0]


def _clients(comparison: Comparison) -> set[str]:
    """The first words of the names of the clients that wrote the logs.

    Users look first for the row of their own client. Formats are named like it: ``claude-code``.
    """
    if not comparison.recorded:
        return set()
    return {_word(run.scenario) for row in comparison.rows for run in row.runs}


def picks(advice: Advice) -> list[tuple[Row, str]]:
    """The rows that matter with their roles, the cheapest first; bounds are not among them.

    At most eight, including points of the Pareto front, which have no role; and all of the user's
    own.
    """
    comparison = advice.comparison
    roles: dict[str, list[str]] = {}
    for row, role in _roles(advice):
        if row is None or row not in comparison.strategies:
            continue
        spec = comparison.line(row).spec
        if not role and spec in roles:
            continue
        if spec in roles or len(roles) < ROWS:
            roles.setdefault(spec, []).append(role)
    for row in comparison.rows:
        if row.own:
            roles[row.spec] = [*roles.get(row.spec, ()), "yours"]
    return [
        (row, ", ".join(filter(None, roles[row.spec])))
        for row in comparison.lines
        if row.spec in roles
    ]


def _roles(advice: Advice) -> Iterator[tuple[Row | None, str]]:
    """The roles of rows, the most important first."""
    comparison, rows = advice.comparison, rivals(advice)
    enough = f"\N{GREATER-THAN OR EQUAL TO}{ENOUGH:.0%}"
    remembering = [row for row in rows if (row.recall or 0.0) >= ENOUGH]
    yield advice.advised, "choose"
    yield advice.reference, "reference"
    yield (comparison.row("as_recorded") if comparison.recorded else None), "as recorded"
    if (only := alone(advice)) is not None:
        yield advice.cheapest, only
    else:
        yield advice.cheapest, of_usable(advice, "cheapest", cost, advice.cheapest, rows)
        if advice.advised is None:
            role = f"cheapest {enough}"
            yield advice.enough, of_usable(advice, role, cost, advice.enough, remembering)
        yield advice.knee, ""
        best = advice.best_recall
        yield best, of_usable(advice, "highest recall", missed, best, rows)
    yield (None if advice.choices else advice.nearest), "nearest"
    yield from ((row, "") for row in _spread(advice, _STEPS))


def of_usable(
    advice: Advice, role: str, least: Callable[[Row], float], row: Row | None, rows: Sequence[Row]
) -> str:
    """A role; if another row beats it, which is no choice, the role says of how many it is."""
    better = [each for each in rows if row is not None and least(each) < least(row)]
    if not better:
        return role
    number = len(advice.choices)
    if all(each.as_recorded for each in better):
        return f"{role} of {counted(number, 'strategy')}"
    if any(each.usable and not each.as_recorded for each in better):
        return f"{role} of {number} that compacted"
    return f"{role} of {number} usable"


def rivals(advice: Advice) -> list[Row]:
    """The strategies, and what was run if they are compared with it."""
    rows, reference = list(advice.comparison.strategies), advice.reference
    if reference is None or not reference.as_recorded or reference in rows:
        return rows
    return [*rows, reference]


def alone(advice: Advice) -> str | None:
    """What a choice is called that has no other, so it is neither cheapest nor best; else None."""
    if len(advice.choices) != 1:
        return None
    others = [row for row in advice.comparison.strategies if not (row.choice or row.as_recorded)]
    if any(row.usable for row in others):
        return "the only one that compacted"
    return "the only usable one" if others else ""


def cost(row: Row) -> float:
    """The cost, by which a row is the cheapest."""
    return row.value("cost_usd")


def missed(row: Row) -> float:
    """The recall to a tenth of a point, negative: the least is the highest recall."""
    return -round(row.recall or 0.0, 3)


def _spread(advice: Advice, steps: int) -> list[Row]:
    """Up to ``steps`` rows of the front: ends, knee, sufficient recall, then the largest gaps."""
    first = [advice.cheapest, advice.best_recall, advice.knee, advice.enough]
    chosen = [row for row in advice.steps if row in first]
    others = [row for row in advice.steps if row not in first]
    while others and len(chosen) < steps:
        far = max(others, key=lambda row: _gap(row, chosen))
        others.remove(far)
        chosen.append(far)
    return chosen


def _gap(row: Row, chosen: Sequence[Row]) -> float:
    """The distance of a row's recall from the nearest chosen one."""
    return min((abs((row.recall or 0.0) - (each.recall or 0.0)) for each in chosen), default=0.0)


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
        text = f"{name(row.label)} {what}".strip()
        yield Headline(value or f"{dollars(row.mean())} USD", text, offer(advice, row), row)


def _cheapest(advice: Advice) -> Iterator[Headline]:
    row = advice.cheapest
    if row is None:
        return
    if (only := alone(advice)) is not None:
        than = advice.reference
        beside = "" if than is None or than is row else f"beside {name(than.label)}"
        yield from _one(advice, row, f"is {only}" if only else beside)
        return
    best = advice.best_recall
    both = best is not None and (best.spec == row.spec or _same_recall(best, row))
    role = "costs least and recalls most" if both else "costs least"
    what = of_usable(advice, role, cost, row, rivals(advice))
    if both and what == role:
        what = of_usable(advice, role, missed, row, rivals(advice))
    yield from _one(advice, row, what)


def _best_recall(advice: Advice) -> Iterator[Headline]:
    best = advice.best_recall
    if best is None:
        return
    what = of_usable(advice, "recalls most", missed, best, rivals(advice))
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


# What is unknown without each bound.
_NEEDED = {
    "keep_all": "which calls are torn in the log itself, and whether compaction is needed",
    "keep_none": "what forgetting looks like",
    "as_recorded": "what was run, with which the others would be compared",
}


def bounds(comparison: Comparison) -> Iterator[str]:
    """State cost and recall of the bounds and of the log, and what is unknown without them."""
    every = comparison.beside
    if told := [_told(comparison, row) for row in every if not row.as_recorded]:
        yield f"Bounds: {listed(told)}."
    yield from (f"As it was run: {_told(comparison, row)}." for row in every if row.as_recorded)
    for bound, reason in comparison.unknown.items() if comparison.rows else ():
        yield f"Not known: {_NEEDED[bound]}, because {bound} is not there ({name(reason)})."


def _told(comparison: Comparison, row: Row) -> str:
    facts = [price(row)]
    if row.exceeds_window:
        facts = [f"exceeds {window_on(row)}"]
    if row.recall is not None:
        facts.append(f"recall {show(row.recall, 'share')}")
    if row is comparison.reference:
        facts.append("the reference")
    if row.sees_future:
        facts.append("sees future messages")
    return f"{name(row.label)} ({', '.join(facts)})"


def window_on(row: Row) -> str:
    """On how many calls, over all replays, a strategy exceeds the window."""
    over = sum(run.metrics["overflows"] or 0 for run in row.runs)
    calls = counted(sum(int(run.metrics["calls"] or 0) for run in row.runs), "call")
    return f"the context window on {over:,.0f} of {calls}"
