"""The comparison in plain words, as far as its statistics carry them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from compactlab.reports.analysis.advice import FORGOTTEN, Advice
from compactlab.reports.analysis.aggregate import prompt_tokens, replays
from compactlab.reports.analysis.comparison import WHOLE, Comparison, Row
from compactlab.reports.analysis.contrast import MARGINS
from compactlab.reports.analysis.strength import bill, forgets, spread, strength, times
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars, enumerated, listed, show
from compactlab.sim.experiment.run import Run

# The bargain that is none: a window sends fewer tokens, and may cost more for it.


def bargain(comparison: Comparison) -> Iterator[str]:
    """Say what a sliding window saves in tokens, and what in money, where both are known."""
    keep_all, slid = comparison.row("keep_all"), comparison.row("sliding_window")
    if keep_all is None or slid is None or not keep_all.value("cost_usd"):
        return
    everything = _prompts(keep_all)
    if not everything:
        return  # The table of calls was not written.
    tokens = _prompts(slid) / everything
    money = slid.value("cost_usd") / keep_all.value("cost_usd")
    pairs = zip(replays(slid.runs), replays(keep_all.runs), strict=True)
    costs = [(_cost(a), _cost(b)) for a, b in pairs]
    # In how many it is the other way round.
    less, more = sum(a < b for a, b in costs), sum(a > b for a, b in costs)
    word, number = ("more", more) if money < 1 else ("less", less)
    where = f" (but {word} in {number} of {len(costs)})" if number else ""
    yield (
        f"{name(slid.label)} sent {times(tokens)} keep_all in prompt tokens and cost "
        f"{times(money)} it{where}: the cache held {show(slid.figures['prefix_reuse'], 'share')} "
        f"of its prompt tokens, and {show(keep_all.figures['prefix_reuse'], 'share')} of "
        "keep_all's."
    )


def _prompts(row: Row) -> int:
    return sum(map(prompt_tokens, row.runs))


def _cost(runs: Sequence[Run]) -> float:
    return fmean(run.metrics["cost_usd"] or 0.0 for run in runs)


# The comparison in plain words, as far as its statistics carry them.

# So many are told one by one.
_LISTED = 4


def verdict(comparison: Comparison, advice: Advice | None = None) -> list[str]:
    """Say what a comparison shows; of other conversations only as far as the statistics carry it.

    What it advises is computed if it has not been already.
    """
    if not comparison.rows:
        return ["There is nothing to compare: no conversation went well under any strategy."]
    return list(_Verdict(comparison, advice or Advice(comparison)).sentences())


@dataclass(frozen=True)
class _Verdict:
    comparison: Comparison
    advice: Advice

    def sentences(self) -> Iterator[str]:
        if cheapest := self.advice.cheapest:
            yield from self.choice(cheapest)
            yield from self.cheaper_on_paper(cheapest)
            yield from self.line()
            yield from self.closed_loop(self.advice.choices)
        elif not self.proposals:
            yield self.nothing_to_choose()
        elif idle := [row for row in self.proposals if row.usable]:
            yield (
                f"In {self.these}, keeping everything would do: {self.names(idle)} kept every "
                "prompt sound and within the window without ever acting."
            )
        else:
            yield self.nearest()
        yield from bargain(self.comparison)
        yield from self.beaten_by_chance()
        yield from strength(self.advice, self.these)

    def choice(self, cheapest: Row) -> Iterator[str]:
        """What to take, what is cheaper, and what forgets less."""
        still = self.advice.idle
        if still is not None:
            yield (
                f"In {self.these}, nothing need be done: {name(still.label)} stays within "
                f"the window for {dollars(still.value('cost_usd'))} USD, and no strategy that "
                f"acts costs less. The cheapest of them is {self.offer(cheapest)}."
            )
            return
        advised, keenest = self.advice.advised, self.advice.keenest
        yield self.advised(advised)
        yield from self.alike()
        if cheapest is not self.advice.sound:
            yield f"The cheapest usable strategy is {self.offer(cheapest)}."
        if keenest is not None and keenest not in (self.advice.sound, cheapest):
            yield f"The one that forgets least is {self.offer(keenest)}."

    def advised(self, advised: Row | None) -> str:
        """The strategy to take, and how surely."""
        if advised is None:
            return f"In {self.these}, money and memory must be weighed: {self.trade}."
        best = f"the cheapest usable strategy that {self.limit}"
        if self.advice.shown:
            return (
                f"Choose {self.offer(advised)}. It is the cheapest usable strategy that is shown "
                f"to forget at most {self.margin} more of what calls need than {self.than}."
            )
        if self.comparison.conversations == 1:
            return f"In {self.these}, choose {self.offer(advised)}. It is {best}."
        return (
            f"Not determined; in {self.these}, it would be {self.offer(advised)}. It is {best}; "
            "that it holds for others is not shown."
        )

    @property
    def trade(self) -> str:
        """What it costs to forget little, where that is no bargain."""
        if self.advice.sound is None and self.advice.unheld:
            return (
                "neither keep_all nor as_recorded is compared, so nothing tells which strategy "
                "forgets no more than it must"
            )
        if self.advice.sound is None:
            return (
                f"every usable strategy has forgotten over {self.margin} more of what calls need "
                f"than {self.than}"
            )
        return f"the cheapest usable strategy that {self.limit} is {self.offer(self.advice.sound)}"

    @property
    def limit(self) -> str:
        """What a strategy that is advised keeps to."""
        return f"has forgotten at most {self.margin} more of what calls need than {self.than}"

    def alike(self) -> Iterator[str]:
        """Who may be as cheap as the one that is advised, for all that is known."""
        best, pairs = self.advice.advised, self.advice.alike
        if best is None or not pairs or self.comparison.conversations == 1:
            return
        same = [name(row.label) for row, c in pairs if c.ties == c.conversations]
        if same:
            yield f"As dear as {name(best.label)} in every conversation: {listed(same)}."
        names = [f"{name(row.label)} ({spread(c)})" for row, c in pairs if c.ties < c.conversations]
        if names:
            yield (
                f"Not determined whether {enumerated(names, _LISTED)} cost more or less than "
                f"{name(best.label)}."
            )

    @property
    def than(self) -> str:
        """What all are held against."""
        return name(self.advice.reference.label) if self.advice.reference else "the others"

    @property
    def margin(self) -> str:
        """How much more forgetting still counts as none."""
        return f"{100 * MARGINS[FORGOTTEN]:.0f} points"

    @property
    def proposals(self) -> list[Row]:
        """What one might choose: no yardstick, and not what is in use already."""
        rows = self.comparison.rows
        return [row for row in rows if not row.null and not row.played]

    @property
    def these(self) -> str:
        number = self.comparison.conversations
        return "this one conversation" if number == 1 else f"these {number:,} conversations"

    def offer(self, row: Row) -> str:
        """A strategy with its price and what one gets."""
        words = f"{name(row.label)}: {dollars(row.value('cost_usd'))} USD"
        if text := bill(self.advice.cost(row), self.than):
            words += f", {text}"
        share = row.figures["of_as_recorded"]
        reference = self.advice.reference
        other = reference is None or reference.label != "as_recorded"
        if share is not None and self.comparison.recorded and other:
            words += f", {times(share)} as_recorded"
        forgotten = row.figures["amnesia_need"]
        if forgotten is None:
            return words
        words += f"; of what its calls need, it has forgotten {show(forgotten, 'share')}"
        more = forgets(self.advice.forgotten(row), self.than)
        return f"{words}, {more}" if more else words

    def names(self, rows: list[Row]) -> str:
        """Several strategies, as one says them."""
        return listed([name(row.label) for row in rows])

    def nothing_to_choose(self) -> str:
        """Where only yardsticks were run."""
        sentence = "There is no strategy to choose: only yardsticks and what was run are compared."
        keep_all = self.comparison.row("keep_all")
        if keep_all is None:
            return sentence
        if keep_all.usable:
            return f"{sentence} In {self.these}, keep_all kept every prompt within the window."
        return f"{sentence} In {self.these}, keep_all had {_over(keep_all)} over the window."

    def nearest(self) -> str:
        """Where none that one might choose kept to the rules, who came nearest to it."""
        none = (
            f"In {self.these}, none of the strategies that one might choose kept every prompt "
            "sound and within the window"
        )
        did = [row for row in self.comparison.rows if row.usable and row.name in WHOLE]
        if did:
            none += f" ({self.names(did)} did)"
        best = self.advice.nearest
        if best is None:
            return f"{none}."
        return f"{none}. The nearest to it is {self.offer(best)} ({_over(best)} over the window)."

    def cheaper_on_paper(self, best: Row) -> Iterator[str]:
        cheaper = [
            f"{name(row.label)} ({dollars(row.value('cost_usd'))} USD, {_fault(row)})"
            for row in self.proposals
            if not row.usable and row.value("cost_usd") < best.value("cost_usd")
        ]
        if cheaper:
            yield f"Cheaper on paper, but not to be had like this: {listed(cheaper)}."

    def line(self) -> Iterator[str]:
        steps = [
            f"{name(row.label)} ({dollars(row.value('cost_usd'))} USD, "
            f"{show(row.figures['amnesia_need'], 'share')})"
            for row in self.advice.steps
        ]
        if len(steps) > 1:
            yield f"More money buys less forgetting of what is needed along {listed(steps)} only."

    def closed_loop(self, choices: list[Row]) -> Iterator[str]:
        """Whether what is cheap stays so when forgetting has consequences."""
        known = [row for row in choices if row.figures["cost_with_recovery_usd"] is not None]
        if not known:
            return
        best = min(known, key=lambda row: (row.value("cost_with_recovery_usd"), row.label))
        offer = f"{name(best.label)} ({dollars(best.value('cost_with_recovery_usd'))} USD)"
        start = "Where what is forgotten must be got back (closed loop, simulated), the cheapest is"
        first = self.advice.advised or choices[0]
        if best is first:
            yield f"{start} the same: {offer}."
        else:
            now, was = first.value("cost_with_recovery_usd"), first.value("cost_usd")
            share = now / was if was else 1.0
            yield (
                f"{start} {offer}; {name(first.label)} then costs {dollars(now)} USD, "
                f"{times(share)} without."
            )

    def beaten_by_chance(self) -> Iterator[str]:
        chance = self.comparison.row("random_keep")
        if chance is None:
            return
        beaten = [
            name(row.label)
            for row in self.proposals
            if row.value("cost_usd") > chance.value("cost_usd")
            and row.value("amnesia_need") > chance.value("amnesia_need")
        ]
        if beaten:
            yield (
                "Dearer than keeping a random part, and more forgetful of what is needed: "
                f"{listed(beaten)}."
            )


def _fault(row: Row) -> str:
    if row.sees_future:
        return "knows the future"
    if row.hollow:
        return f"{show(row.figures['over_window'], 'share')} of its calls over the window"
    share = (row.figures["rejected_calls"] or 0.0) / (row.figures["calls"] or 1.0)
    return f"{show(share, 'share')} of its calls would be refused"


def _over(row: Row) -> str:
    """How many of its calls, in all replays."""
    over = sum(run.metrics["overflows"] or 0 for run in row.runs)
    return f"{over:,.0f} of {counted(sum(len(run.calls) for run in row.runs), 'call')}"
