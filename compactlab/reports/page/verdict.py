"""The comparison in words, as far as its statistics allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from compactlab.reports.analysis.advice import CEILING, PRESERVED, Advice
from compactlab.reports.analysis.aggregate import replays
from compactlab.reports.analysis.comparison import ENOUGH, WHOLE, Comparison, Row
from compactlab.reports.analysis.preservation import Share
from compactlab.reports.analysis.significance import ALPHA
from compactlab.reports.analysis.strength import cost_needs, spread, strength, sure, times
from compactlab.reports.page.headlines import headlines, offer, price, window_on
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars, enumerated, listed, show
from compactlab.sim.store.run import Run

# Up to this many strategies are listed individually.
_LISTED = 4


def verdict(comparison: Comparison, advice: Advice | None = None) -> list[str]:
    """State the findings of a comparison; about other conversations only significant ones.

    The advice is computed if it is not given.
    """
    advice = advice or Advice(comparison)
    return [*(each.sentence for each in headlines(advice)), *certainty(advice), *reasons(advice)]


def certainty(advice: Advice) -> list[str]:
    """State which findings are certain, which are not, and how many conversations these need."""
    if not advice.comparison.rows:
        return ["There is nothing to compare: no strategy succeeded on any conversation."]
    return list(_Verdict(advice.comparison, advice).answer())


def reasons(advice: Advice) -> list[str]:
    """Say the rest, which only some readers need."""
    return list(_Verdict(advice.comparison, advice).rest()) if advice.comparison.rows else []


def tokens_and_money(comparison: Comparison) -> Iterator[str]:
    """State the saving of a sliding window in tokens and in money, if both are known."""
    other, slid = comparison.reference, comparison.row("sliding_window")
    if other is None or slid is None or slid is other or not other.value("cost_usd"):
        return
    (read, everything), (kept, sent) = _prompts(other), _prompts(slid)
    if not (everything and sent):
        return
    tokens = sent / everything
    money = slid.value("cost_usd") / other.value("cost_usd")
    pairs = zip(replays(slid.runs), replays(other.runs), strict=True)
    costs = [(_cost(a), _cost(b)) for a, b in pairs]
    less, more = sum(a < b for a, b in costs), sum(a > b for a, b in costs)
    opposite, number = ("more", more) if money < 1 else ("less", less)
    where = f" (but {opposite} in {number} of {len(costs)} conversations)" if number else ""
    yield (
        f"{name(slid.label)} sent {times(tokens, 'prompt tokens')} {name(other.label)} and cost "
        f"{times(money)} it{where}. It read {show(kept / sent, 'share')} of its prompt "
        f"tokens from the cache, and {name(other.label)} {show(read / everything, 'share')}."
    )


def recorded(comparison: Comparison) -> Iterator[str]:
    """State the cost of the recorded usage, and the replay's deviation from it."""
    row, log = comparison.row("as_recorded"), comparison.recorded_bill
    if row is None or log is None:
        return
    least = "at least " if row.value("tokens_passed_over") else ""
    number = comparison.conversations
    each = " a conversation" if number > 1 else ""
    yield (
        f"At the same prices, the usage in the logs costs {least}{dollars(log.cost / number)} "
        f"USD{each}, and the replay of as_recorded {dollars(row.mean())} USD{each}. The replay's "
        f"prompts alone cost {times(1 + log.difference)} in the logs. So differences in cost of "
        f"up to {log.deviation:.1%} are not called differences: the replay is no more exact."
    )


def unpaid(row: Row) -> int:
    """The number of compactions without a summary request; 0 if either was not counted."""
    total = 0.0
    for group in replays(row.runs):
        counts = [[run.metrics.get(name) for name in ("compactions", "summaries")] for run in group]
        gaps = [made - paid for made, paid in counts if made is not None and paid is not None]
        total += max(0.0, fmean(gaps)) if gaps else 0.0
    return round(total)


def for_nothing(comparison: Comparison) -> Iterator[str]:
    """Say how many recorded compactions have no cost in the log."""
    row = comparison.row("as_recorded")
    if row is not None and (number := unpaid(row)):
        yield (
            f"The logs do not say what {number:,} of {row.value('compactions'):,.0f} compactions "
            "cost: as_recorded makes them for nothing."
        )


def _prompts(row: Row) -> tuple[float, float]:
    """The prompt tokens read from the cache, and all: requests for summaries are among them."""
    read, *missed = (
        sum(run.metrics.get(f"tokens_{kind}") or 0 for run in row.runs)
        for kind in ("cache_read", "cache_write", "uncached")
    )
    return read, read + sum(missed)


def _cost(runs: Sequence[Run]) -> float:
    return fmean(run.metrics["cost_usd"] or 0.0 for run in runs)


