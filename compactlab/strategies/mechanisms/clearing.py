"""Clearing the results of old tool uses: Anthropic's context editing, and LangChain's like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.view import Messages, Weight
from compactlab.strategies.mechanisms.stub import Edits, is_stub, results_of, with_stubs

Gate = Literal["api", "langchain"]

_Edit = Callable[[Message, frozenset[int], "Clearing", Edits], Message]


@dataclass(frozen=True)
class Clearing:
    """What is cleared, once it is time.

    Parameters
    ----------
    keep
        How many of the newest tool results stay.
    clear_at_least
        Tokens. Under ``api`` nothing is cleared unless so many can be; under ``langchain``
        clearing stops as soon as so many have been. 0 for no such rule.
    exclude_tools
        Tools whose results stay.
    clear_tool_inputs
        Whether the arguments of a cleared result's call go too; or the tools of which they go.
    placeholder
        What stands in the place of a result.
    gate
        Who is followed.
    """

    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: tuple[str, ...] = ()
    clear_tool_inputs: bool | tuple[str, ...] = False
    placeholder: str = "[cleared]"
    gate: Gate = "api"

    def __call__(self, message: Message) -> int:
        """Weigh a message by how many of its results can be cleared, as far as it tells itself."""
        return sum(self.clears(*result) for result in results_of(message))

    def clears(self, first: Part, *_: Part) -> bool:
        """Whether a result can be cleared: it still says something, and no rule keeps it.

        What is no longer than its place-holder stays; LangChain makes no such difference.
        """
        if first.kind == "stub" or (first.name and first.name in self.exclude_tools):
            return False
        return self.gate == "langchain" or len(first.text) > len(self.placeholder)


class _Use(NamedTuple):
    """A tool use that can be cleared: where its result and its call stand."""

    message: int
    result: int
    call_message: int
    call: int


def clear_tool_uses(
    messages: Messages, rule: Clearing, weight: Weight, excess: int, edits: Edits
) -> Messages:
    """Put place-holders in the place of old tool results, oldest first.

    A result counts for ``keep`` whether it can be cleared or not. It can only be cleared if its
    call is in the assistant message before it.

    Parameters
    ----------
    messages
        The history.
    rule
        What is cleared.
    weight
        Counts the tokens of a message.
    excess
        Tokens (or tool uses) by which the prompt is above the trigger; at 0 or below, nothing
        happens.
    edits
        Messages that have been edited before.

    Returns
    -------
    Messages
        The history with place-holders; itself, if nothing was cleared.
    """
    stop = _older(messages, rule.keep)
    if excess <= 0 or not messages[: stop[0] + 1].total(rule):
        return messages
    changed: dict[int, Message] = {}
    cleared: dict[int, frozenset[int]] = {}
    saved = 0
    for use in _uses(messages, rule, stop):
        for index, place, edit in _edits(messages, use, rule):
            places = cleared[index] = cleared.get(index, frozenset()) | {place}
            before = changed.get(index, messages[index])
            changed[index] = edit(messages[index], places, rule, edits)
            if rule.clear_at_least > 0:
                saved += weight(before) - weight(changed[index])
        if rule.gate == "langchain" and 0 < rule.clear_at_least <= saved:
            break
    if not changed or (rule.gate == "api" and saved < rule.clear_at_least):
        return messages
    first = min(changed)
    return messages.branch(
        first, [changed.get(i, m) for i, m in enumerate(messages[first:], first)]
    )


def _results(message: Message) -> int:
    return len(results_of(message))


def _older(messages: Messages, keep: int) -> tuple[int, int]:
    """Before which message, and before which of its results, a result is not one of the newest."""
    if keep < 0:  # as Python slices: all but the oldest so many
        keep = max(0, messages.total(_results) + keep)
    if not keep:
        return len(messages), 0
    index = messages.last_holding(_results, keep)
    if index is None:
        return 0, 0
    return index, messages[index:].total(_results) - keep


def _uses(messages: Messages, rule: Clearing, stop: tuple[int, int]) -> Iterator[_Use]:
    """The uses that can be cleared, oldest first."""
    prefix = messages[: stop[0] + 1]
    first = prefix.last_holding(rule, prefix.total(rule)) or 0
    caller = next((n for n in range(first, -1, -1) if messages[n].role == "assistant"), None)
    for index, message in enumerate(prefix[first:], first):
        if message.role == "assistant":
            caller = index
        for place, result in enumerate(results_of(message)):
            if caller is None or (index, place) >= stop or is_stub(result):
                continue
            call = _call(messages[caller], result[0].call_id)
            if call is None or not rule.clears(*result):
                continue
            if (result[0].name or messages[caller].parts[call].name) not in rule.exclude_tools:
                yield _Use(index, place, caller, call)


def _call(message: Message, call_id: str) -> int | None:
    return next(
        (
            place
            for place, part in enumerate(message.parts)
            if part.type == "tool_call" and part.call_id == call_id
        ),
        None,
    )


def _edits(messages: Messages, use: _Use, rule: Clearing) -> Iterator[tuple[int, int, _Edit]]:
    yield use.message, use.result, _clear_results
    name = messages[use.call_message].parts[use.call].name
    which = rule.clear_tool_inputs
    if which is True or (which and name in which):
        yield use.call_message, use.call, _clear_inputs


def _clear_results(
    message: Message, places: frozenset[int], rule: Clearing, edits: Edits
) -> Message:
    return edits.of(
        message,
        (places, rule.placeholder),
        lambda: with_stubs(message, lambda place, _: rule.placeholder if place in places else None),
    )


def _clear_inputs(
    message: Message, places: frozenset[int], rule: Clearing, edits: Edits
) -> Message:
    def edit() -> Message:
        parts = tuple(
            msgspec.structs.replace(part, text="{}", kind="stub") if place in places else part
            for place, part in enumerate(message.parts)
        )
        return msgspec.structs.replace(message, parts=parts)

    return edits.of(message, (places,), edit)
