"""Synthetic sessions that read the same content again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.story import MOST, Story
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, World
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.message import Message


class Texts:
    """Texts by name, as lines; a line that states a fact stays in while the fact is valid."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        self._facts: dict[str, PlannedFact] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __getitem__(self, name: str) -> list[str]:
        """Return the lines of a text for editing, without facts that are no longer valid."""
        text, facts = self._lines[name], self._facts
        text[:] = [line for line in text if line not in facts or facts[line].holds]
        return text

    def __setitem__(self, name: str, lines: list[str]) -> None:
        self._lines[name] = lines

    def states(self, line: str) -> bool:
        return line in self._facts

    def insert(self, name: str, fact: PlannedFact, line: str, behind: str) -> None:
        """Insert a line that states a fact before the line ``behind``, or at the end."""
        text = self._lines[name]
        text.insert(text.index(behind) if behind in text else len(text), line)
        self._facts[line] = fact


def beginning(text: list[str], characters: int) -> str:
    r"""Return the first lines of a text, as few as have this many characters.

    Examples
    --------
    >>> beginning(["one", "two", "three"], 5)
    'one\ntwo'
    """
    return "\n".join(text[: _count(text, characters)])


def end(text: list[str], characters: int) -> str:
    """Return the last lines of a text, as few as have this many characters.

    Examples
    --------
    >>> end(["one", "two", "three"], 5)
    'three'
    """
    count = _count(text[::-1], characters)
    return "\n".join(text[len(text) - count :])


def _count(lines: list[str], characters: int) -> int:
    for count, line in enumerate(lines, 1):
        characters -= len(line) + 1
        if characters <= 0:
            return count
    return len(lines)


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
        return _Rotation(self.domain, draft, open, self.working_set)
