"""Recall by lag: of facts last stated long ago, how many a prompt still holds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import walked
from compactlab.sim.core.latest import keep_latest
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.metrics.fact_timeline import fact_timeline
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RunData, shared

# Lags are counted in these steps: tokens from which on each step goes.
LAGS = (0, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
# From these on there are figures of a run; one of them is the headline of a comparison.
LONG = LAGS[1:9]

Steps = Mapping[int, int]
"""Of a call: the facts that it needs, as bits, by the step of their lag."""


@dataclass
class _Path:
    """The way to here, which a rewind goes back on."""

    now: int = 0  # tokens of the log
    stated: dict[int, int] = field(default_factory=dict)  # by fact: when it was stated last

    def copy(self) -> _Path:
        return _Path(self.now, dict(self.stated))


@keep_latest
def lags(ledger: Ledger, tokenizer: Tokenizer) -> dict[str, Steps]:
    """Tell the lag of each need of a script, by the id of the answer that needs it.

    The lag is the number of tokens of the log between the message that stated the fact last and
    the call. It depends on the script alone, so all strategies meet the same needs at the same
    lags. A rewind turns it back as well.
    """
    tokens = blocks_of(tokenizer).weight
    by_answer: dict[str, Steps] = {}
    for path, message in walked(ledger.conversation, _Path()):
        if message.call is not None:
            by_answer[message.id] = dict(_steps(path, ledger.moments[message.id].needed))
        path.now += tokens(message)
        for number, _, _ in ledger.origins.get(message.id, ()):
            path.stated[number] = path.now
    return by_answer


def _steps(path: _Path, needed: int) -> Iterator[tuple[int, int]]:
    steps: dict[int, int] = {}
    for number in numbers(needed):
        step = bisect_right(LAGS, path.now - path.stated[number]) - 1
        steps[step] = steps.get(step, 0) | 1 << number
    yield from sorted(steps.items())


def lag_of(ledger: Ledger, tokenizer: Tokenizer, answer: str, fact: int) -> int | None:
    """The lag of a need, as the lower end of its step; None if the call does not need the fact.

    Parameters
    ----------
    ledger
        Of the script.
    tokenizer
        Of the model of the first call.
    answer
        Id of the answer that needs it.
    fact
        Number of the fact in the ledger.
    """
    steps = lags(ledger, tokenizer).get(answer, {})
    return next((LAGS[index] for index, facts in steps.items() if facts >> fact & 1), None)


@dataclass(frozen=True)
class Recall:
    """Needs by lag, and how many of them the prompts met; a figure for each of :data:`LAGS`."""

    needs: Sequence[int]
    met: Sequence[int]

    def beyond(self, lag: int) -> tuple[int, int]:
        """The needs of this lag or more, and how many of them were met."""
        index = LAGS.index(lag)
        return sum(self.needs[index:]), sum(self.met[index:])


@shared
def recall(data: RunData) -> Recall:
    """Count a replay's needs by lag, without those whose fact's state is unknown."""
    timeline = fact_timeline(data)
    by_answer = lags(timeline.ledger, timeline.tokenizer)
    needs, met = [0] * len(LAGS), [0] * len(LAGS)
    for step, states in zip(timeline.steps, timeline.states, strict=True):
        for index, facts in by_answer[step.answer].items():
            known = facts & ~states.unknown if states.unknown else facts
            needs[index] += known.bit_count()
            met[index] += (known & states.kept).bit_count()
    return Recall(needs, met)


@metric(
    "share",
    "higher",
    "sum of needs met over sum of needs, of all calls",
    "own, docs/metrics.md#recall-by-distance",
    members=[
        Member(
            f"recall_{lag // 1000}k",
            lag,
            f"{lag:,}",
            label=f"recall \N{GREATER-THAN OR EQUAL TO}{lag // 1000}k",
        )
        for lag in LONG
    ],
)
def _recall(data: RunData, lag: int) -> float | None:
    """Share of the needs at a distance of {} tokens or more that the prompt meets.

    A need is a fact and a call of the script that uses it, while the fact is due. Its lag is the
    number of tokens of the log between the message that stated the fact last and the call, as the
    model of the first call counts them. It depends on the script alone, so all strategies meet the
    same needs at the same lags. A need is met if the fact is verbatim or intact in the prompt.
    Strategies keep the last messages word for word, so needs at a short lag are met by all of them,
    whatever their summaries say.
    """
    needs, met = recall(data).beyond(lag)
    return met / needs if needs else None
