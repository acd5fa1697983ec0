"""Recall by distance: the share of needed facts in prompts, by the age of their statements."""

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

# Lower ends of the steps of distance, in tokens.
LAGS = (0, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
# Distances that are figures of a run; one of them is the headline of a comparison.
LONG = LAGS[1:9]

Steps = Mapping[int, int]
"""Of a call: the facts that it needs, as bits, by the step of their lag."""


@dataclass
class _Path:
    """The path to a call; a rewind shortens it."""

    now: int = 0  # tokens of the log
    stated: dict[int, int] = field(default_factory=dict)  # by fact: its last statement

    def copy(self) -> _Path:
        return _Path(self.now, dict(self.stated))


@keep_latest
def lags(ledger: Ledger, tokenizer: Tokenizer) -> dict[str, Steps]:
    """Compute the distance of each need of a script, by the id of the answer that needs it.

    The distance is the number of tokens of the log between the last message that stated the fact
    and the call. It depends only on the script, so it is the same for all strategies. A rewind
    reverts it.
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
    """The lower end of the step of a need's distance; None if the call does not need the fact.

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
    """The numbers of needs and of met needs by distance, one for each of :data:`LAGS`."""

    needs: Sequence[int]
    met: Sequence[int]

    def beyond(self, lag: int) -> tuple[int, int]:
        """The numbers of needs, and of met needs, at this distance or more."""
        index = LAGS.index(lag)
        return sum(self.needs[index:]), sum(self.met[index:])


@shared
def recall(data: RunData) -> Recall:
    """Count a replay's needs by distance, without those whose fact has an unknown state."""
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

    A need is a fact and a call of the script that uses it, while the fact is due. Its distance is
    the number of tokens of the log between the last message that stated the fact and the call,
    counted by the first call's model. It depends only on the script, so it is the same for all
    strategies. A need is met if the fact is verbatim or intact in the prompt. Nearly all strategies
    keep the last messages verbatim, so they meet needs at short distances without any summary.
    """
    needs, met = recall(data).beyond(lag)
    return met / needs if needs else None
