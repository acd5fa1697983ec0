"""The raw record of one replay, from which figures are computed later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.cache.prompt import Place
from compactlab.sim.core.message import Message, Part, Usage
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages
from compactlab.sim.models.model import Catalogue, built_in


class SideCall(msgspec.Struct, frozen=True):
    """A request that the strategy itself caused."""

    purpose: str  # ``summary``, or a strategy's name of an extra turn: ``flush``
    model: str
    time: float  # seconds since 1970
    usage: Usage
    causes: dict[str, int]
    cycle: int = 0  # number of earlier compactions of the session
    heard: int = 0  # tokens of its answer that the user sees
    place: Place = Place()
    faults: tuple[str, ...] = ()  # faults of a summary; names of FAULTS
    waits: bool = True  # whether the agent waited for it


class Outside(msgspec.Struct, frozen=True):
    """Content that was stored outside the prompt since the previous step."""

    notes: tuple[Remembered, ...] = ()  # new notes in the agent's memory
    stored: tuple[tuple[str, str], ...] = ()  # offloaded content by handle
    broken: tuple[str, ...] = ()  # handles whose content is gone, or not what was offloaded


NOWHERE = Outside()


class Step(msgspec.Struct, frozen=True):
    """One call of a replay.

    Parameters
    ----------
    answer
        Id of the assistant message that answers it: of the script, or created in the replay.
    model
        Name of the model.
    time
        The start of the request, in seconds since 1970.
    system
        The system blocks of the prompt.
    shared
        Number of leading messages that the prompt shares with the previous prompt.
    added
        The other messages of the prompt.
    log
        All messages before this call, from the script or created in the replay.
    usage
        Tokens by billing class.
    causes
        Cache-miss tokens by cause.
    rewrite
        Whether the strategy changed the prompt other than by appending the new messages.
    compaction
        Whether it removed or shortened content that had been sent.
    overflow
        Whether the prompt is larger than the window.
    side
        The side calls since the previous step.
    cycle
        Number of earlier compactions of the session.
    place
        Its place among all requests.
    born
        New messages in the log since the previous step that are not in the script.
    outside
        Content stored outside the prompt since the previous step.
    recovery
        The recovery action of a call in the closed loop, see :mod:`compactlab.sim.replay.recovery`;
        "" for a call of the script.
    unmet
        Ids of the facts that it needed and did not have.
    misjudged
        For each compaction since the previous step that an estimate started: the estimated tokens
        of the context, less the actual ones.
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
    misjudged: tuple[float, ...] = ()


@dataclass(frozen=True)
class Header:
    """The identity of a trace."""

    conversation: str  # id
    digest: str
    strategy: str  # spec
    summarizer: str
    model: str
    window: int  # 0 if the run was not narrowed
    seed: int
    flushes: bool = False  # whether it promises a memory flush before each compaction


@dataclass
class Trace:
    """A header and the steps of one replay.

    Parameters
    ----------
    header
        Its identity.
    steps
        Its calls in order. A step only holds the part of its prompt that the previous one lacks, so
        a trace grows with the new content.
    catalogue
        The models of its steps; with other prices, the same steps have other costs.
    """

    header: Header
    steps: list[Step] = field(default_factory=list)
    catalogue: Catalogue = field(default_factory=built_in, repr=False)

    def prompts(self) -> Iterator[Messages]:
        """Yield the messages of every prompt, rebuilt step by step."""
        prompt = Messages()
        for step in self.steps:
            if step.shared == len(prompt):
                prompt = prompt.append(*step.added)
            else:
                prompt = prompt[: step.shared].append(*step.added) if step.shared else step.added
            yield prompt
