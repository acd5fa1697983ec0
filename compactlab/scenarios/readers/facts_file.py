"""A file of facts about a conversation that stands in another file (see docs/formats.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import jsonl, native
from compactlab.scenarios.readers.native import check_fact, check_need
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message
from compactlab.sim.facts.evidence import Wording

Labels = tuple[tuple[Fact, ...], tuple[Need, ...]]


def read_facts(path: str | Path, conversation: Conversation) -> Labels:
    """Read facts and needs of a conversation."""
    lines = jsonl.Lines(Path(path))
    collected = _Labels(conversation)
    for number, value in jsonl.values(lines):
        for place, item in enumerate(value if isinstance(value, list) else [value], 1):
            with lines.at(number), _item(place if isinstance(value, list) else 0):
                collected.take(item, number)
    for number, label in collected.labels:
        with lines.at(number):
            collected.check(label)
    facts = tuple(label for _, label in collected.labels if isinstance(label, Fact))
    if not facts:
        raise InputError("there is no fact in it", str(path))
    return facts, tuple(label for _, label in collected.labels if isinstance(label, Need))


@contextmanager
def _item(place: int) -> Iterator[None]:
    """Say of an error in a list which item it is about; items are counted from 1, 0 is none."""
    try:
        yield
    except (ValueError, InputError) as error:
        if not place:
            raise
        raise InputError(f"item {place}: {error}") from None


@dataclass
class _Labels:
    """The labels that were read, with their lines."""

    conversation: Conversation
    labels: list[tuple[int, Fact | Need]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._messages = {message.id: message for message in self.conversation.messages}
        self._ids: set[str] = set()

    def take(self, item: Any, line: int) -> None:
        """Read one item."""
        if not isinstance(item, dict):
            raise InputError("a fact is an object with a value")
        needs: list[Need] = []
        if item.get("type") not in ("fact", "need"):
            item, needs = self._plain(item)
        label = native.line(item)
        if isinstance(label, Fact):
            if label.id in self._ids:
                raise InputError(f"there is a fact {label.id!r} already")
            self._ids.add(label.id)
            if not label.value.strip():
                raise InputError(f"fact {label.id!r} has no value")
            if not label.origin and not label.decoy:
                raise InputError(f"no message of the conversation says {label.value!r}")
        self.labels += ((line, each) for each in (label, *needs))

    def check(self, label: Fact | Need) -> None:
        """See that what a label refers to is there; a need without a place comes after the end."""
        if isinstance(label, Fact):
            check_fact(label, self._messages, self._ids)
        elif label.at or label.fact not in self._ids:
            check_need(label, self._messages, self._ids)

    def _plain(self, item: dict[str, Any]) -> tuple[dict[str, Any], list[Need]]:
        """A plain object as a fact of the native format, and the needs that it tells."""
        if not isinstance(item.get("value"), str):
            raise InputError("a fact is an object with a value")
        usual = {"id": f"f{len(self._ids) + 1}", "fact": item.get("type", "entity"), "key": ""}
        fields = usual | item | {"type": "fact"}
        needed = fields.pop("needed", 0)
        origin = fields.get("origin", ())
        listed = origin if isinstance(origin, list) else [origin] if origin else []
        fields["origin"] = [{"id": each} if isinstance(each, str) else each for each in listed]
        if not listed and not fields.get("decoy"):
            fields["origin"] = [{"id": message.id} for message in self._saying(fields)]
        if isinstance(needed, int) and 0 <= needed <= _MOST:
            return fields, [Need(str(fields["id"]), "")] * needed
        if isinstance(needed, list) and all(isinstance(at, str) and at for at in needed):
            return fields, [Need(str(fields["id"]), at) for at in needed]
        raise InputError(f"`needed` is how often (up to {_MOST:,}), or a list of ids of answers")

    def _saying(self, fields: dict[str, Any]) -> Iterator[Message]:
        """The messages that say a fact, of which nobody says where it is stated."""
        fact = native.line(fields)
        for message in self.conversation.messages:
            parts = (part for part in message.parts if part.type != "thinking")
            if any(Wording(part.text).says(fact).said for part in parts):
                yield message


_MOST = 1_000
