"""A synthetic session whose files are all needed but do not fit into the window together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.story import MOST, Story
from compactlab.scenarios.engine.texts import Texts, beginning
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, World
from compactlab.sim.core.conversation import FactType

# A guess: the number of files in the working set, all of the same length.
FILES = 12


class _Rotation(World):
    """The world of an agent that reads files in rotation."""

    def __init__(self, domain: Domain, draft: Draft, open: Open, tokens: int) -> None:
        super().__init__(domain, draft, open)
        self._files = [self.writer.fill("rules/{n}_{h}.yaml") for _ in range(FILES)]
        self._length = tokens / FILES
        self._texts = Texts()
        self._read = 0

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        return call.name == "read" and not call.failed

    def show(self, call: ToolCall, fact: PlannedFact, line: str) -> str:
        """Insert the line into the file permanently; see :meth:`World.show`."""
        result, start = self.placed(call.result, line)
        behind = result[start + len(line) + 1 :].split("\n", 1)[0]
        self._texts.insert(str(call.arguments["path"]), fact, line, behind)
        return result

    def _call(self, name: str, left: float, fails: bool = True) -> ToolCall:
        if name != "read":
            return super()._call(name, left, fails)
        file = self._files[self._read % FILES]
        self._read += 1
        if file not in self._texts:
            length = self.draft.characters(self._length, name)
            text = self.writer.lines(self.domain.tools[name].lines, length)
            self._texts[file] = text.split("\n")
        shown = beginning(self._texts[file], self.draft.characters(left, name))
        return ToolCall(name, {"path": file}, shown)


@dataclass(frozen=True)
class WorkingSet(Story):
    """An agent makes twelve files consistent, and reads them in rotation.

    Each change of one of twelve files must be checked against the others, so the agent reads them
    in a cycle. If working set, summary and system prompt together exceed the trigger, each
    compaction drops files that are read again, which causes the next compaction: the death spiral
    of openai/codex issue 13279 (2026-03). At a window of 40,000 tokens, the default does not fit.
    If everything fits, the script still reads the files. Sizes, waits and shares are guesses
    (``profiles/rotation.toml``).

    Parameters
    ----------
    working_set
        Tokens (o200k) of the twelve files together.

    Examples
    --------
    >>> made = WorkingSet(tokens=60_000).conversation(seed=1)
    >>> reads = [p for m in made.messages for p in m.parts if p.name == "read"]
    >>> len({part.text for part in reads if part.type == "tool_call"})
    12
    """

    working_set: int = 36_000
    profile: str = "rotation"
    domain = DomainFile("working_set")
    results: ClassVar[tuple[float, float]] = (0.6, 0.98)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not FILES <= self.working_set <= MOST["tokens"]:
            raise ValueError(f"working_set must be from {FILES} to {MOST['tokens']:,} tokens")

    def told(self, draft: Draft, open: Open) -> World:
        """Make the world, with the size of the working set."""
        return _Rotation(self.domain, draft, open, self.working_set)
