"""Inspect AI's compactions of agents under evaluation: edit, trim, summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import history_end
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.handover import INSTRUCTIONS, is_summary, summary_message
from compactlab.strategies.mechanisms.stub import results_of, with_stubs
from compactlab.strategies.mechanisms.text import transcript, with_parts
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# Rules and figures are those of inspect-ai 0.3.285 (`model/_compaction`, `model/_trim.py`); the
# wording is ours, except for the placeholder.

REMOVED = "(Tool result removed)"
_SHARE, _AGAIN = 0.9, 3
_MAX_TOKENS = 4096


class Piece(NamedTuple):
    """A message in Inspect's form: one of ours, or one result of ours."""

    message: Message
    parts: tuple[Part, ...]


class Use(NamedTuple):
    """A call with the place of its result: message, and result in it."""

    call: Part
    message: int
    result: int


def edited(messages: Messages, rule: InspectCompaction) -> Messages:
    """Remove old results and thinking: as ``CompactionEdit.compact``.

    A turn of thinking is one answer. Results are kept by the order of their calls.
    """
    uses = _uses(messages, rule.exclude_tools)
    old = uses[: max(len(uses) - rule.keep_tool_uses, 0)]
    answers = sum(message.role == "assistant" for message in messages)
    after: list[Message] = []
    for index, message in enumerate(messages):
        answers -= message.role == "assistant"
        gone = [use for use in old if use.message == index]
        left: Message | None = message
        if message.role == "assistant":
            thinks = answers < rule.keep_thinking_turns
            left = _answer(message, () if rule.keep_tool_inputs else old, thinks=thinks)
        elif gone and rule.keep_tool_inputs:
            left = _cleared(message, {use.result for use in gone})
        elif gone:
            results = results_of(message)
            kept = [r for n, r in enumerate(results) if n not in {use.result for use in gone}]
            left = with_parts(message, [p for r in kept for p in r]) if kept else None
        if left is not None:
            after.append(left)
    while after and after[-1].role == "assistant":
        after.pop()
    return Messages(after)


def _answer(message: Message, gone: Sequence[Use], *, thinks: bool) -> Message:
    """Return an answer without some calls and, unless ``thinks``, without thinking."""
    calls = {id(use.call): use.call for use in reversed(gone)}
    left = [p for p in message.parts if id(p) not in calls and (thinks or p.type != "thinking")]
    own = [call for key, call in calls.items() if key in {id(p) for p in message.parts}]
    notes = [
        Part("text", f"[{call.name}: call and result removed]", "stub", call.sources, call.name)
        for call in own
    ]
    return with_parts(message, [*left, *notes]) if left or notes else message


def _cleared(message: Message, places: set[int]) -> Message:
    return with_stubs(message, lambda place, _: REMOVED if place in places else None)


def _uses(messages: Messages, exclude: Sequence[str]) -> list[Use]:
    """Return all calls with a result after them, in their order."""
    places: dict[str, list[tuple[int, int]]] = {}
    for index, message in enumerate(messages):
        for place, result in enumerate(results_of(message)):
            places.setdefault(result[0].call_id, []).append((index, place))
    return [
        Use(call, *found)
        for index, message in enumerate(messages)
        for call in message.parts
        if call.type == "tool_call" and call.name not in exclude
        for found in [at for at in places.get(call.call_id, ()) if at[0] > index][:1]
    ]


def input_end(messages: Messages) -> int:
    """Return the index after the input: the first user message, and the messages before it."""
    for index, message in enumerate(messages):
        if is_summary(message):
            return index
        if message.role == "user":
            return index + 1
    return len(messages)


def trimmed(messages: Messages, preserve: float) -> Messages:
    """Keep the input and a share of the other messages, the newest: as ``trim_messages``."""
    front = input_end(messages)
    said = [piece for message in messages[front:] for piece in _pieces(message)]
    left: list[Piece] = []
    active: set[str] = set()
    for piece in said[int(len(said) * (1 - preserve)) :]:
        role = piece.message.role
        if role == "assistant":
            active = {part.call_id for part in piece.parts if part.type == "tool_call"}
        elif role == "user":
            active = set()
        if role != "tool" or piece.parts[0].call_id in active:
            left.append(piece)
    answered = {p.parts[0].call_id for p in left if p.message.role == "tool"}
    left = [kept for piece in left if (kept := _without_orphans(piece, answered)).parts]
    if left and left[-1].message.role == "assistant":
        left.pop()
    newest = [
        with_parts(message, tuple(part for piece in group for part in piece.parts))
        for message, group in groupby(left, key=lambda piece: piece.message)
    ]
    return messages.branch(front, newest)


