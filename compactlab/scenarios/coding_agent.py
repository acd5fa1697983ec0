"""A made-up session of a coding agent, with sizes and pauses as recorded sessions have them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from compactlab.scenarios.coding_session import Session
from compactlab.sim.conversation import Conversation
from compactlab.sim.message import Part
from compactlab.sim.scenario import Scenario
from compactlab.sim.stream import stream

_NAME = "coding_agent"
# Tools and system prompt: of 202 first calls that were recorded, 125 found a median of 16.5 K
# Claude tokens in the cache, 1.32 to a token of o200k. How they divide into two is a guess.
_SYSTEM = {"system prompt": 2_500, "tools": 10_000}
# Calls per turn in the eight recorded sessions: median 4, mean 9.5, ninth decile 21.
_SIGMA = 1.29


@dataclass(frozen=True)
class CodingAgent(Scenario):
    """A person has an agent work on a repository: read, search, edit, test, commit.

    Sizes of results, texts and arguments, calls per turn and the time between messages are drawn
    from distributions measured on eight recorded Claude Code and pi sessions, 2026-11; the texts
    are made up. The repository is a model: what was edited reads edited later, and tasks, files
    and functions come back. The user lays down rules in the first two turns and takes a decision
    every third turn; they are the conversation's facts, and the calls that obey them are its
    needs. The system prompt and the tools are opaque parts of 12,500 tokens.

    Parameters
    ----------
    turns
        How often the user speaks, at least once. How long turns are is very uneven.
    tokens
        About how many tokens (o200k) all messages have together, thinking among them: within a
        quarter from 20,000 tokens on, within a twentieth from 100,000 on. A turn has at least one
        call, so that many turns may need more tokens than that.

    Examples
    --------
    >>> script = CodingAgent(turns=2, tokens=2_000).conversation(seed=7)
    >>> script.id, script.turns, [fact.key for fact in script.facts]
    ('coding_agent-7', 2, ['test snapshot', 'frozen file', 'commit trailer'])
    """

    turns: int = 20
    tokens: int = 120_000

    def __post_init__(self) -> None:
        if self.turns < 1 or self.tokens < 1:
            raise ValueError("turns and tokens must be at least 1")

    def conversation(self, seed: int) -> Conversation:
        """Make the conversation; see :meth:`compactlab.sim.scenario.Scenario.conversation`."""
        session = Session(seed, _NAME)
        rng = stream(seed, _NAME, "turns")
        ends = list(accumulate(rng.lognormvariate(0, _SIGMA) for _ in range(self.turns)))
        for end in ends:
            session.turn(self.tokens * end / ends[-1])
        draft = session.draft
        return Conversation(
            id=f"{_NAME}-{seed}",
            format=_NAME,
            events=tuple(draft.messages),
            system=tuple(
                Part("text", "", "opaque", (), name=name, size=size)
                for name, size in _SYSTEM.items()
            ),
            facts=tuple(draft.facts),
            needs=tuple(draft.needs),
            seed=seed,
        )
