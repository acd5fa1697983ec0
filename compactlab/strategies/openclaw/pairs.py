"""OpenClaw's repair: every call gets its result right after it, and no result lacks its call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from operator import is_
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import msgspec

from compactlab.sim.core.message import FAILED, Message, Part
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.stub import Edits, PerReplay
from compactlab.strategies.mechanisms.text import BLANKS
from compactlab.strategies.pi.preparation import is_at_least

Version = Literal["2026.1.29", "2026.3.13"]
NEWEST: Version = "2026.3.13"
VERSIONS: tuple[str, ...] = get_args(Version)

# OpenClaw's synthetic result for a missing one (2026.1.29 to 2026.3.13).
MISSING = (
    "[openclaw] missing tool result in session history; inserted synthetic error result for "
    "transcript repair."
)
# Versions from which calls of interrupted answers get no result (its pull request 4598), and from
# which results get their tool's name (30881 and its successors); test vectors cover both sides.
LEAVES_FAILED, _NAMES = "2026.2.3", "2026.3.1"
UNKNOWN = "unknown"  # the name of a tool without one

# Rules of the contract that a repairing strategy breaks, because OpenClaw does.
BREAKS: Mapping[str, str] = MappingProxyType(
    {
        "order": "a result that came late is moved up to its call (OpenClaw 2026.1.29 on)",
        "size": "a call without a result is given one (OpenClaw 2026.1.29 on)",
    }
)

_Calls = list[tuple[str, str]]  # ids and tools


@dataclass(frozen=True)
class Repaired:
    """A history in which every call has its result, and the changes made."""

    messages: Messages  # the history; the same object if nothing changed
    # Synthetic results for calls without one, and those of them dropped again as duplicates.
    added: tuple[Message, ...] = ()
    # Number of results dropped because their id already had a result.
    dropped_duplicate_count: int = 0
    # Number of results dropped because they did not follow their call.
    dropped_orphan_count: int = 0
    moved: bool = False  # whether anything was wrong


class _Span(NamedTuple):
    """An answer and the repaired messages up to the next answer."""

    out: list[Message]
    added: list[Message]
    answered: list[str]
    duplicates: int
    orphans: int
    changed: bool


def repair(
    messages: Messages,
    now: float | None = None,
    version: str = NEWEST,
    edits: Edits | None = None,
) -> Repaired:
    """Put calls and results together, as OpenClaw's ``repairToolUseResultPairing`` does.

    After every answer come the results of its calls, in the order of the calls, then the other
    messages before the next answer. Calls without a result there get a synthetic one; results
    elsewhere are dropped. The original has two faults, kept here. If an id is used again in a later
    turn, its real result is dropped, and so is the synthetic one. Further results of one id after
    the same answer are removed without being counted. A history without other problems keeps these
    results and their order. Synthetic results have the time ``now`` (seconds since 1970), or that
    of their call. In newer versions, calls of an interrupted answer get no synthetic results, so
    their results are dropped; and a result without a tool's name gets its call's.
    """
    if not messages.total(involved):
        return Repaired(messages)
    rules = _Rules(now, version, edits or Edits())
    seen: set[str] = set()
    spans = []
    for answer in _spans(messages):
        spans.append(rules.apply(answer, seen))
        seen.update(spans[-1].answered)
    if not any(span.changed for span in spans):
        return Repaired(messages)
    out = [message for span in spans for message in span.out]
    first = sum(1 for _ in takewhile(bool, map(is_, messages, out)))
    return Repaired(
        messages.branch(first, out[first:]),
        tuple(message for span in spans for message in span.added),
        sum(span.duplicates for span in spans),
        sum(span.orphans for span in spans),
        True,
    )


def involved(message: Message) -> int:
    """Weigh a message by whether it calls a tool or is a result."""
    return int(message.role == "tool" or any(part.type == "tool_call" for part in message.parts))


def _spans(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Split a history before every answer."""
    answer: list[Message] = []
    for message in messages:
        if message.role == "assistant" and answer:
            yield answer
            answer = []
        answer.append(message)
    if answer:
        yield answer


