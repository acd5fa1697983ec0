"""tau-bench: dialogues of customer, agent and tools, with the tasks' arguments as facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.script import Format, conversations
from compactlab.scenarios.readers.shapes import is_task
from compactlab.sim.core.conversation import Conversation, Fact, FactType, Need
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Part, Source

NAME = "tau-bench"

LEAST = 3  # characters; shorter values occur anywhere by chance
# Tools that can be called again with the same result, in both domains of tau-bench.
_LOOKS = ("get_", "search_", "list_", "find_", "calculate")
_CHOICE = re.compile("[a-z_]+")
_ANY = msgspec.json.Decoder(Any)


class _Argument(NamedTuple):
    name: str
    value: str


class _Use(NamedTuple):
    """A message (by index) that calls a tool with an argument."""

    place: int
    tool: str


class _Action(msgspec.Struct):
    kwargs: dict[str, Any] = {}


class _Task(msgspec.Struct):
    actions: list[_Action] = []


class _Info(msgspec.Struct):
    task: _Task = msgspec.field(default_factory=_Task)


class _Trajectory(msgspec.Struct):
    task_id: int | str
    trial: int | str = 0
    info: _Info = msgspec.field(default_factory=_Info)


def _sniff(first: list[Any]) -> bool:
    return any(is_task(item) for value in first for item in chat.items(value))


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a file in its order."""
    taken: dict[str, int] = {}
    for each in conversations(lines, _conversation, chat.items):
        count = taken[each.id] = taken.get(each.id, 0) + 1
        id = each.id if count == 1 else f"{each.id}/{count}"
        yield replace(each, id=id)


def _conversation(lines: jsonl.Lines, item: Any, _: int) -> Conversation:
    if not is_task(item):
        raise InputError("a trajectory needs a task_id and a list under traj")
    of = msgspec.convert(item, _Trajectory)
    id = f"{lines.path.stem}/task-{of.task_id}/trial-{of.trial}"
    conversation = chat.script(item, lines).conversation(id, NAME, lines.path)
    leaves = (leaf for action in of.info.task.actions for leaf in _leaves("", action.kwargs))
    wanted = dict.fromkeys(leaf for leaf in leaves if len(leaf.value) >= LEAST)
    facts, needs = _labels(conversation.messages, wanted)
    return replace(conversation, facts=tuple(facts), needs=tuple(needs))


def _labels(
    messages: tuple[Message, ...], wanted: Iterable[_Argument]
) -> tuple[list[Fact], list[Need]]:
    """Make facts of the arguments that were stated before a call used them."""
    uses: dict[_Argument, list[_Use]] = {}
    for index, message in enumerate(messages):
        for argument, tool in _arguments(message).items():
            uses.setdefault(argument, []).append(_Use(index, tool))
    facts: list[Fact] = []
    needs: list[Need] = []
    for argument in wanted:
        stated = _stated(messages, argument.value) if argument in uses else []
        if not stated:
            continue
        first, _ = stated[0]
        later = [use for use in uses[argument] if use.place > first]
        if later:
            fact = _fact(argument, messages[first], tuple(source for _, source in stated))
            facts.append(fact)
            needs += (Need(fact.id, messages[use.place].id, use.tool) for use in later)
    return facts, needs


def _fact(argument: _Argument, first: Message, origin: tuple[Source, ...]) -> Fact:
    kind: FactType = "preference" if _CHOICE.fullmatch(argument.value) else "entity"
    handle = ""
    if first.role == "tool":
        kind = "tool_detail"
        handle = first.id if first.parts[0].name.startswith(_LOOKS) else ""
    return Fact(
        f"{argument.name}={argument.value}", kind, "", argument.value, origin, handle=handle
    )


def _stated(messages: tuple[Message, ...], value: str) -> list[tuple[int, Source]]:
    """Find a value as a whole word: indices of messages, with the spans."""
    word = re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w)(?![.,]\d)")
    return [
        (place, Source(message.id, index, match.start(), match.end()))
        for place, message in enumerate(messages)
        for index, part in enumerate(message.parts)
        for match in word.finditer(part.text)
    ]


def _arguments(message: Message) -> dict[_Argument, str]:
    arguments: dict[_Argument, str] = {}
    for part in message.parts:
        if part.type == "tool_call":
            for argument in _leaves("", _decoded(part)):
                arguments.setdefault(argument, part.name)
    return arguments


def _decoded(part: Part) -> Any:
    try:
        return _ANY.decode(part.text)
    except ValueError:
        return None


def _leaves(name: str, value: Any) -> Iterator[_Argument]:
    """Yield the texts and numbers in arguments, each with the nearest key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield _Argument(name, str(value))


FORMAT = Format(
    NAME,
    "historical trajectories of tau-bench (JSON), with the tasks' arguments as facts",
    _sniff,
    read,
)