@dataclass(frozen=True)
class _Verdict:
    comparison: Comparison
    advice: Advice

    def answer(self) -> Iterator[str]:
        """The sentences that everybody reads."""
        if not self.advice.cheapest:
            yield self.nothing_to_choose()
        elif still := self.advice.idle:
            yield (
                f"In {self.these}, compaction is not needed: {name(still.label)} stays within the "
                f"context window and costs {price(still)}. {self.none_cheaper(still)}"
            )
        else:
            # Where nothing distinguishes remembering from forgetting, recall is no argument.
            if self.advice.silent in ("", "few") and not self.advice.proven:
                yield from self.here()
            yield from sure(self.advice)
            if self.advice.silent == "few":
                yield self.not_yet()
            else:
                yield from self.cost_not_yet()
                yield self.recommendation()

    def none_cheaper(self, still: Row) -> str:
        """Say that none that compacts costs less, within the precision of the replay."""
        best = self.advice.cheapest
        less = best is not None and best.value("cost_usd") < still.value("cost_usd")
        by = f" by more than {self.comparison.deviation:.1%}, to which the replay is exact"
        return f"No {self.strategy} that compacts costs less{by if less else ''}."

    def rest(self) -> Iterator[str]:
        """The sentences that only some readers need."""
        advice = self.advice
        if advice.cheapest:
            if advice.idle is None and advice.silent != "controls":
                yield from self.front()
                yield from self.about_reference()
                yield from self.alike()
            yield from self.summaries()
            yield from self.closed_loop(advice.choices)
        yield from recorded(self.comparison)
        yield from for_nothing(self.comparison)
        yield from tokens_and_money(self.comparison)
        yield from self.worse_than_random()
        yield from strength(advice, self.these)

    def nothing_to_choose(self) -> str:
        """Why no strategy can be chosen."""
        if not self.candidates:
            return self.controls_only()
        if self.comparison.undecided:
            return (
                f"In {self.these}, it is not known which strategies are usable: keep_all is not "
                "there, which shows what is torn in the log itself."
            )
        if idle := [row for row in self.candidates if row.usable]:
            return (
                f"In {self.these}, compaction is not needed: {self.names(idle)} never compacted, "
                "and every prompt was valid and within the context window."
            )
        return self.none_usable()

    def front(self) -> Iterator[str]:
        """The strategies on the Pareto front, and its knee; nothing if there is no recall."""
        steps, knee = self.advice.steps, self.advice.knee
        if all(row.recall is None for row in steps) or len(self.advice.choices) < 2:
            return
        if len(steps) < 2:
            yield f"No {self.strategy} recalls more than the cheapest, {self.step(steps[0])}."
            return
        text = (
            f"Pareto front, cheapest first ({len(steps)} of {self.usable}): "
            f"{enumerated([self.step(row) for row in steps], _LISTED)}."
        )
        if knee is not None:
            at = "the point farthest below the line between its ends"
            text += f" Its knee is {name(knee.label)}, {at}."
        yield text

    def step(self, row: Row) -> str:
        """A point of the front."""
        return f"{name(row.label)} ({price(row)}{self.recall_of(row)})"

    def here(self) -> Iterator[str]:
        """The choice by the plain figures of these conversations."""
        row, reference = self.advice.enough, self.advice.reference
        if row is None:
            yield f"In {self.these}, no {self.strategy} recalls at least {ENOUGH:.0%}."
        elif row is self.advice.cheapest:
            return  # The headlines say it.
        elif reference is not None and not self.advice.no_more_expensive(row, reference):
            yield (
                f"In {self.these}, every {self.strategy} that recalls at least {ENOUGH:.0%} costs "
                f"more than {self.than}. The cheapest of them is {self.offer(row)}."
            )
        else:
            yield (
                f"In {self.these}, the cheapest{self.among} that recalls at least {ENOUGH:.0%} is "
                f"{self.offer(row)}."
            )

    def about_reference(self) -> Iterator[str]:
        """Name the reference if it is not ``keep_all`` because that is not usable."""
        reference, whole = self.advice.reference, self.comparison.row("keep_all")
        if reference is None or whole is None or whole.usable:
            return
        yield f"Reference: {name(reference.label)}, {self.reference_is(reference)}."

    def reference_is(self, row: Row) -> str:
        """Why a strategy is the reference."""
        if row.as_recorded:
            return "what was run"
        if row.name in self.comparison.clients:
            return "the provider's own client"
        return f"the first {self.strategy} named"

    @staticmethod
    def recall_of(row: Row, before: str = ", ", after: str = "") -> str:
        return "" if row.recall is None else f"{before}recall {show(row.recall, 'share')}{after}"

    def recommendation(self) -> str:
        """The recommended strategy, or why these conversations do not show any."""
        advised = self.advice.advised
        if advised is None:
            return f"No strategy is recommended: {self.why_none()}."
        kept = ""
        if advised.summarises:
            kept = (
                f", and its summaries preserve at least {PRESERVED:.0%} of what summaries "
                "without content lose"
            )
        return (
            f"Choose {name(advised.label)}: of {self.usable}, it is the cheapest that is shown to "
            f"recall at least {ENOUGH:.0%}{kept} (one-sided at {100 * ALPHA:g}%, all together)."
        )

    def why_none(self) -> str:
        """Why none is recommended, and what would change that."""
        advice, comparison = self.advice, self.comparison
        wanted = f"{comparison.lag:,} tokens"
        reasons = {
            "early": f"no call needs a fact last stated {wanted} ago or earlier, so nothing shows "
            "what strategies forget. Longer conversations would, or a shorter --distance",
            "inferred": "needs are inferred from recorded actions. They show whether summaries "
            "differ from summaries without content, and not whether enough is recalled. Labelled "
            "facts would",
            "controls": "no null summariser was run (--no-controls), so nothing is said of memory",
            "null": self.no_null(),
            "bounds": "a bound is missing, so it is not known what the others are to be held to",
            "": f"no {self.strategy} is shown to recall at least {ENOUGH:.0%} and, where it "
            f"summarises, to preserve {PRESERVED:.0%} of what summaries without content lose. A "
            "better summariser, or more conversations, would show it if it is so",
        }
        if best := next(iter(advice.proven), None):
            return (
                f"the cheapest {self.strategy} that is shown to recall at least {ENOUGH:.0%} costs "
                f"more than {self.than}. It is {self.offer(best)}"
            )
        return reasons[advice.silent]

    def not_yet(self) -> str:
        """What more conversations would make certain."""
        advice = self.advice
        takes = (
            f"which strategies recall at least {ENOUGH:.0%} (takes at least {advice.needed:,} "
            f"conversations in all, with facts needed {self.comparison.lag:,} tokens later, where "
            f"a strategy misses none; you have {advice.conversations:,})"
        )
        if needed := cost_needs(advice):
            takes = (
                f"which costs differ (takes at least {needed:,} conversations in all), and {takes}"
            )
        return f"Not yet sure: {takes}.{self.seeds()}"

    def cost_not_yet(self) -> Iterator[str]:
        """The number of conversations that would make costs certain, apart from recall."""
        if needed := cost_needs(self.advice):
            yield (
                f"Not yet sure: which costs differ (takes at least {needed:,} conversations in "
                f"all; you have {self.comparison.conversations:,})."
            )

    def seeds(self) -> str:
        """How many seeds yield enough synthetic conversations.

        For a recording, a seed is only another replay. The bound ``as_recorded`` identifies
        recordings.
        """
        advice, comparison = self.advice, self.comparison
        played = any(row.name == "as_recorded" for row in comparison.bounds)
        if played or comparison.recorded or not advice.conversations:
            return ""
        seeds = len({run.seed for row in self.comparison.rows for run in row.runs})
        return f" Add --seeds {ceil(advice.needed * seeds / advice.conversations)} or more."

    def no_null(self) -> str:
        """Say that no control without memory was replayed."""
        null = self.comparison.row("keep_none")
        if null is None or null.recall is None:
            return "keep_none is not compared, so nothing shows what forgetting looks like"
        return (
            f"even keep_none recalls {show(null.recall, 'share')}, so these conversations cannot "
            "tell remembering from forgetting. Longer ones or a smaller window would"
        )

    def summaries(self) -> Iterator[str]:
        """What summaries preserve of what summaries without content lose."""
        rows = [row for row in self.advice.choices if row.summarises]
        known = [(row, p) for row in rows if (p := self.advice.memory(row).preserved())]
        if not known:
            return
        if self.advice.inferred:
            yield self.told_apart(known)
            return
        shares = [p.value for _, p in known]
        span = f"{max(0.0, min(shares)):.0%}"
        if len(known) > 1:
            span += f" to {max(0.0, *shares):.0%}"
        yield (
            f"Summaries kept {span} of what summaries of the same length without content lose "
            f"({counted(len(known), 'strategy')})."
        )
        same = [name(row.label) for row, p in known if p.low is not None and p.low <= 0]
        if same:
            yield f"Not shown to be better than without content under {enumerated(same, _LISTED)}."
        limited = [name(row.label) for row, _ in known if self.advice.limited(row)]
        if limited:
            yield (
                f"Under {enumerated(limited, _LISTED)} an oracle's summaries preserve less than "
                f"{CEILING:.0%}, too: that loss is the strategy's, not the summary's."
            )

    @staticmethod
    def told_apart(known: Sequence[tuple[Row, Share]]) -> str:
        """For inferred needs: say only whether summaries differ from empty ones."""
        told = [name(row.label) for row, p in known if p.low is not None and p.low > 0]
        rest = [name(row.label) for row, p in known if p.low is None or p.low <= 0]
        text = "Summaries are not told from summaries without content"
        if told:
            text = f"Summaries are told from summaries without content under {listed(told)}"
            return f"{text}, and not under {listed(rest)}." if rest else f"{text}."
        return f"{text} under {enumerated(rest, _LISTED)}."

    def alike(self) -> Iterator[str]:
        """The strategies whose cost may equal that of the recommended one."""
        best, pairs = self.advice.advised, self.advice.alike
        if best is None or not pairs or self.comparison.conversations == 1:
            return
        same = [name(row.label) for row, c in pairs if c.ties == c.conversations]
        if same:
            yield f"As expensive as {name(best.label)} in every conversation: {listed(same)}."
        names = [f"{name(row.label)} ({spread(c)})" for row, c in pairs if c.ties < c.conversations]
        if names:
            yield (
                f"The difference in cost to {name(best.label)} is not statistically significant "
                f"for {enumerated(names, _LISTED)}."
            )

    @property
    def than(self) -> str:
        """The name of the reference."""
        return name(self.advice.reference.label) if self.advice.reference else "the others"

    @property
    def candidates(self) -> list[Row]:
        """The strategies without bounds and ``as_recorded``."""
        return [row for row in self.comparison.strategies if not row.as_recorded]

    @property
    def strategy(self) -> str:
        """The word for a strategy: "usable strategy" if some are not usable."""
        every = all(row.usable for row in self.candidates)
        return "strategy" if every else "usable strategy"

    @property
    def usable(self) -> str:
        """How many strategies are usable."""
        return counted(len(self.advice.choices), self.strategy)

    @property
    def of(self) -> str:
        """Of how many usable strategies, if some are not usable."""
        return "" if self.strategy == "strategy" else f" of {self.usable}"

    @property
    def among(self) -> str:
        """Like ``of``, but never empty."""
        return self.of or f" {self.strategy}"

    @property
    def these(self) -> str:
        number = self.comparison.conversations
        return "this one conversation" if number == 1 else f"these {number:,} conversations"

    def offer(self, row: Row) -> str:
        """A strategy with its price and recall."""
        return f"{name(row.label)}: {offer(self.advice, row)}"

    def names(self, rows: list[Row]) -> str:
        return listed([name(row.label) for row in rows])

    def controls_only(self) -> str:
        sentence = "There is no strategy to choose: only controls and as_recorded are compared."
        keep_all = self.comparison.row("keep_all")
        if keep_all is None:
            return sentence
        if keep_all.usable:
            return f"{sentence} In {self.these}, keep_all stayed within the context window."
        return f"{sentence} In {self.these}, keep_all exceeded {window_on(keep_all)}."

    def none_usable(self) -> str:
        """If no candidate is usable: say so, and which one is nearest."""
        none = f"In {self.these}, no strategy kept every prompt valid and within the context window"
        every = (*self.comparison.rows, *self.comparison.bounds)
        did = [row for row in every if row.usable and row.name in WHOLE]
        if did:
            none += f" ({self.names(did)} did)"
        best = self.advice.nearest
        if best is None:
            return f"{none}."
        return f"{none}. The nearest is {self.offer(best)}. It exceeded {window_on(best)}."

    def closed_loop(self, choices: list[Row]) -> Iterator[str]:
        """Say whether cheap strategies stay cheap if missed facts have consequences."""
        known = [row for row in choices if row.figures["cost_with_recovery_usd"] is not None]
        if not known:
            return
        recovered = "cost_with_recovery_usd"
        best = min(known, key=lambda row: (row.value(recovered), row.label))
        still = any(row.usable and not row.choice for row in self.candidates)
        start = (
            "With recovery of missed facts (closed loop, simulated), the cheapest "
            f"{'of those that compact ' if still else ''}is"
        )
        offer = f"{name(best.label)} ({price(best, recovered)})"
        first = self.advice.advised or choices[0]
        if best is first:
            yield f"{start} the same: {offer}."
        else:
            now, was = first.value(recovered), first.value("cost_usd")
            share = now / was if was else 1.0
            yield (
                f"{start} {offer}; {name(first.label)} then costs "
                f"{price(first, recovered)}, {times(share)} without recovery."
            )

    def worse_than_random(self) -> Iterator[str]:
        chance = self.comparison.row("random_keep")
        if chance is None:
            return
        worse = [
            name(row.label)
            for row in self.candidates
            if row.value("cost_usd") > chance.value("cost_usd")
            and (row.recall or 0.0) < (chance.recall or 0.0)
        ]
        if worse:
            yield (f"More expensive than random_keep, and with a lower recall: {listed(worse)}.")
