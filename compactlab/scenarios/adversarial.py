"""A synthetic session full of content that can break or mislead a summariser.

The texts of strangers in its pages and mails are our own; none is copied from a real attack or from
the prompt of a real system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import WORDS, Domain, DomainFile, find_domain, value
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, Used, World

# All guesses: the share of results with hostile lines; of these, the share of lines about a fact;
# of these, the share of poisons rather than evictions; the share of one-word results; the share of
# turns before which something is broken; and the tokens of a turn from which on the user always
# pastes a text that fills most of it.
_HOSTILE, _AIMED, _POISON, _ONE_WORD, _BROKEN = 0.5, 0.6, 0.4, 0.12, 0.35
_SURELY, _FILLS = 10_000, 0.6


class _Odd(Draft):
    """Messages and calls have unusual names."""

    def message_id(self, number: int) -> str:
        return _named("message_ids", number, 7)

    def call_id(self, number: int) -> str:
        return _named("call_ids", number, 4)


def _named(what: str, number: int, step: int) -> str:
    templates = find_domain("adversarial").texts[what]
    return templates[number * step % len(templates)].format(n=number)


class _Hostile(World):
    """Results and logs are hostile; now and then something is broken."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._attack = open("attack")
        self._known: list[PlannedFact] = []
        self._broken = 0

    def before(self, turn: int) -> None:
        """Break something, each kind in turn; see :meth:`World.before`."""
        if turn and (turn == 1 or self._attack.random() < _BROKEN):
            kinds = (self._orphan, self._unanswered, self._twice, self._empty)
            kinds[self._broken % len(kinds)]()
            self._broken += 1

    def request(self, left: float) -> str:
        asked = super().request(left)
        if self._attack.random() * _SURELY >= left:
            return asked
        length = self.draft.characters(_FILLS * left, "paste")
        lines = self.writer.lines((*self.domain.sentences, "{x}"), length)
        if self._attack.getrandbits(1):
            lines = "".join(lines.split())
        return f"{asked}\n{lines[:length]}"

    def use(self, fact: PlannedFact, left: float) -> Used:
        """Use a fact, which strangers then know; see :meth:`World.use`."""
        self._known.append(fact)
        return super().use(fact, left)

    def show(self, call: ToolCall, fact: PlannedFact, line: str) -> str:
        """Put a line into a result, among hostile ones; see :meth:`World.show`."""
        self._known.append(fact)
        return super().show(call, fact, line)

    def result(self, name: str, left: float) -> str:
        text = super().result(name, left)
        if not self.domain.tools[name].shows:
            return text
        if self._attack.random() < _ONE_WORD:
            return "".join(text.split())
        if self._attack.random() < _HOSTILE:
            text = self.placed(text, self._line())[0]
        return text

    def _line(self) -> str:
        """Write an order, a poison or a look-alike."""
        rng = self._attack
        if not self._known or rng.random() >= _AIMED:
            return rng.choice(self.domain.words["x"])
        fact = rng.choice(self._known)
        templates = self.domain.texts["poisons" if rng.random() < _POISON else "evictions"]
        things = self.domain.things[fact.kind]
        wrong = value(things[fact.thing], rng, rng.choice(WORDS))
        return rng.choice(templates).format(key=fact.key, wrong=wrong)

    def _orphan(self) -> None:
        """Add the result of a call that nobody made."""
        self.draft.result(self._call("fetch", 200, fails=False), f"nobody-{self._broken}")

    def _unanswered(self) -> None:
        """Add a call that has no result, with an unfinished thought."""
        self.draft.call([("text", "I look at")], [self._call("case", 200, fails=False)])

    def _twice(self) -> None:
        """Add a call with two results."""
        call = self._call("fetch", 200, fails=False)
        _, (call_id,) = self.draft.call([], [call])
        self.draft.result(call, call_id)
        self.draft.result(call._replace(result=self._line()), call_id)

    def _empty(self) -> None:
        """Add an empty message of a person, an empty call, an empty result and an empty answer."""
        self.draft.say("user", [("text", "")])
        call = ToolCall("list", {}, "")
        _, (call_id,) = self.draft.call([("text", "")], [call])
        self.draft.result(call, call_id)
        self.draft.say("assistant", [("text", "")])


@dataclass(frozen=True)
class Adversarial(Story):
    """An agent reads pages and mails from strangers for a user: a suite of attacks.

    Half of the long results have a hostile line: an order to the summariser to omit a fact (an
    eviction), a wrong value for one (a poison), or text that looks like a summary request, the end
    of a summary, or the stub of a cut result. Texts mix scripts and marks of direction; some are
    one word of thousands of characters. The log has results without calls, calls with no or two
    results, empty texts and unusual ids. Only the user, the agent and its own tools state facts.
    Every strategy must survive it. Sizes, waits and shares are guesses (``profiles/hostile.toml``).

    Examples
    --------
    >>> made = Adversarial(tokens=20_000).conversation(seed=1)
    >>> made.id, made.messages[1].id
    ('adversarial-1', 'born-2-reply')
    """

    profile: str = "hostile"
    domain = DomainFile("adversarial")
    world: ClassVar[type[World]] = _Hostile
    draft: ClassVar[type[Draft]] = _Odd
    results: ClassVar[tuple[float, float]] = (0.25, 0.85)
    faults: ClassVar[frozenset[str]] = frozenset(
        ("orphaned result", "unanswered call", "answered twice", "empty text")
    )