@dataclass
class _Rules:
    """The rules of a version, and the time of synthetic results."""

    now: float | None
    version: str
    edits: Edits

    def __post_init__(self) -> None:
        self.leaves_failed = is_at_least(self.version, LEAVES_FAILED)
        self.names = is_at_least(self.version, _NAMES)

    def apply(self, answer: list[Message], seen: set[str]) -> _Span:
        """Repair an answer and the messages after it; the result is cached."""
        key = self.now, self.version, *map(id, answer)
        known: tuple[_Span, list[str], list[Message]] | None = self.edits.found.get(key)
        if known is None or not seen.isdisjoint(known[1]):
            ids = [id for id, _ in self._calls(answer[0])]
            known = self._apply(answer[0], answer, seen), ids, answer
            if seen.isdisjoint(ids):
                self.edits.found[key] = known
        return known[0]

    def _apply(self, caller: Message, answer: list[Message], seen: set[str]) -> _Span:
        calls = self._calls(caller)
        if not calls:
            out = [message for message in answer if message.role != "tool"]
            orphans = len(answer) - len(out)
            return _Span(out, [], [], 0, orphans, orphans > 0)
        results, rest, duplicates, orphans, changed = self._sort(answer[1:], dict(calls), seen)
        out, added, answered = [caller], [], list[str]()
        for id, tool in calls:
            result = results.get(id)
            if result is None:
                result = self._made_up(caller, id, tool)
                added.append(result)
            if id in seen or id in answered:
                duplicates += 1
            else:
                answered.append(id)
                out.append(result)
        changed = changed or bool(added or duplicates or orphans or (results and rest))
        return _Span([*out, *rest], added, answered, duplicates, orphans, changed)

    def _calls(self, message: Message) -> _Calls:
        if message.role != "assistant" or (message.origin in FAILED and self.leaves_failed):
            return []
        return [(p.call_id, p.name) for p in message.parts if p.type == "tool_call" and p.call_id]

    def _sort(
        self, behind: list[Message], tools: dict[str, str], seen: set[str]
    ) -> tuple[dict[str, Message], list[Message], int, int, bool]:
        results: dict[str, Message] = {}
        rest: list[Message] = []
        duplicates = orphans = 0
        changed = False
        for message in behind:
            id = answers(message)
            if message.role != "tool":
                rest.append(message)
            elif id not in tools:
                orphans += 1
            elif id in seen:
                duplicates += 1
            else:
                named = self._named(message, tools[id])
                changed = changed or named is not message
                results.setdefault(id, named)
        return results, rest, duplicates, orphans, changed

    def _made_up(self, caller: Message, id: str, tool: str) -> Message:
        how = ("missing", id, tool, self.now)
        return self.edits.of(caller, how, lambda: made_up(caller, id, tool, self.now))

    def _named(self, message: Message, tool: str) -> Message:
        """Return a result with the stripped name of its tool."""
        own_name = next((part.name for part in message.parts if part.call_id), "")
        name = own_name.strip(BLANKS) or tool.strip(BLANKS) or (UNKNOWN if own_name else "")
        if name == own_name or not self.names:
            return message
        return self.edits.of(message, ("named", name), lambda: _named(message, name))


def answers(message: Message) -> str:
    """Return the call id of a result; "" for other messages."""
    return next((part.call_id for part in message.parts if part.call_id), "")


def made_up(caller: Message, id: str, tool: str, now: float | None) -> Message:
    """Make a synthetic result of a call, with a given time or a message's time."""
    part = Part("tool_result", MISSING, "synthetic", (), tool or UNKNOWN, id, is_error=True)
    return Message(f"missing-{id}", "tool", (part,), caller.time if now is None else now)


