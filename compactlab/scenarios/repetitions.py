"""A synthetic session that says and shows the same things again and again, or nearly the same."""

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

# All guesses: how many files and logs there are, and how often one is as it was when it is looked
# at again; how often the user asks the same as before, says the last message once more before
# anything else, pastes a log, and the same one.
_FILES, _LOGS, _UNCHANGED = 5, 2, 0.3
_SAME, _ONCE_MORE, _PASTES, _SAME_PASTE = 0.5, 0.5, 0.2, 0.6
_GROWS = 6  # lines by which a log has grown at most


class _Watch(World):
    """Few files and logs, which are read again and again and hardly change."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        # Names are drawn apart: words of one text may be used by others.
        fill = self.writer.fill
        self._files = [fill("src/{n}_{h}.ini") for _ in range(_FILES)]
        self._logs = [fill("logs/{n}-{h}.log") for _ in range(_LOGS)]
        self._texts = Texts()
        self._asked: list[str] = []
        self._pasted: list[str] = []

    def before(self, turn: int) -> None:
        """The user says the last message once more, word by word; see :meth:`World.before`."""
        messages = [e for e in self.draft.events if isinstance(e, Message) and e.starts_turn]
        # One that states a fact might say again what does not hold any more.
        if messages and messages[-1].text in self._asked and self.rng.random() < _ONCE_MORE:
            self.draft.again(messages[-1])
            self.draft.say("assistant", [("text", self.prose(self.draft.length("text", 300)))])

    def request(self, left: float) -> str:
        """What the user asks, often in the same words; see :meth:`World.request`."""
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
        """Write the line into the file or log, where it stays; see :meth:`World.show`."""
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
        """Look at a file or log once more; what does not hold any more stands there no more."""
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
        """Change one line of a file; let a log grow."""
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
    """A user watches a build with an agent, and repeatedly asks, pastes and reads the same content.

    Half of the requests repeat one of the last three verbatim, and half of the messages without
    other content are sent twice. There are five files and two logs, each read many times: seven
    times in ten, one line of a file differs, or a log has a few more lines. A fact in one of them
    appears at each later reading and is stated by each, until it is replaced, unless the text is
    cut before it. Of the facts that the user stated and might repeat, six in ten are stated again
    in other words: such facts have several origins, any one of which is enough. And six in ten
    facts have a near-duplicate, which is not a repetition.

    Strategies that remove duplicates save much here, and must not remove content that differs in
    one line. Sizes, waits and shares are guesses (see ``profiles/repeats.toml``), the texts are
    synthetic.

    Examples
    --------
    >>> made = Repetitions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, max(len(fact.origin) for fact in made.facts)
    ('repetitions-1', 9, 6)
    """

    profile: str = "repeats"
    domain = DomainFile("repetitions")
    world: ClassVar[type[World]] = _Watch
