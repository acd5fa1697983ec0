"""What became of the facts, call by call of the script: what all figures of memory count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import and_
from statistics import fmean

from compactlab.sim.blocks import blocks_of
from compactlab.sim.facts import Ledger, States
from compactlab.sim.facts.ledger import Moment
from compactlab.sim.message import Message
from compactlab.sim.metrics.ages import Age, Ages, ages, in_order
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.trace import Step

# Limits of ages: project's notes on metrics, section 4, age curve and IA@k. Rounds: the first six.
TOKENS = (1_000, 4_000, 16_000, 64_000)
TURNS = (1, 2, 5, 10, 20, 100)
ROUNDS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Course:
    """The calls of the script and the states of facts in their prompts; sets of facts are bits.

    What an agent does beside the script, to get back what it has forgotten, is not among them.

    Parameters
    ----------
    ledger
        The facts.
    steps
        The calls.
    states
        At each call, the state of every fact.
    memory
        At each call, the facts that the agent's memory holds.
    rounds_made
        At each call, the compactions since the call before, its own among them.
    tokenizer
        Of the model of the first call: by it the log is measured.
    """

    ledger: Ledger
    steps: Sequence[Step]
    states: Sequence[States]
    memory: Sequence[int]
    rounds_made: Sequence[int]
    tokenizer: Tokenizer

    @cached_property
    def moments(self) -> list[Moment]:
        """What the script says of the facts at each call."""
        moments = self.ledger.moments
        return [moments[step.answer] for step in self.steps]

    @cached_property
    def due(self) -> list[int]:
        """The facts that should be known: stated, and not superseded, deleted or over."""
        return [moment.due for moment in self.moments]

    @cached_property
    def known(self) -> list[int]:
        """Those due facts of which it can be told whether they are there."""
        return [
            moment.due & ~states.unknown
            for moment, states in zip(self.moments, self.states, strict=True)
        ]

    @cached_property
    def kept(self) -> list[int]:
        """The facts that are verbatim or intact, due or not."""
        return [states.kept for states in self.states]

    @cached_property
    def within_reach(self) -> list[int]:
        """Those, and the retrievable ones."""
        return [states.kept | states.retrievable for states in self.states]

    @cached_property
    def needed(self) -> list[int]:
        """The facts that each call uses, of which it can be told whether they are there."""
        return [
            moment.needed & ~states.unknown
            for moment, states in zip(self.moments, self.states, strict=True)
        ]

    def amnesia(self, held: Sequence[int], due: Sequence[int]) -> float | None:
        """Mean over types of the share of due facts, all calls together, that are not held."""
        whole, found = self._joined(due), self._joined(map(and_, held, due))
        counts = (((whole & kind).bit_count(), (found & kind).bit_count()) for kind in self._kinds)
        lacks = [(count - kept) / count for count, kept in counts if count]
        return fmean(lacks) if lacks else None

    def _joined(self, sets: Iterable[int]) -> int:
        """The sets of facts of all calls, one behind the other, as one: to be counted at once."""
        size = len(self.ledger.facts) // 8 + 1
        return int.from_bytes(b"".join([each.to_bytes(size, "little") for each in sets]), "little")

    @cached_property
    def _kinds(self) -> list[int]:
        """The facts of each type, for all calls."""
        return [self._joined([kind] * len(self.steps)) for kind in self.ledger.of_kind.values()]

    @cached_property
    def tokens(self) -> Ages:
        """Ages in tokens of the log."""
        found = _latest.get(self.ledger, self.tokenizer)
        return Ages(TOKENS, in_order(found, self._answers))

    @cached_property
    def turns(self) -> Ages:
        """Ages in turns of the user that began since."""
        found = _latest.get(self.ledger, None)
        return Ages(TURNS, in_order(found, self._answers))

    @cached_property
    def rounds(self) -> Ages:
        """Ages in compactions."""
        made = dict(zip(self._answers, self.rounds_made, strict=True))
        return Ages(ROUNDS, in_order(ages(self.ledger, ROUNDS, asked=made), self._answers))

    @property
    def _answers(self) -> list[str]:
        return [step.answer for step in self.steps]


@shared
def course(reading: Reading) -> Course:
    """What became of the facts in a replay."""
    steps, kept = reading.trace.steps, []
    rounds_made, waiting = [], 0
    for place, step in enumerate(steps):
        waiting += step.compaction
        if not step.rework:
            kept.append(place)
            rounds_made.append(waiting)
            waiting = 0
    return Course(
        reading.ledger,
        [steps[place] for place in kept],
        [reading.states[place] for place in kept],
        [reading.memory[place] for place in kept],
        rounds_made,
        reading.model(steps[0].model).tokenizer if steps else Tokenizer(),
    )


def share(some: Iterable[int], whole: Sequence[int]) -> float | None:
    """How much of sets of facts lies in others, all calls together; None if they are empty."""
    count = sum(map(int.bit_count, whole))
    return sum(map(int.bit_count, map(and_, some, whole))) / count if count else None


def lack(some: Iterable[int], whole: Sequence[int]) -> float | None:
    """How much of sets of facts does not lie in others; None if they are empty."""
    count = sum(map(int.bit_count, whole))
    found = sum(map(int.bit_count, map(and_, some, whole)))
    return (count - found) / count if count else None


class _Latest:
    """The ages that depend on a script alone, for all its replays; those of the last one asked."""

    def __init__(self) -> None:
        self._digest = ""
        self._found: dict[Tokenizer | None, dict[str, Age]] = {}

    def get(self, ledger: Ledger, tokenizer: Tokenizer | None) -> dict[str, Age]:
        """Ages by the tokens of a tokenizer; in turns, without one."""
        digest = ledger.conversation.digest
        if digest != self._digest:
            self._digest, self._found = digest, {}
        found = self._found.get(tokenizer)
        if found is None:
            if tokenizer is None:
                found = ages(ledger, TURNS, _turns)
            else:
                found = ages(ledger, TOKENS, blocks_of(tokenizer).weight)
            self._found[tokenizer] = found
        return found


_latest = _Latest()


def _turns(message: Message) -> int:
    return message.starts_turn
