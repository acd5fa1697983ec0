"""A synthetic session flooded by its tools: logs, dumps and query results of 150,000 characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import ToolCall, World

# The longest result in characters: above OpenClaw's guard (cuts at 120,000), its preview (8,000)
# and Gemini CLI's threshold (40,000); see offload_outputs.py and mechanisms/history_split.py for
# sources. The share of results as long as the turn allows, and the characters per fact, are
# guesses.
LONGEST, _UNCUT, _APART = 150_000, 0.5, 9_000
_LINES = 2_000  # room for the lines of facts


class _Flood(World):
    """Results may be as long as the turn allows, and then state several facts."""

    def result(self, name: str, left: float) -> str:
        uncut = self.domain.tools[name].shows and self.rng.random() < _UNCUT
        text = self._long(name, left) if uncut else super().result(name, left)
        most = LONGEST - _LINES
        return text if len(text) <= most else text[: text.rindex("\n", 0, most)]

    def _long(self, name: str, left: float) -> str:
        length = min(self.draft.characters(left, name), LONGEST)
        return self.writer.lines(self.domain.tools[name].lines, length)

    def room(self, call: ToolCall) -> tuple[int, float]:
        """A long result may state all facts that are due by its end; see :meth:`World.room`."""
        return 1 + len(call.result) // _APART, len(call.result) / 4


@dataclass(frozen=True)
class ToolFlood(Story):
    """An agent searches logs, dumps and query results of enormous length for an on-call engineer.

    Nearly all tokens are tool results, and four in ten facts are only in them, with the result as
    their handle. Half of the results are as long as the turn allows, up to 150,000 characters (some
    38,000 tokens). There are few and very uneven turns.

    100,000 tokens have at least one result that Gemini CLI may cut (over 40,000 characters), and
    half of such sessions have one over the 120,000 of OpenClaw's guard; 20,000 tokens only have
    some above OpenClaw's preview of 8,000. Sizes, waits and shares are guesses
    (``profiles/flood.toml``).

    Examples
    --------
    >>> made = ToolFlood().conversation(seed=1)
    >>> made.id, made.turns
    ('tool_flood-1', 8)
    """

    profile: str = "flood"
    domain = DomainFile("tool_flood")
    world: ClassVar[type[World]] = _Flood
    results: ClassVar[tuple[float, float]] = (0.7, 0.99)
