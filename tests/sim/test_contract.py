"""The battery finds what is broken: for each check a strategy that breaks nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import ClassVar

import msgspec
import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.conversation import Rewind
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.testing.contract import RULES, check_strategy
from compactlab.testing.drawn import WINDOWS, draw
from tests.lines import refusal


def invented(text: str, kind: str, *sources: str) -> Message:
    part = Part("text", text, kind, tuple(map(Source, sources)))  # type: ignore[arg-type]
    return Message(f"made-{text}", "user", (part,), meta=True)


@dataclass(frozen=True)
class Honest(Strategy):
    """Drops everything before the current turn, and says so in its notes."""

    def compact(self, view: View, host: Host) -> View:
        """Leave the turn."""
        turns = [n for n, message in enumerate(view.messages) if message.starts_turn]
        host.notes["turns"] = len(turns)
        return view.with_messages(view.messages[turns[-1] :]) if turns else view


@dataclass(frozen=True)
class ChangesItsInput(Strategy):
    """Reaches into the view."""

    def compact(self, view: View, host: Host) -> View:
        """Throw the storage away behind the view's back."""
        if len(view.messages) > 2:
            view.messages._buffer.items[0] = view.messages[1]
        return view.append()


@dataclass(frozen=True)
class KeepsObjects(Strategy):
    """Puts into its notes what is no JSON."""

    def compact(self, view: View, host: Host) -> View:
        """Remember a set."""
        host.notes["seen"] = {message.id for message in view.messages}
        return view.append()


@dataclass(frozen=True)
class Invents(Strategy):
    """Cites a message that nobody said."""

    def compact(self, view: View, host: Host) -> View:
        """Replace the first message by something that refers to nothing."""
        first = [m for m in view.messages if m.starts_turn and len(m.text) > 100][:-1]
        if not first:
            return view
        cited = invented("cited", "summary", "nobody")
        return view.with_messages(cited if m is first[0] else m for m in view.messages)


@dataclass(frozen=True)
class Misquotes(Strategy):
    """Calls verbatim what is not."""

    def compact(self, view: View, host: Host) -> View:
        """Put other words into the user's mouth."""
        first = [m for m in view.messages if m.starts_turn and len(m.text) > 100][:-1]
        if not first:
            return view
        quote = invented("I never said so", "verbatim", first[0].id)
        return view.with_messages(quote if m is first[0] else m for m in view.messages)


@dataclass(frozen=True)
class Shuffles(Strategy):
    """Exchanges the first two messages, if no pair is torn."""

    def compact(self, view: View, host: Host) -> View:
        """Exchange."""
        if len(view.messages) < 3 or host.notes.get("done"):
            return view
        host.notes["done"] = True
        one, two, *rest = view.messages
        return view.with_messages([two, one, *rest])


@dataclass(frozen=True)
class Orphans(Strategy):
    """Drops calls, keeps results."""

    def compact(self, view: View, host: Host) -> View:
        """Drop every call."""
        calls = [m for m in view.messages if any(p.type == "tool_call" for p in m.parts)]
        kept = [m for m in view.messages if m not in calls]
        return view.with_messages(kept) if calls else view


@dataclass(frozen=True)
class LeavesCallsOpen(Strategy):
    """Drops results, keeps calls."""

    def compact(self, view: View, host: Host) -> View:
        """Drop every result."""
        kept = [m for m in view.messages if m.role != "tool"]
        return view.with_messages(kept) if len(kept) < len(view.messages) else view


@dataclass(frozen=True)
class ForgetsTheUser(Strategy):
    """Drops what people say."""

    def compact(self, view: View, host: Host) -> View:
        """Drop every user's message."""
        kept = [m for m in view.messages if not m.starts_turn]
        return view.with_messages(kept) if len(kept) < len(view.messages) else view


@dataclass(frozen=True)
class DropsTheSystemPrompt(Strategy):
    def compact(self, view: View, host: Host) -> View:
        return view.with_system()


@dataclass(frozen=True)
class Grows(Strategy):
    """Says a little more at every call."""

    def compact(self, view: View, host: Host) -> View:
        """Add a line to the system prompt."""
        return view.with_system(*view.system, Part("text", "Be brief.", "synthetic", ()))


