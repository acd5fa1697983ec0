"""The contract of a strategy, as checks that anyone can run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import get_args

from compactlab.sim.core.blocks import forget_blocks
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, replay
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.strategy import Lifetime, Pipeline, RuleName, Strategy
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.sim.replay.trace import Step
from compactlab.strategies.catalogue import STRATEGIES
from compactlab.testing.drawn import draw

# A watched strategy: records its inputs and answers.


@dataclass(frozen=True)
class Asked:
    """One call of a strategy, with its input and its answer."""

    phase: Phase
    before: View
    after: View
    log: Messages
    created: tuple[Message, ...]  # messages that it created
    intact: bool  # whether view and log are unchanged
    notes: Mapping[str, object]
    count: Callable[[View], int]  # tokens, as the model counts them


@dataclass(frozen=True)
class Watched(Strategy):
    """A wrapper that reports every answer of another strategy."""

    inner: Strategy
    show: Callable[[Strategy, Asked], None] = field(compare=False, repr=False)

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """The phases of the inner strategy."""
        return self.inner.phases

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """The lifetime of the inner strategy."""
        return self.inner.lifetime

    @property
    def idle_after(self) -> float:  # type: ignore[override]
        """The idle time of the inner strategy."""
        return self.inner.idle_after

    @property
    def sees_future(self) -> bool:  # type: ignore[override]
        """Whether the inner strategy sees the future."""
        return self.inner.sees_future

    @property
    def spec(self) -> str:
        """The spec of the inner strategy, which so has the same random draws."""
        return self.inner.spec

    def silence(self, host: Host) -> float:
        return self.inner.silence(host)

    def again(self, host: Host) -> float:
        return self.inner.again(host)

    def compact(self, view: View, host: Host) -> View:
        messages, system, log = list(view.messages), view.system, host.log
        old = list(log)
        after = self.inner.compact(view, host)
        if isinstance(after, View):
            intact = _same(view.messages, messages) and view.system == system and _same(log, old)
            known = set(map(id, log))
            created = tuple(message for message in host.log if id(message) not in known)
            asked = Asked(
                host.phase, view, after, host.log, created, intact, dict(host.notes), host.count
            )
            self.show(self.inner, asked)
        return after

    def fetch(self, handle: str, host: Host) -> str | None:
        return self.inner.fetch(handle, host)


def _same(messages: Messages, before: list[Message]) -> bool:
    return len(messages) == len(before) and all(map(_is, messages, before))


def _is(one: Message | Part, other: Message | Part) -> bool:
    return one is other


# The rules for every answer of a strategy, one function each.
#
# A rule judges the answer against the input: earlier violations are not the strategy's fault. Each
# function yields descriptions of violations.

Rule = Callable[[Asked], Iterator[str]]


def input_unchanged(asked: Asked) -> Iterator[str]:
    """The strategy does not change the view and the log."""
    if not asked.intact:
        yield "the view or the log that it was given was changed"


def notes_are_json(asked: Asked) -> Iterator[str]:
    """The notes are plain JSON, so that they can be stored and restored."""
    try:
        same = json.loads(json.dumps(asked.notes)) == asked.notes
    except (TypeError, ValueError) as error:
        yield f"its notes are no JSON: {error}"
    else:
        if not same:
            yield f"its notes are not plain JSON: {asked.notes!r:.80}"


def provenance(asked: Asked) -> Iterator[str]:
    """Every part names messages of the log, and a verbatim part has their text."""
    logged = {message.id: message for message in asked.log}
    old = {id(part) for part in _parts(asked.before)}
    for part in _parts(asked.after):
        if id(part) in old:
            continue
        strangers = [s.id for s in part.sources if s.id not in logged and s.id != "system"]
        if strangers:
            yield f"a {part.kind} part comes from {strangers[0]!r}, which is not in the log"
        elif part.kind == "verbatim" and not any(
            part.text in _words(logged[source.id]) for source in part.sources
        ):
            yield f"a verbatim part does not have the words of its source: {part.text!r:.60}"


def order(asked: Asked) -> Iterator[str]:
    """Messages of the log keep its order, and none occurs twice."""
    place = {id(message): n for n, message in enumerate(asked.log)}
    stood = _disorder(asked.before, place)
    stands = _disorder(asked.after, place)
    if stands and not stood:
        yield stands


def pairs(asked: Asked) -> Iterator[str]:
    """Every result has its call, and every call its result."""
    calls, results = _ids(asked.before, "tool_call"), _ids(asked.before, "tool_result")
    calls_left, results_left = _ids(asked.after, "tool_call"), _ids(asked.after, "tool_result")
    orphans = (results_left & calls) - calls_left
    unanswered = (calls_left & results) - results_left
    if orphans:
        yield f"the result of {min(orphans)} has lost its call"
    if unanswered:
        yield f"the call {min(unanswered)} has lost its result"


def last_user_message(asked: Asked) -> Iterator[str]:
    """The last user message is still there, word for word."""
    last = next((m for m in reversed(asked.before.messages) if m.starts_turn), None)
    if last is None or any(message is last for message in reversed(asked.after.messages)):
        return
    words = {part.text for part in last.parts if part.text}
    there = {
        part.text
        for part in _parts(asked.after)
        if part.kind == "verbatim" and any(source.id == last.id for source in part.sources)
    }
    if words - there:
        yield f"the last message of the user, {last.id}, is gone"


def size(asked: Asked) -> Iterator[str]:
    """The strategy never makes a view larger, except by messages that it created."""
    created = asked.count(View((), Messages(asked.created)))
    before, after = asked.count(asked.before), asked.count(asked.after) - created
    if after > before:
        yield f"{before} tokens became {after}"


def system(asked: Asked) -> Iterator[str]:
    """The system prompt and the tool definitions stay."""
    gone = [part for part in asked.before.system if part not in asked.after.system]
    if gone:
        yield f"a part of the system prompt or of the tools is gone: {gone[0].text!r:.60}"


RULES: dict[RuleName, Rule] = {
    "input": input_unchanged,
    "notes": notes_are_json,
    "provenance": provenance,
    "order": order,
    "pairs": pairs,
    "last user message": last_user_message,
    "size": size,
    "system": system,
}


_NAMES = (*get_args(RuleName), "breaks")
_ALL = ", ".join(_NAMES)


def _parts(view: View) -> Iterator[Part]:
    yield from view.system
    for message in view.messages:
        yield from message.parts


def _words(message: Message) -> str:
    return "".join(part.text for part in message.parts)


def _ids(view: View, type: str) -> set[str]:
    return {
        part.call_id
        for message in view.messages
        for part in message.parts
        if part.type == type and part.call_id
    }


def _disorder(view: View, place: dict[int, int]) -> str:
    known = [m for m in view.messages if id(m) in place]
    for one, other in pairwise(known):
        if place[id(one)] >= place[id(other)]:
            return f"{other.id} stands after {one.id}"
    return ""


# The battery: replays random conversations and checks every answer.

MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Violation:
    """A rule that a strategy breaks.

    Parameters
    ----------
    rule
        Its name: a key of ``RULES``, or ``survives``, ``repeatable``, ``future``, ``price``,
        ``spec``, ``breaks``.
    strategy
        The spec of the violating part.
    what
        A description of the first violation.
    conversation
        Index of the random conversation, from 0 on; -1 if no conversation is needed.
    times
        The number of violations.
    """

    rule: str
    strategy: str
    what: str
    conversation: int = -1
    times: int = 1

    @property
    def where(self) -> str:
        """The conversation of the first violation, counted from 1, as text; "" if none."""
        return f", first in conversation {self.conversation + 1}" if self.conversation >= 0 else ""

    def __str__(self) -> str:
        return f"{self.strategy} breaks {self.rule!r} {self.times} times{self.where}: {self.what}"


@dataclass
class Violations:
    """The violations found, by spec and rule."""

    number: int = -1  # index of the current conversation
    found: dict[tuple[str, str], Violation] = field(default_factory=dict)

    def add(self, spec: str, rule: str, what: str) -> None:
        known = self.found.get((spec, rule)) or Violation(rule, spec, what, self.number, 0)
        self.found[spec, rule] = replace(known, times=known.times + 1)

    def listed(self) -> list[Violation]:
        """Return all violations, sorted by spec and rule."""
        return sorted(self.found.values(), key=lambda each: (each.strategy, each.rule))


def fault_of_spec(kind: str, one: Strategy | Summarizer) -> str:
    """Return why a spec does not recreate its object; "" if it does."""
    try:
        again = build(type(one), parse_spec(one.spec)[1])
    except UsageError as error:
        return str(error)
    return "" if again == one else f"{one.spec} is another {kind} when it is read"


def check_strategy(
    strategy: Strategy, conversations: int = 50, *, seed: int = 0
) -> list[Violation]:
    """Check a strategy against the contract, over random conversations.

    They include empty conversations, rewinds, results without calls, and messages larger than the
    window. A rule in ``breaks`` is not reported, but its violation must occur. Only actual
    compactions can be checked: windows have 8,000 to 200,000 tokens, so choose a size at which the
    strategy acts.

    Parameters
    ----------
    strategy
        The strategy, or a pipeline of several.
    conversations
        The number of random conversations. The first dozen are extremes.
    seed
        The seed of the random conversations.

    Returns
    -------
    list of Violation
        One for each rule that a part violates; empty if there is none.

    Raises
    ------
    UsageError
        If it is a class, or a part is not a frozen dataclass.

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
    if isinstance(strategy, type):
        raise UsageError(
            f"{strategy.__name__} is a class: check an instance, {strategy.__name__}()"
        )
    for part in strategy.parts:
        STRATEGIES.check(type(part).__name__, type(part))
    battery = _Battery(strategy)
    for part in strategy.parts:
        if fault := fault_of_spec("strategy", part):
            battery.broken(part, "spec", fault)
    for number in range(conversations):
        battery.violations.number = number
        battery.check_conversation(*draw(number, seed))
        forget_blocks()  # else memory would hold thousands of conversations
    battery.check_declared()
    return battery.violations.listed()


