"""A synthetic session that repeats the same, or nearly the same, content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.texts import Texts, beginning, end
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, World
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.message import Message

# All guesses: the numbers of files and logs, and how often one is unchanged at the next reading;
# how often the user repeats a request, repeats the last message first, pastes a log, and pastes the
# same log.
_FILES, _LOGS, _UNCHANGED = 5, 2, 0.3
_SAME, _ONCE_MORE, _PASTES, _SAME_PASTE = 0.5, 0.5, 0.2, 0.6
_GROWS = 6  # most lines that a log grows


class _Watch(World):
    """Few files and logs, which are read repeatedly and hardly change."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        # The names have their own stream, because other texts may use the same words.
        fill = self.writer.fill
        self._files = [fill("src/{n}_{h}.ini") for _ in range(_FILES)]
        self._logs = [fill("logs/{n}-{h}.log") for _ in range(_LOGS)]
        self._texts = Texts()
        self._asked: list[str] = []
        self._pasted: list[str] = []

    def before(self, turn: int) -> None:
        """Let the user repeat the last message verbatim; see :meth:`World.before`."""
        messages = [e for e in self.draft.events if isinstance(e, Message) and e.starts_turn]
        # A message with a fact might repeat one that is no longer valid.
        if messages and messages[-1].text in self._asked and self.rng.random() < _ONCE_MORE:
            self.draft.again(messages[-1])
            self.draft.say("assistant", [("text", self.prose(self.draft.length("text", 300)))])

    def request(self, left: float) -> str:
        """Write a request, often in the same words; see :meth:`World.request`."""
        self.writer.refocus()
        if self._asked and self.rng.random() < _SAME:
            text = self.rng.choice(self._asked[-3:])
        else:
            text = self.writer.one(self.domain.requests)
        self._asked.append(text)
        if self.rng.random() < _PASTES:
            if not self._pasted or self.rng.random() > _SAME_PASTE:
                length = self.draft.length("paste", left / 4)
                self._pasted.append(self.writer.lines(self.domain.tools["tail"].lines, length))
            text += "\n" + self._pasted[-1]
        return text

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        return call.name in ("read", "tail") and not call.failed

    def show(self, call: ToolCall, fact: PlannedFact, line: str) -> str:
        """Insert the line into the file or log permanently; see :meth:`World.show`."""
        result, start = self.placed(call.result, line)
        behind = result[start + len(line) + 1 :].split("\n", 1)[0]
        self._texts.insert(self._name(call), fact, line, behind)
        return result

    def _call(self, name: str, left: float, fails: bool = True) -> ToolCall:
        if name in ("run", "status"):
            return super()._call(name, left, fails)
        if fails and self.rng.random() < self.shares["error"]:
            where = self.rng.choice(self._files if name == "read" else self._logs)
            return ToolCall(name, self._where(name, where), "no answer", failed=True)
        return self._look(name, left)

    def _look(self, tool: str, left: float) -> ToolCall:
        """Read a file or log again, without facts that are no longer valid."""
        name = self.rng.choice(self._files if tool == "read" else self._logs)
        if name not in self._texts:
            length = self.draft.length(tool, 4_000)
            self._texts[name] = self.writer.lines(self.domain.tools[tool].lines, length).split("\n")
        elif self.rng.random() > _UNCHANGED:
            self._change(tool, self._texts[name])
        cut = end if tool == "tail" else beginning
        shown = cut(self._texts[name], self.draft.characters(left, tool))
        return ToolCall(tool, self._where(tool, name), shown)

    def _change(self, tool: str, text: list[str]) -> None:
        """Change one line of a file, or append to a log."""
        lines = self.domain.tools[tool].lines
        if tool == "tail":
            text += [self.writer.one(lines) for _ in range(self.rng.randint(1, _GROWS))]
        else:
            at = self.rng.randrange(len(text))
            if not self._texts.states(text[at]):
                text[at] = self.writer.one(lines)

    @staticmethod
    def _where(tool: str, name: str) -> dict[str, str]:
        return {"path" if tool == "read" else "log": name}

    @staticmethod
    def _name(call: ToolCall) -> str:
        return str(next(iter(call.arguments.values())))


@dataclass(frozen=True)
class Repetitions(Story):
    """A user and an agent watch a build, and repeatedly ask, paste and read the same content.

    Half of the requests repeat one of the last three verbatim. Five files and two logs are read
    many times: seven times in ten, one line of a file differs, or a log has a few more lines. A
    fact in one of them is stated by each reading, until it is replaced. Six in ten of the facts
    that the user might repeat are stated again in other words; any one statement is enough. Six in
    ten facts have a near-duplicate, which is no repetition. Sizes, waits and shares are guesses
    (``profiles/repeats.toml``).

    Examples
    --------
    >>> made = Repetitions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, max(len(fact.origin) for fact in made.facts)
    ('repetitions-1', 9, 6)
    """

    profile: str = "repeats"
    domain = DomainFile("repetitions")
    world: ClassVar[type[World]] = _Watch