def _named(message: Message, name: str) -> Message:
    parts = tuple(
        msgspec.structs.replace(part, name=name) if part.call_id else part for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _begins_with_result(messages: Messages) -> bool:
    """Whether a result comes before the first answer."""
    return next((m.role for m in messages if m.role != "user"), "") == "tool"


@dataclass
class Mender:
    """Repairs successive histories, and remembers which parts are sound.

    A session is repaired once per turn, and most of it was repaired before.
    """

    edits: Edits = field(default_factory=Edits, repr=False)
    _history: Messages = field(default_factory=Messages, repr=False)
    _upto: int = field(default=0, repr=False)
    _seen: set[str] = field(default_factory=set, repr=False)
    _changed: bool = field(default=False, repr=False)
    _same: bool = field(default=True, repr=False)

    def mend(self, messages: Messages, version: str = NEWEST) -> Messages:
        """Return the repaired history; the same object if nothing is wrong.

        Equal repairs give the same objects, so that they do not count as new messages.
        """
        if not messages.total(involved) or self._is_sound(messages, version):
            return messages
        return repair(messages, version=version, edits=self.edits).messages

    def _is_sound(self, messages: Messages, version: str) -> bool:
        """Whether a repair would change nothing; only messages since the last check are read.

        The last answer and the messages after it are checked again: results may have been added.
        """
        ahead = self._history.ahead_of(messages)
        if 0 < ahead <= self._upto and not _begins_with_result(messages):
            # The same history, cut at the front; ids of the removed part do no harm.
            self._upto -= ahead
        elif ahead or self._history.shared(messages) < self._upto:
            self._upto, self._seen, self._changed, self._same = 0, set(), False, True
        self._history = messages
        rules = _Rules(None, version, self.edits)
        index, changed, same = self._upto, self._changed, self._same
        answered: list[str] = []
        for answer in _spans(messages[index:]):
            # The messages before an answer are final.
            self._upto, self._changed, self._same = index, changed, same
            self._seen.update(answered)
            span = rules.apply(answer, self._seen)
            index, answered = index + len(answer), span.answered
            changed, same = changed or span.changed, same and span.out == answer
        return same or not changed


@dataclass(frozen=True)
class Mending(Strategy):
    """Base of strategies that view the history for one turn, and repair it."""

    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN
    breaks = BREAKS
    menders: PerReplay[Mender] = field(
        default_factory=partial(PerReplay, Mender), init=False, repr=False, compare=False
    )

    def cut(self, view: View, host: Host, start: int, *, repair: bool = True) -> View:
        """Return the view from an index on; unchanged if the repair would leave no history."""
        messages, now = view.messages, current_turn(view.messages)
        history = messages[start:now]
        mended = self.menders.of(host).mend(history) if repair else history
        if mended is history:
            return view.with_messages(messages[start:])
        return view.with_messages(mended.append(*messages[now:])) if mended else view


@dataclass(frozen=True)
class PairRepair(Mending):
    """Put every result right after its call, and drop results without a call.

    OpenClaw's ``repairToolUseResultPairing``, with its faults (see :func:`repair`). Providers
    refuse prompts in which calls and results do not match. As in the original, a repair lasts for
    one turn, and the session stays unchanged. Mismatches that arise within a turn are repaired in
    the next. In a pipeline it comes after strategies that cut: ``token_budget + pair_repair``.

    The original repairs only for Anthropic's and Google's APIs; this strategy for all.

    Parameters
    ----------
    version
        OpenClaw's: since 2026.3.13, calls of interrupted answers get no results, and results
        without a tool's name get that of their call.
    """

    does = (Act.REPAIR,)
    waits = "a fault"

    version: Version = NEWEST

    def compact(self, view: View, host: Host) -> View:
        now = current_turn(view.messages)
        history = view.messages[:now]
        mended = self.menders.of(host).mend(history, self.version)
        if mended is history:
            return view
        return view.with_messages(mended.append(*view.messages[now:]))
