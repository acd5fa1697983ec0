"""LoCoMo: long dialogues of two persons, with questions and the turns that answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.script import Format, Script, conversations
from compactlab.scenarios.readers.shapes import fits
from compactlab.sim.core.conversation import Conversation, Fact, FactType, Need, PassedOver
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Role, Source, verbatim

NAME = "locomo"

GAP = 60.0  # seconds between turns; only the start of a session is recorded
CLOSING = "closing"  # id of the last answer, whose call needs all facts in question
# By number: the name of a question category, and the type of its fact. The numbers are kinds of
# reasoning. All categories ask about persons and events; 3 is mostly about wishes.
_CATEGORIES: dict[int, tuple[str, FactType]] = {
    1: ("multi-hop", "entity"),
    2: ("temporal", "entity"),
    3: ("inference", "preference"),
    4: ("single-hop", "entity"),
}
_UNANSWERABLE = 5
_STAMP = re.compile(r"(\d+):(\d\d) ([ap])m on (\d+) ([A-Z][a-z]{2})[a-z]*, (\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class _Turn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


# Fields of an image: its URL, its search query, and a flag for a second download.
_READ = (*_Turn.__struct_fields__, "img_url", "query", "re-download")


class _Question(msgspec.Struct):
    question: str
    category: int
    answer: str | int | float | None = None
    evidence: list[str] = []


class _Sample(msgspec.Struct):
    conversation: dict[str, Any]
    qa: list[_Question]
    sample_id: str = ""


def _sniff(first: list[Any]) -> bool:
    return any(_is_sample(item) for value in first for item in _samples(value))


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversations of a file."""
    yield from conversations(lines, _conversation, _samples)


def _samples(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_sample(item: Any) -> bool:
    return fits(item, {"conversation": {"speaker_a": str, "speaker_b": str}, "qa": list})


def _conversation(lines: jsonl.Lines, item: Any, number: int) -> Conversation:
    sample = msgspec.convert(item, _Sample)
    script = Script()
    _talk(script, sample.conversation, lines)
    closing = script.draft("assistant", CLOSING, script.last.time + GAP if script.last else 0.0)
    closing.call = Call()
    ids = {draft.id for draft in script.path}
    script.add(closing)
    facts, needs, unresolved = _labels(sample.qa, ids, closing.id)
    made = script.conversation(f"{lines.path.stem}/{sample.sample_id or number}", NAME, lines.path)
    passed = (PassedOver("evidence that leads to no turn", unresolved),) if unresolved else ()
    return replace(made, facts=tuple(facts), needs=tuple(needs), passed_over=passed)


def _talk(script: Script, talk: dict[str, Any], lines: jsonl.Lines) -> None:
    user, assistant = (msgspec.convert(talk.get(f"speaker_{x}"), str) for x in "ab")
    roles: dict[str, Role] = {assistant: "assistant", user: "user"}
    numbers = sorted(int(k[8:]) for k in talk if k.startswith("session_") and k[8:].isdigit())
    known = {f"session_{number}" for number in numbers}
    for key, value in talk.items():
        if isinstance(value, list) and key not in known:
            if lines.strict:
                raise InputError(f"{key!r} is not a session of a talk")
            lines.pass_over(f"field {key!r} of a talk", value)
    for number in numbers:
        key = f"session_{number}"
        start = _seconds(talk.get(f"{key}_date_time"))
        for index, value in enumerate(msgspec.convert(talk[key], list[Any])):
            with lines.at(0, value):
                turn = msgspec.convert(value, _Turn)
                for name in value.keys() - set(_READ):
                    lines.pass_over(f"field {name!r} of a turn", value[name])
                if turn.speaker not in roles:
                    raise InputError(f"{turn.speaker!r} in {key} is none of the two speakers")
                _take(script, turn, roles[turn.speaker], start + index * GAP)


def _take(script: Script, turn: _Turn, role: Role, time: float) -> None:
    draft = script.draft(role, turn.dia_id, time)
    image = f"[image: {turn.blip_caption}]" if turn.blip_caption else ""
    if text := " ".join(filter(None, (turn.text, image))):
        draft.parts = [verbatim(draft.id, "text", text)]
    if role == "assistant":
        draft.call = Call()
    script.add(draft)


def _seconds(stamp: Any) -> float:
    # strptime is not used, because it reads months in the locale's language.
    match = _STAMP.fullmatch(stamp) if isinstance(stamp, str) else None
    if match is None or match[5] not in _MONTHS:
        raise InputError(f"{stamp!r} is not a time like '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    month = _MONTHS.index(match[5]) + 1
    when = datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    return when.timestamp()


def _labels(
    questions: list[_Question], ids: set[str], closing: str
) -> tuple[list[Fact], list[Need], int]:
    facts, needs, unresolved = [], [], 0
    for number, asked in enumerate(questions, 1):
        if asked.category == _UNANSWERABLE:
            continue
        if asked.category not in _CATEGORIES:
            raise InputError(f"{asked.category} is not a category of a question")
        evidence = [id for id in dict.fromkeys(asked.evidence) if id in ids]
        unresolved += sum(id not in ids for id in asked.evidence)
        if not evidence or asked.answer is None:
            continue
        category, kind = _CATEGORIES[asked.category]
        origin = tuple(map(Source, evidence))
        fact = Fact(f"{category}-{number}", kind, "", str(asked.answer), origin, whole=True)
        facts.append(fact)
        needs.append(Need(fact.id, closing, asked.question))
    return facts, needs, unresolved


FORMAT = Format(NAME, "conversations and questions of LoCoMo (JSON)", _sniff, read)
