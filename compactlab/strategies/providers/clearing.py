"""Clearing of old tool results by providers within a request: Anthropic's context editing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

import msgspec

from compactlab.sim.core.limits import Limit, at_least
from compactlab.sim.core.message import Message, Part, Weight
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.estimate import approximates
from compactlab.strategies.mechanisms.stub import (
    Edits,
    is_stub,
    results_of,
    unstubbed,
    with_stubs,
)
from compactlab.strategies.mechanisms.text import changed_to
from compactlab.strategies.mechanisms.trigger import SIZE, is_size, tokens_at

_Edit = Callable[[Message, int, str], Message]


@dataclass(frozen=True, eq=False)
class Clearable:
    """Weighs a message by the number of its results that can be cleared."""

    rule: ClearToolResults
    # Counts the tokens of a part; if given, results no larger than the placeholder are kept.
    # LangChain makes no such exception.
    count: Callable[[Part], int] | None = None

    def __call__(self, message: Message) -> int:
        """Count the results that can be cleared."""
        if message.role != "tool":
            return 0
        return sum([self.is_met_by(*result) for result in results_of(message)])

    def is_met_by(self, first: Part, *_: Part) -> bool:
        """Whether a result can be cleared: it is not a stub, and no rule protects it."""
        if first.kind == "stub" or (first.name and first.name in self.rule.exclude_tools):
            return False
        return self.count is None or self.count(first) > self._least

    @cached_property
    def _least(self) -> int:
        """Tokens of the placeholder."""
        assert self.count is not None
        return self.count(Part("tool_result", self.rule.placeholder, "synthetic", ()))


class _Use(NamedTuple):
    """A tool use that can be cleared: the positions of its result and its call."""

    message: int
    result: int
    call_message: int
    call: int


@dataclass
class Past:
    """The last history with its result, and the part that is final, for an extended history."""

    # source, result: the history before and after clearing
    source: Messages = field(default_factory=Messages)
    result: Messages = field(default_factory=Messages)
    final: int = 0  # index up to which the result stays final when the history grows
    saved: int = 0  # tokens saved before that index
    enough: bool = False  # whether clearing stopped because enough was cleared
    edits: Edits = field(default_factory=Edits)  # cache of edited messages

    def follow(self, messages: Messages) -> None:
        """Start over, unless a history extends the last one."""
        if self.source.shared(messages) < len(self.source):
            self.source = self.result = Messages()
            self.final, self.saved, self.enough = 0, 0, False


def clear_tool_uses(
    messages: Messages, clearable: Clearable, weight: Weight, excess: int, past: Past
) -> Messages:
    """Replace old tool results by placeholders, oldest first.

    All results count for ``keep``, whether they can be cleared or not. A result can only be cleared
    if its call is in the assistant message before it. ``excess`` is the excess of the prompt over
    the trigger. ``past`` is the result for the last history above the trigger, and is updated for
    LangChain's gate; with the API's gate, histories are already cleared.
    """
    rule = clearable.rule
    stop = _older(messages, rule.keep)
    if excess <= 0 or not messages[: stop[0] + 1].total(clearable):
        return messages
    past.follow(messages)
    if past.enough:
        past.result = past.result.branch(len(past.source), messages[len(past.source) :])
        past.source = messages
        return past.result
    first = _first(messages, clearable, stop, past.final)
    if rule.gate == "api" and messages[first : stop[0] + 1].total(weight) < rule.clear_at_least:
        return messages  # clearing all of them would not be enough
    changes = _Changes(messages, past.edits)
    final, saved, settled = _settled(messages, stop[0]), past.saved, past.saved
    for use in _uses(messages, clearable, stop, first):
        saved += changes.clear(use, rule, weight)
        settled = saved if use.message < final else settled
        past.enough = rule.gate == "langchain" and 0 < rule.clear_at_least <= saved
        if past.enough:
            break
    if rule.gate == "api":
        return changes.behind(messages) if saved >= rule.clear_at_least else messages
    result = changes.behind(past.result if past.final else messages, past.final)
    past.source, past.result, past.final, past.saved = messages, result, final, settled
    return result


def _settled(messages: Messages, stop: int) -> int:
    """Return the index of the first call whose results may still be too new."""
    return next((n for n in range(stop, -1, -1) if _assistant(messages[n : n + 1])), 0)


def _assistant(messages: Messages) -> bool:
    return any(message.role == "assistant" for message in messages)


@dataclass
class _Changes:
    """A history, with replacements of some of its messages."""

    messages: Messages
    edits: Edits
    changed: dict[int, Message] = field(default_factory=dict)

    def clear(self, use: _Use, rule: ClearToolResults, weight: Weight) -> int:
        """Clear a use; return the tokens saved, if they are needed."""
        saved = 0
        for index, place, edit in _edits(use, rule):
            before = self.changed.get(index, self.messages[index])
            how = (place, rule.placeholder)
            after = self.edits.of(before, how, partial(edit, before, place, rule.placeholder))
            self.changed[index] = after
            if rule.clear_at_least > 0:
                saved += weight(before) - weight(after)
        return saved

    def behind(self, base: Messages, final: int = 0) -> Messages:
        """Return the changed history; its first ``final`` messages are those of ``base``."""
        rest = self.messages if not final else base.branch(final, self.messages[final:])
        return rest.replace(self.changed)


def _results(message: Message) -> int:
    return len(results_of(message)) if message.role == "tool" else 0


def _older(messages: Messages, keep: int) -> tuple[int, int]:
    """Return the message index and result index before which results are not among the newest."""
    if not keep:
        return len(messages), 0
    index = messages.last_holding(_results, keep)
    if index is None:
        return 0, 0
    return index, messages[index:].total(_results) - keep


def _first(messages: Messages, clearable: Clearable, stop: tuple[int, int], start: int) -> int:
    """Return the index of the call with the first clearable result, from a message on."""
    prefix = messages[: stop[0] + 1]
    first = max(start, prefix.last_holding(clearable, prefix.total(clearable)) or 0)
    return next((n for n in range(first, -1, -1) if messages[n].role == "assistant"), first)


def _uses(
    messages: Messages, clearable: Clearable, stop: tuple[int, int], first: int
) -> Iterator[_Use]:
    """Yield the uses that can be cleared from a message on, oldest first."""
    caller: int | None = None
    for index, message in enumerate(messages[first : stop[0] + 1], first):
        if message.role == "assistant":
            caller = index
        for place, result in enumerate(results_of(message)):
            if caller is None or (index, place) >= stop or is_stub(result):
                continue
            call = _call(messages[caller], result[0].call_id)
            if call is None or not clearable.is_met_by(*result):
                continue
            name = result[0].name or messages[caller].parts[call].name
            if name not in clearable.rule.exclude_tools:
                yield _Use(index, place, caller, call)


def _call(message: Message, call_id: str) -> int | None:
    for index, part in enumerate(message.parts):
        if part.type == "tool_call" and part.call_id == call_id:
            return index
    return None


def _edits(use: _Use, rule: ClearToolResults) -> Iterator[tuple[int, int, _Edit]]:
    yield use.message, use.result, _clear_result
    if rule.clear_tool_inputs:
        yield use.call_message, use.call, _clear_input


def _clear_result(message: Message, index: int, placeholder: str) -> Message:
    return with_stubs(message, lambda other, _: placeholder if other == index else None)


def _clear_input(message: Message, index: int, _: str) -> Message:
    parts = list(message.parts)
    call = parts[index]
    parts[index] = msgspec.structs.replace(call, text="{}", kind=changed_to("stub", call))
    return msgspec.structs.replace(message, parts=tuple(parts))


_CLEARS = 100_000  # input tokens, by the documentation
_EDIT = Limit(f"{SIZE}, or 0", lambda value: value == 0 or is_size(value))
_LARGER = MappingProxyType({"size": "the place-holder of a tiny result is longer; langchain 1.4.7"})


@dataclass(frozen=True)
class ClearToolResults(Strategy):
    """Replace old tool results by a placeholder once the prompt is large.

    ``gate="api"`` is the request option ``clear_tool_uses_20250919`` of Anthropic's API (beta
    ``context-management-2025-06-27``), after its documentation and the types of the Python SDK
    (2.12). The client always sends the full history, and the service edits the prompt. By its
    documentation, each clearing costs one cache write, later requests read that, and
    ``clear_at_least`` decides whether breaking the cache is worth it. This requires that later
    requests repeat the same clearing, and that the trigger counts the cleared prompt. So a clearing
    lasts for the session, and a rewind reverts it. An edit that starts over at every request, like
    LangChain's, would always find the full history above the trigger, and break the cache at every
    tool use.

    Undocumented details follow LangChain: a result counts for ``keep`` even if its tool is
    excluded. Not exact: the text of the placeholder, and that results no larger than it stay. A
    trigger of ``tool_uses`` counts uncleared ones.

    ``gate="langchain"`` is ``ClearToolUsesEdit`` (langchain 1.4.7), exactly: it lasts for one
    request, tokens are LangChain's approximation without the system prompt, and clearing *stops* at
    ``clear_at_least``.

    Parameters
    ----------
    trigger
        Tokens, share of the window, or number of tool uses, beyond which results are
        cleared; None for 100,000 tokens, the API's default; 0 for always.
    trigger_type
        What the trigger counts: ``input_tokens`` of the prompt, or ``tool_uses``; LangChain has
        only the former.
    keep
        Number of newest tool uses that stay.
    clear_at_least
        Tokens. API: if less could be cleared, nothing is. LangChain: clearing stops when this much
        is cleared. 0 for no limit.
    exclude_tools
        Names of tools whose results stay.
    clear_tool_inputs
        Whether arguments of calls are removed, too.
    placeholder
        The text that replaces a result.
    gate
        ``api`` or ``langchain``.
    """

    does = (Act.CLEAR,)

    trigger: Annotated[int | float | None, _EDIT] = _CLEARS
    trigger_type: Literal["input_tokens", "tool_uses"] = "input_tokens"
    keep: Annotated[int, at_least(0)] = 3
    clear_at_least: Annotated[int, at_least(0)] = 0
    exclude_tools: tuple[str, ...] = ()
    clear_tool_inputs: bool = False
    placeholder: str = "[cleared]"
    gate: Literal["api", "langchain"] = "api"
    past: Past = field(default_factory=Past, init=False, repr=False, compare=False)
    weights: dict[Tokenizer, Clearable] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gate == "langchain" and self.trigger_type != "input_tokens":
            raise ValueError("trigger_type must be 'input_tokens' with gate='langchain'")
        if self.trigger_type == "tool_uses" and not isinstance(self.trigger, int):
            raise ValueError(f"trigger must be a whole number of tool uses, not {self.trigger!r}")

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        return Lifetime.REQUEST if self.gate == "langchain" else Lifetime.SESSION

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """LangChain's placeholder may be longer than the result."""
        return _LARGER if self.gate == "langchain" else MappingProxyType({})

    def compact(self, view: View, host: Host) -> View:
        excess = self._size(view, host) - self._most(host)
        if excess <= 0:
            return view
        weight: Weight = approximates(host) if self.gate == "langchain" else host.weight
        clearable = self._clearable(host.model.tokenizer)
        cleared = clear_tool_uses(view.messages, clearable, weight, excess, self.past)
        return view.with_messages(cleared)

    def _most(self, host: Host) -> int:
        """Return the largest size at which nothing is cleared."""
        if self.trigger_type == "tool_uses":
            return int(self.trigger or 0)
        return int(tokens_at(self.trigger, host, _CLEARS)) if self.trigger != 0 else 0

    def _clearable(self, tokenizer: Tokenizer) -> Clearable:
        if tokenizer not in self.weights:
            count = None if self.gate == "langchain" else tokenizer.part
            self.weights[tokenizer] = Clearable(self, count)
        return self.weights[tokenizer]

    def _size(self, view: View, host: Host) -> int:
        if self.trigger_type == "tool_uses":
            return view.messages.total(unstubbed)
        if self.gate == "langchain":
            return view.messages.total(approximates(host))
        return host.count(view)


