"""The battery: replays drawn conversations, and holds every answer against the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from compactlab.sim.blocks import forget_blocks
from compactlab.sim.contract.draw import draw
from compactlab.sim.contract.rules import RULES
from compactlab.sim.contract.watched import Asked, Watched
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import UsageError
from compactlab.sim.memory import Remembered
from compactlab.sim.message import Message, Part, Source, verbatim
from compactlab.sim.model import Catalogue, built_in
from compactlab.sim.recording import Unseen
from compactlab.sim.replay import replay
from compactlab.sim.spec import build, parse_spec
from compactlab.sim.strategy import Pipeline, Strategy
from compactlab.sim.summarize import Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.trace import Step

MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Violation:
    """A rule that a strategy breaks.

    Parameters
    ----------
    rule
        Its name: a key of ``RULES``, or ``survives``, ``repeatable``, ``future``, ``spec``,
        ``breaks``.
    strategy
        The spec of the part that breaks it.
    what
        How, the first time.
    conversation
        Number of the drawn conversation; -1 if it takes none.
    times
        How often.
    """

    rule: str
    strategy: str
    what: str
    conversation: int = -1
    times: int = 1

    def __str__(self) -> str:
        where = f", first in conversation {self.conversation}" if self.conversation >= 0 else ""
        return f"{self.strategy} breaks {self.rule!r} {self.times} times{where}: {self.what}"


def check_strategy(
    strategy: Strategy, conversations: int = 50, *, seed: int = 0
) -> list[Violation]:
    """Hold a strategy against the contract, over conversations that are drawn for the purpose.

    Among them are empty ones, rewinds, results without calls, and single messages larger than the
    window. What a strategy declares in ``breaks`` is not reported; but it must really occur. Only
    what a strategy does can be judged: windows are of 8,000 to 200,000 tokens, so give it a size
    in which it acts.

    Parameters
    ----------
    strategy
        The strategy, or a pipeline of several.
    conversations
        How many are drawn. The first dozen are extremes.
    seed
        Root of the draws.

    Returns
    -------
    list of Violation
        One for each rule that a part breaks; empty if it keeps to all of them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class LastMessage(Strategy):
    ...     def compact(self, view, host):
    ...         return view.with_messages(view.messages[-1:])
    >>> [broken.rule for broken in check_strategy(LastMessage())]
    ['last user message', 'pairs']
    """
    battery = _Battery(strategy)
    battery.check_specs()
    for number in range(conversations):
        battery.number = number
        battery.check_conversation(*draw(number, seed))
        forget_blocks()  # else thousands of conversations would stay in memory
    battery.check_declared()
    return sorted(battery.found.values(), key=lambda each: (each.strategy, each.rule))


@dataclass
class _Battery:
    strategy: Strategy
    number: int = -1
    found: dict[tuple[str, str], Violation] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def check_specs(self) -> None:
        """The spec of a part names it again."""
        for part in self.strategy.parts:
            try:
                again = build(type(part), parse_spec(part.spec)[1])
            except UsageError as error:
                self.broken(part, "spec", str(error))
            else:
                if again != part:
                    self.broken(part, "spec", f"{part.spec} is another strategy when it is read")

    def check_conversation(self, conversation: Conversation, window: int) -> None:
        """Replay it watched, then once more, then with another future."""
        watched = Pipeline(tuple(Watched(part, self.saw) for part in self.strategy.parts))
        try:
            steps = list(_steps(conversation, watched, window))
            again = list(_steps(conversation, self.strategy, window))
            if steps != again:
                self.broken(self.strategy, "repeatable", "a second replay is another one")
            self._check_future(conversation, window, again)
        except Exception as error:
            # Whatever it raises is a finding, and the other conversations are still to come.
            self.broken(self.strategy, "survives", f"{type(error).__name__}: {error}")

    def _check_future(self, conversation: Conversation, window: int, steps: list[Step]) -> None:
        if any(part.sees_future for part in self.strategy.parts) or len(steps) < 2:
            return
        answer = steps[len(steps) // 2].answer
        other = list(_steps(_other_future(conversation, answer), self.strategy, window))
        for one, two in zip(steps, other, strict=False):
            if (one.system, one.shared, one.added) != (two.system, two.shared, two.added):
                self.broken(self.strategy, "future", f"the call {one.answer} depends on what comes")
                return
            if one.answer == answer:
                return

    def saw(self, part: Strategy, asked: Asked) -> None:
        """Hold an answer against the rules."""
        if asked.after is not asked.before or asked.born:
            for name, rule in RULES.items():
                for what in rule(asked):
                    self.broken(part, name, f"{what} ({asked.phase})")

    def broken(self, part: Strategy, rule: str, what: str) -> None:
        """Note that a rule was broken, unless that was declared."""
        key = (part.spec, rule)
        self.seen.add(key)
        if rule in part.breaks:
            return
        known = self.found.get(key)
        self.found[key] = (
            replace(known, times=known.times + 1)
            if known
            else Violation(rule, part.spec, what, self.number)
        )

    def check_declared(self) -> None:
        """What was declared has occurred."""
        for part in self.strategy.parts:
            for rule in part.breaks:
                if (part.spec, rule) not in self.seen:
                    what = f"it declares to break {rule!r}, which never happened"
                    self.found[part.spec, f"breaks {rule}"] = Violation("breaks", part.spec, what)


def _steps(conversation: Conversation, strategy: Strategy, window: int) -> Iterator[Step]:
    return replay(
        conversation,
        strategy,
        MODEL,
        summarizer=Recap(),
        window=window,
        overhead=Unseen(),
        catalogue=_plain(),
    )


@cache
def _plain() -> Catalogue:
    """The model, counting without a factor and without framing.

    Those are measured anew now and then, and who keeps the contract must not hang on it. With 69
    tokens of framing a call, telling of a call what it gave would never be longer than the call.
    """
    return Catalogue({MODEL: replace(built_in().find(MODEL), tokenizer=Tokenizer())})


def _other_future(conversation: Conversation, answer: str) -> Conversation:
    """The same up to an answer, and then other words."""
    events = list(conversation.events)
    at = next(n for n, e in enumerate(events) if isinstance(e, Message) and e.id == answer)
    kept = [*events[: at + 1], *(_reworded(e) for e in events[at + 1 :] if isinstance(e, Message))]
    return replace(conversation, events=tuple(kept))


def _reworded(message: Message) -> Message:
    words = verbatim(message.id, "text", "Something else is said here.")
    return Message(message.id, message.role, (words,), message.time, message.meta, message.call)


@dataclass(frozen=True)
class Recap(Summarizer):
    """Tells how many messages it was given: the shortest summary that stands for all of them."""

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """One line."""
        told = dict.fromkeys(
            [
                *(source.id for part in request.previous for source in part.sources),
                *(source.id for m in request.messages for p in m.parts for source in p.sources),
            ]
        )
        if not told or request.max_tokens < 8:
            return ()
        text = f"{len(told)} messages were here."
        return (Part("text", text, "summary", tuple(map(Source, told))),)

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        """A note on the newest part that stands for anything."""
        parts = (part for message in reversed(messages) for part in message.parts)
        sources = next((part.sources for part in parts if part.sources), ())
        note = Remembered("progress", "We came this far.", sources)
        return Written(request.silent, (note,) if sources else ())