@dataclass(frozen=True)
class TripsOverNothing(Strategy):
    """Takes for granted that somebody has spoken."""

    def compact(self, view: View, host: Host) -> View:
        """Look for the first message of a user."""
        next(m for m in view.messages if m.role == "user")
        return view


@dataclass(frozen=True)
class RemembersAcrossReplays(Strategy):
    """Keeps state in itself instead of in its notes."""

    asked: list[int] = field(default_factory=list, compare=False, repr=False)

    def compact(self, view: View, host: Host) -> View:
        """Say more at every third ask, in whatever replay."""
        self.asked.append(0)
        more = (Part("text", "Go on.", "synthetic", ()),) if len(self.asked) % 3 == 0 else ()
        return view.with_system(*view.system, *more)

    @property
    def spec(self) -> str:
        """Without the state."""
        return "remembers_across_replays()"


@dataclass(frozen=True)
class Peeks(Strategy):
    """Knows what comes: it holds the conversations of the battery."""

    def compact(self, view: View, host: Host) -> View:
        """Drop an answer that is never quoted again, judged by the words of the whole script."""
        if len(view.messages) < 3 or host.notes.get("peeked"):
            return view
        host.notes["peeked"] = True
        script = host._services.needs.__self__  # type: ignore[attr-defined]
        last = script.conversation.messages[-1].text
        old = next((m for m in view.messages if m.role == "assistant" and len(m.parts) == 1), None)
        if old is None or old.parts[0].type != "text" or "Something else" in last:
            return view
        return view.with_messages(m for m in view.messages if m is not old)


@dataclass(frozen=True)
class WatchesTheCache(Strategy):
    """Drops an answer when a request has read the cache, and does not say that it looks there."""

    def compact(self, view: View, host: Host) -> View:
        """Drop the first answer that is only text."""
        if host.reported is None or not host.reported.cache_read:
            return view
        texts = (m for m in view.messages if {part.type for part in m.parts} == {"text"})
        old = next((m for m in texts if m.role == "assistant"), None)
        return view.with_messages(m for m in view.messages if m is not old)


@dataclass(frozen=True)
class HidesAField(Strategy):
    """Has a spec that does not name it."""

    keep: int = 3

    @property
    def spec(self) -> str:
        """Always the same."""
        return "hides_a_field()"

    def compact(self, view: View, host: Host) -> View:
        """Leave it alone."""
        return view


@dataclass(frozen=True)
class ConfessesTooMuch(Strategy):
    """Declares what it never does."""

    breaks: ClassVar[Mapping[str, str]] = MappingProxyType({"pairs": "so it says"})

    def compact(self, view: View, host: Host) -> View:
        """Leave it alone."""
        return view


BROKEN = {
    "input": ChangesItsInput(),
    "notes": KeepsObjects(),
    "order": Shuffles(),
    "last user message": ForgetsTheUser(),
    "size": Grows(),
    "system": DropsTheSystemPrompt(),
    "survives": TripsOverNothing(),
    "repeatable": RemembersAcrossReplays(),
    "future": Peeks(),
    "price": WatchesTheCache(),
    "spec": HidesAField(keep=4),
    "breaks": ConfessesTooMuch(),
}


# The dozen of extremes, and a few more: every offender below is found within them.
SOME = 18
of_some_or_many = pytest.mark.parametrize(
    "conversations", [SOME, pytest.param(60, marks=pytest.mark.slow)]
)


@cache
def rules(strategy: Strategy, conversations: int = SOME) -> list[str]:
    return [broken.rule for broken in check_strategy(strategy, conversations)]


@of_some_or_many
def test_who_keeps_to_the_contract_is_not_blamed(conversations):
    assert check_strategy(Honest(), conversations) == []


@pytest.mark.parametrize("rule", sorted(BROKEN))
def test_each_check_finds_its_offender(rule):
    assert rule in rules(BROKEN[rule])


@of_some_or_many
@pytest.mark.parametrize("strategy", [Invents(), Misquotes()])
def test_provenance_is_checked_against_the_log(strategy, conversations):
    assert rules(strategy, conversations) == ["provenance"]