def _pieces(message: Message) -> list[Piece]:
    results = results_of(message)
    return [Piece(message, result) for result in results] or [Piece(message, message.parts)]


def _without_orphans(piece: Piece, answered: set[str]) -> Piece:
    if piece.message.role != "assistant":
        return piece
    left = [p for p in piece.parts if p.type != "tool_call" or p.call_id in answered]
    return piece._replace(parts=tuple(left))


_USER = {"last user message": "in a long turn it is not among what stays; inspect-ai 0.3.285"}
_BREAKS = MappingProxyType(
    {
        "summary": _USER,
        "trim": _USER,
        "edit": {"size": "a place-holder may be longer than the result; inspect-ai 0.3.285"},
    }
)


@dataclass(frozen=True)
class InspectCompaction(Strategy):
    """Edit, trim or summarise when the next request exceeds a share of the window.

    inspect-ai 0.3.285, as its ``react`` agent uses it. ``edit`` removes old results and thinking,
    ``trim`` keeps the input and the newest 80 % of the rest, ``summary`` keeps the input and a
    summary; ``CompactionAuto`` is ``summary`` if the provider has no compaction;
    ``CompactionNative`` is the provider's (``server_compaction``, ``endpoint_compaction``). It acts
    when the input of the last request and later messages exceed nine tenths of the window, up to
    three times while that helps.

    The results of edit and trim are exact. Simplified: if nothing helps, the prompt is sent
    (Inspect raises an error); a summary is not summarised again; outputs are not cut to fit the
    summary request, whose prompt (some 1,700 tokens) has our wording; there is no memory tool; an
    answer that would become empty stays under edit, and is removed under trim.

    Parameters
    ----------
    kind
        ``edit``, ``trim`` or ``summary``.
    trigger
        Size beyond which it acts; None for 0.9 of the window.
    preserve
        Share of the messages after the input that trim keeps.
    keep_tool_uses
        How many of the newest results edit keeps.
    keep_thinking_turns
        How many of the newest answers keep their thinking under edit.
    keep_tool_inputs
        Whether edit keeps the calls; if not, a note names the tool.
    exclude_tools
        Names of tools whose results edit keeps.
    """

    does = (Act.TRUNCATE, Act.CLEAR, Act.SUMMARISE)

    kind: Literal["summary", "edit", "trim"] = "summary"
    trigger: Trigger = None
    preserve: Annotated[float, between(0, 1)] = 0.8
    keep_tool_uses: Annotated[int, at_least(0)] = 3
    keep_thinking_turns: Annotated[int, at_least(0)] = 1
    keep_tool_inputs: bool = True
    exclude_tools: tuple[str, ...] = ()
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The rules that the kind breaks."""
        return _BREAKS[self.kind]

    def compact(self, view: View, host: Host) -> View:
        limit = int(tokens_at(self.trigger, host, host.window * _SHARE))
        if host.phase is not Phase.ON_OVERFLOW and input_tokens(view, host) <= limit:
            return view
        after = self._compacted(view, host)
        for _ in range(_AGAIN):
            before = host.count(after)
            if before <= limit or self.kind == "summary":
                break
            after = self._compacted(after, host)
            if host.count(after) >= before:
                break
        return after

    def _compacted(self, view: View, host: Host) -> View:
        if self.kind == "edit":
            return view.with_messages(edited(view.messages, self))
        if self.kind == "trim":
            return view.with_messages(trimmed(view.messages, self.preserve))
        front = input_end(view.messages)
        said = view.messages[front:]
        start = next((n for n in range(len(said) - 1, -1, -1) if is_summary(said[n])), 0)
        new = [message for message in said[start:] if not is_summary(message)]
        if not new:
            return view
        previous = tuple(p for m in said[start : start + 1] if is_summary(m) for p in m.parts)
        shown = transcript([*view.messages[:front], *said[start:]])
        most = host.model.max_output or _MAX_TOKENS
        sources = tuple(part for part in previous if part.sources)
        request = SummaryRequest(tuple(new), most, sources, INSTRUCTIONS, shown, "fresh")
        summary = host.summarize(view, request)
        if not summary:
            return view
        return view.with_messages([*view.messages[:front], summary_message(host, summary)])


def input_tokens(view: View, host: Host) -> int:
    """Return the last request's input plus later messages, or a count of everything."""
    if host.reported is None or is_stale(host):
        return host.count(view)
    end = history_end(view.messages)
    return host.reported.prompt + host.count(view.messages[max(end - 1, 0) :])
