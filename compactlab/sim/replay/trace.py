"""Everything that happened in one replay, raw. Figures are made of it later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.cache.lineage import Place
from compactlab.sim.core.message import Message, Part, Usage
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages
from compactlab.sim.models.model import Catalogue, built_in


class SideCall(msgspec.Struct, frozen=True):
    """A request that the strategy itself caused."""

    purpose: str  # ``summary``, or what the strategy calls an extra turn: ``flush``
    model: str
    time: float  # seconds since 1970
    usage: Usage
    causes: dict[str, int]
    cycle: int = 0  # how often the session had been compacted before it
    heard: int = 0  # tokens of its answer that the user was shown
    place: Place = Place()
    faults: tuple[str, ...] = ()  # of a summary: what tells that it is none; names of FAULTS
    waits: bool = True  # whether the agent waited for it


class Outside(msgspec.Struct, frozen=True):
    """What was put somewhere else than into the prompt since the step before."""

    notes: tuple[Remembered, ...] = ()  # what the agent has put down in its memory
    stored: tuple[tuple[str, str], ...] = ()  # what can be fetched, by handle


NOWHERE = Outside()


class Step(msgspec.Struct, frozen=True):
    """One call of a replay.

    Parameters
    ----------
    answer
        Id of the assistant message that answers it: the script's, or one born in the replay.
    model
        Name of the model.
    time
        When the request started, in seconds since 1970.
    system
        The system blocks of the prompt.
    shared
        How many leading messages the prompt shares with the prompt before.
    added
        The messages of the prompt after those.
    log
        All that had been said before this call, script and born messages alike.
    usage
        Tokens by billing class.
    causes
        Cache-miss tokens by cause.
    rewrite
        Whether the prompt is not the last prompt plus what is new, because of the strategy.
    compaction
        Whether content of a message that had been sent is gone or shortened by it.
    overflow
        Whether the prompt is larger than the window.
    side
        The side calls since the step before.
    cycle
        How often the session had been compacted before it.
    place
        Where it stands among all requests.
    born
        Messages that came to the log since the step before and are not in the script.
    outside
        What was put somewhere else since the step before.
    recovery
        Why it is not a call of the script, in the closed loop, see
        :mod:`compactlab.sim.replay.recovery`; "" for a call of the script.
    unmet
        Ids of the facts that it needed, and that the agent had to do without.
    """

    answer: str
    model: str
    time: float
    system: tuple[Part, ...]
    shared: int
    added: Messages
    log: Messages
    usage: Usage
    causes: dict[str, int]
    rewrite: bool = False
    compaction: bool = False
    overflow: bool = False
    side: tuple[SideCall, ...] = ()
    cycle: int = 0
    place: Place = Place()
    created: tuple[Message, ...] = ()
    outside: Outside = NOWHERE
    recovery: str = ""
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """What a trace is of."""

    conversation: str  # id
    digest: str
    strategy: str  # spec
    summarizer: str
    model: str
    window: int  # 0 if the run was not narrowed
    seed: int
    flushes: bool = False  # whether it promises a flush of memory before each compaction


@dataclass
class Trace:
    """A header and the steps of one replay.

    Parameters
    ----------
    header
        What it is of.
    steps
        Its calls in order. Of each prompt a step holds only what it does not share with the one
        before, so a trace grows with what happened.
    catalogue
        The models that its steps name; by other figures, the same steps cost something else.
    """

    header: Header
    steps: list[Step] = field(default_factory=list)
    catalogue: Catalogue = field(default_factory=built_in, repr=False)

    def prompts(self) -> Iterator[Messages]:
        """The messages of every prompt, put together again step by step."""
        prompt = Messages()
        for step in self.steps:
            if step.shared == len(prompt):
                prompt = prompt.append(*step.added)
            else:
                prompt = prompt[: step.shared].append(*step.added) if step.shared else step.added
            yield prompt