@dataclass
class _Battery:
    strategy: Strategy
    violations: Violations = field(default_factory=Violations)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def check_conversation(self, conversation: Conversation, window: int) -> None:
        """Replay a conversation watched, then again, then with another future."""
        watched = Pipeline(tuple(Watched(part, self.judge) for part in self.strategy.parts))
        try:
            steps = list(_steps(conversation, watched, window))
            again = list(_steps(conversation, self.strategy, window))
            if steps != again:
                self.broken(self.strategy, "repeatable", "a second replay is another one")
            self._check_future(conversation, window, again)
        except Exception as error:
            # Any exception is a violation; the other conversations still follow.
            self.broken(self.strategy, "survives", f"{type(error).__name__}: {error}")

    def _check_future(self, conversation: Conversation, window: int, steps: list[Step]) -> None:
        if any(part.sees_future for part in self.strategy.parts) or len(steps) < 2:
            return
        answer, billed = steps[len(steps) // 2].answer, self.strategy.by_price
        other = _other_future(conversation, answer)
        if not (differs := self._differs(steps, other, answer, window, billed=billed)):
            return
        later = billed or self._differs(steps, other, answer, window, billed=True)
        rule = "future" if later else "price"
        why = "later messages" if later else "what the cache holds, and by_price is not declared"
        self.broken(self.strategy, rule, f"the call {later or differs} depends on {why}")

    def _differs(
        self, steps: list[Step], other: Conversation, last: str, window: int, *, billed: bool
    ) -> str:
        """Return the first call up to one whose prompt differs in another replay; "" if none."""
        for one, two in zip(
            steps, _steps(other, self.strategy, window, billed=billed), strict=False
        ):
            if (one.system, one.shared, one.added) != (two.system, two.shared, two.added):
                return one.answer
            if one.answer == last:
                break
        return ""

    def judge(self, part: Strategy, asked: Asked) -> None:
        """Check an answer against the rules."""
        if asked.after is not asked.before or asked.created:
            for name, rule in RULES.items():
                for what in rule(asked):
                    self.broken(part, name, f"{what} ({asked.phase})")

    def broken(self, part: Strategy, rule: str, what: str) -> None:
        """Record a violation, unless the strategy declares it."""
        self.seen.add((part.spec, rule))
        if rule not in part.breaks:
            self.violations.add(part.spec, rule, what)

    def check_declared(self) -> None:
        """Report declared violations that did not occur."""
        for part in self.strategy.parts:
            for rule in part.breaks:
                if (part.spec, rule) not in self.seen:
                    known = "which never happened" if rule in _NAMES else f"which is none of {_ALL}"
                    what = f"it declares to break {rule!r}, {known}"
                    found = Violation("breaks", part.spec, what)
                    self.violations.found[part.spec, f"breaks {rule}"] = found


def _steps(
    conversation: Conversation, strategy: Strategy, window: int, *, billed: bool = True
) -> Iterator[Step]:
    options = Options(
        MODEL,
        summarizer=Recap(),
        window=window,
        overhead=Unseen(),
        catalogue=_plain(),
        billed=billed,
    )
    return replay(conversation, strategy, options)


@cache
def _plain() -> Catalogue:
    """Return the model without a counting factor and without framing.

    Both are measured anew from time to time, and the contract must not depend on them. With 69
    tokens of framing per call, a description of a call would never be longer than the call.
    """
    return Catalogue({MODEL: replace(built_in().find(MODEL), tokenizer=Tokenizer())})


def _other_future(conversation: Conversation, answer: str) -> Conversation:
    """Return the conversation with other text after an answer."""
    events = list(conversation.events)
    at = next(n for n, e in enumerate(events) if isinstance(e, Message) and e.id == answer)
    later = (_reworded(e) for e in events[at + 1 :] if isinstance(e, Message))
    return replace(conversation, events=(*events[: at + 1], *later))


def _reworded(message: Message) -> Message:
    words = verbatim(message.id, "text", "Something else is said here.")
    return Message(message.id, message.role, (words,), message.time, message.meta, message.call)


@dataclass(frozen=True)
class Recap(Summarizer):
    """States the number of messages: the shortest summary that covers them all."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        ids = dict.fromkeys(
            [
                *(source.id for part in request.previous for source in part.sources),
                *(source.id for m in request.messages for p in m.parts for source in p.sources),
            ]
        )
        if not ids or request.max_tokens < 8:
            return ()
        text = f"{len(ids)} messages were here."
        return (Part("text", text, "summary", tuple(map(Source, ids))),)

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Return a note on the newest part that has sources."""
        parts = (part for message in reversed(messages) for part in message.parts)
        sources = next((part.sources for part in parts if part.sources), ())
        note = Remembered("progress", "We came this far.", sources)
        return Written(request.silent, (note,) if sources else ())