@of_some_or_many
@pytest.mark.parametrize("strategy", [Orphans(), LeavesCallsOpen()])
def test_pairs_are_checked_from_both_sides(strategy, conversations):
    assert rules(strategy, conversations) == ["pairs"]


@dataclass(frozen=True)
class Misspelt(Strategy):
    """Declares a rule that there is not."""

    breaks: ClassVar[Mapping[str, str]] = MappingProxyType({"pair": "so it says"})

    def compact(self, view: View, host: Host) -> View:
        return view


def test_a_misspelt_rule_is_named_with_those_that_there_are():
    (violation,) = check_strategy(Misspelt(), 2)
    assert "'pair', which is none of input, notes, provenance, order, pairs" in violation.what
    assert "first in conversation" not in str(violation)


@of_some_or_many
@pytest.mark.parametrize("rule", ["notes", "size", "survives", "price", "spec", "breaks"])
def test_an_offender_is_blamed_for_nothing_else(rule, conversations):
    assert rules(BROKEN[rule], conversations) == [rule]


def test_every_rule_has_an_offender_here():
    assert set(RULES) <= {*BROKEN, "provenance", "pairs"}


@dataclass(frozen=True)
class Declares(ForgetsTheUser):
    """Does it, and says so."""

    breaks: ClassVar[Mapping[str, str]] = MappingProxyType({"last user message": "on purpose"})


@of_some_or_many
def test_what_is_declared_and_occurs_is_not_reported(conversations):
    assert check_strategy(Declares(), conversations) == []


def test_of_a_pipeline_the_part_is_named():
    (broken,) = check_strategy(Pipeline((Honest(), LeavesCallsOpen())), SOME)
    assert (broken.strategy, broken.rule) == ("leaves_calls_open()", "pairs")
    assert str(broken).startswith("leaves_calls_open() breaks 'pairs' ")


def test_what_is_already_broken_is_nobody_elses_fault():
    """Honest comes after one that orphans results, and is handed them."""
    found = check_strategy(Pipeline((Orphans(), Honest())), SOME)
    assert {broken.strategy for broken in found} == {"orphans()"}


def test_draws_are_the_same_every_time_and_differ_by_number():
    assert draw(20) == draw(20)
    assert len({draw(number)[0].digest for number in range(60)}) == 60


def test_draws_have_what_a_strategy_must_survive():
    drawn = [draw(number) for number in range(60)]
    sizes = [max((len(m.text) // 4 for m in c.messages), default=0) / w for c, w in drawn]
    assert any(not c.events for c, _ in drawn)
    assert max(sizes) > 1
    assert sum(any(isinstance(e, Rewind) for e in c.events) for c, _ in drawn) > 5
    assert {window for _, window in drawn} == set(WINDOWS)
    calls = [
        {p.call_id for m in c.messages for p in m.parts if p.type == "tool_call"} for c, _ in drawn
    ]
    results = [
        {p.call_id for m in c.messages for p in m.parts if p.type == "tool_result"}
        for c, _ in drawn
    ]
    assert any(r - c for c, r in zip(calls, results, strict=True))
    assert any(c - r for c, r in zip(calls, results, strict=True))


def test_a_drawn_message_can_be_written_down():
    for number in range(30):
        for event in draw(number)[0].events:
            assert msgspec.json.encode(event)
    assert Messages(draw(3)[0].messages)


def test_what_is_no_frozen_dataclass_is_told_so_and_how_to_become_one():
    class Plain(Strategy):
        def compact(self, view: View, host: Host) -> View:
            return view

    @dataclass
    class Thawed(Plain):
        pass

    frozen = "must be a frozen dataclass.* write @dataclass\\(frozen=True\\) above the class"
    for strategy in (Plain(), Thawed(), Pipeline((Honest(), Thawed()))):
        with pytest.raises(UsageError, match=frozen):
            check_strategy(strategy, 1)
    assert refusal(UsageError, lambda: check_strategy(Honest, 1)) == snapshot(
        "Honest is a class: check an instance, Honest()"
    )
    # A replay says the same.
    for asked in (lambda: Pipeline((Plain(), Honest())), lambda: Plain().label):
        with pytest.raises(UsageError, match=f"Plain {frozen}"):
            str(asked().spec)