def thoughts(message: Message) -> int:
    """Weigh a message by its parts of thinking, if it also has other parts."""
    found = sum(part.type == "thinking" for part in message.parts)
    return found if found < len(message.parts) else 0


def without_thinking(messages: Messages, keep: int) -> Messages:
    """Remove thinking, except in the newest turns that have any."""
    first = messages.last_holding(thoughts, messages.total(thoughts)) or 0
    changed, turns, thinks = {}, 0, False
    for index in range(len(messages) - 1, first - 1, -1):
        message = messages[index]
        if thoughts(message):
            thinks = True
            if turns >= keep:
                left = tuple(part for part in message.parts if part.type != "thinking")
                changed[index] = msgspec.structs.replace(message, parts=left)
        if message.starts_turn and thinks:
            turns, thinks = turns + 1, False
    return messages.replace(changed)


@dataclass(frozen=True)
class ClearThinking(Strategy):
    """Remove the thinking of earlier turns by a request option of the provider.

    ``clear_thinking_20251015`` of Anthropic's API (the same beta as :class:`ClearToolResults`),
    after its documentation and the types of the Python SDK (2.14.0): it keeps the thinking of the
    most recent assistant turns, and has no trigger. Each turn, the removal breaks the cache once.
    Without the option, models before Opus 4.5 and Sonnet 4.6, and all Haiku models, keep only the
    last turn's thinking; replays do that under any strategy. If both edits are used, this one comes
    first: ``clear_thinking + clear_tool_results``.

    The documentation does not define a turn. Here it is all answers between two user messages, and
    only turns with thinking count. An answer of only thinking stays.

    Parameters
    ----------
    keep
        Number of turns that keep their thinking.
    """

    does = (Act.CLEAR,)
    waits = "a new turn"

    keep: Annotated[int, at_least(1)] = 1

    def compact(self, view: View, host: Host) -> View:
        return view.with_messages(without_thinking(view.messages, self.keep))
