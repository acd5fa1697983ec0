"""A structured summary whose fields are filled by rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import msgspec

from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered, Topic
from compactlab.sim.facts.needs import identifiers
from compactlab.sim.replay.summarize import Count, SummaryRequest, TurnRequest, Written
from compactlab.strategies.summarizers.extractive import Sized
from compactlab.strategies.summarizers.writer import (
    AHEAD,
    ASKED,
    BINDING,
    BROKEN,
    DECIDED,
    Unit,
    noted,
    units_of,
    words,
)

_BINDS = words(*BINDING, "must")
_DECIDES = words(*DECIDED)
_ASKS = re.compile(rf"{words(*ASKED).pattern}|[?\uff1f]\s*$", re.IGNORECASE)
_GOES_ON = words(*AHEAD)
_BREAKS = words(*BROKEN)
# A path with a folder, or a name with a suffix that is not an attribute's.
_FILE = re.compile(
    r"[\w.~-]*/[\w./~-]*\w|[\w-]+\.(?:c|cfg|cpp|css|csv|go|h|html|ini|java|js|json|lock|md|py|rs|sh"
    r"|sql|toml|ts|tsx|txt|xml|ya?ml)"
)


class Line(NamedTuple):
    """A line of a field, and its sources."""

    text: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Field:
    """A field of a structured summary."""

    name: str  # the label of each of its lines
    share: float  # maximum share of the budget. Guesses; they add up to 1
    # Speakers whose units it reads; "" stands for lines of a summary.
    said_by: tuple[str, ...]
    finds: Callable[[Unit], Iterable[str]]  # extracts texts from a unit
    keeps: Literal["first", "last"]  # lines to keep if there are too many
    topic: Topic  # of its lines in notes
    most: int = 0  # maximum number of lines; 0 for no limit

    def lines(self, units: Iterable[Unit]) -> Iterator[Line]:
        """Yield the lines that the rule finds, in order."""
        for unit in units:
            if unit.role in self.said_by:
                for text in self.finds(unit):
                    yield Line(text, unit.sources)

    def written(self, lines: Iterable[Line], budget: int, count: Count) -> list[Part]:
        """Write as many lines as the field's budget allows, each as a separate part.

        Equal lines count once: the first or the last one, depending on ``keeps``.
        """
        ordered = list(lines)
        if self.keeps == "last":
            ordered.reverse()
        parts: list[Part] = []
        room = int(budget * self.share)
        for line in _once(ordered):
            text = f"{self.name}: {line.text}"
            room -= count(text)
            if room < 0 or 0 < self.most <= len(parts):
                break
            parts.append(Part("text", text, "summary", line.sources))
        return parts if self.keeps == "first" else parts[::-1]

    def read(self, part: Part) -> Line | None:
        label, _, text = part.text.partition(": ")
        return Line(text, part.sources) if label == self.name and text else None


def _once(lines: Iterable[Line]) -> Iterator[Line]:
    seen: set[str] = set()
    for line in lines:
        if line.text not in seen:
            seen.add(line.text)
            yield line


def _text(unit: Unit) -> Iterable[str]:
    return (unit.text,) if unit.type == "text" else ()


def _with(cue: re.Pattern[str]) -> Callable[[Unit], Iterable[str]]:
    return lambda unit: _text(unit) if cue.search(unit.text) else ()


def _files(unit: Unit) -> Iterable[str]:
    if unit.type != "tool_call":
        return ()
    return sorted(name for name in identifiers(unit.text) if _FILE.fullmatch(name))


def _errors(unit: Unit) -> Iterable[str]:
    if unit.type == "tool_result" or not unit.role:
        return (unit.text,) if unit.failed or _BREAKS.search(unit.text) else ()
    return ()


GOAL = Field("Goal", 0.05, ("user", ""), _text, "first", "action", most=1)
CONSTRAINTS = Field("Constraint", 0.2, ("user", ""), _with(_BINDS), "first", "decision")
DECISIONS = Field("Decision", 0.2, ("user", "assistant", ""), _with(_DECIDES), "last", "decision")
FILES = Field("File", 0.2, ("assistant",), _files, "last", "progress")
OPEN = Field("Open", 0.15, ("user", ""), _with(_ASKS), "last", "action")
NEXT = Field("Next", 0.05, ("assistant", ""), _with(_GOES_ON), "last", "action", most=1)
ERRORS = Field("Error", 0.15, ("tool", ""), _errors, "last", "progress")
FIELDS = (GOAL, CONSTRAINTS, DECISIONS, FILES, OPEN, NEXT, ERRORS)


@dataclass(frozen=True)
class Checklist(Sized):
    """Fill a form by rules: goal, constraints, decisions, files, open issues, next step, errors.

    Every line quotes a sentence or a line of the conversation, or names a file from a tool call's
    arguments. It is a separate part with its source, and begins with its field's name. The rules
    search for cue words (``units.py``), which synthetic conversations avoid. Each field has a share
    of the budget. If there are too many lines, goal and constraints keep the first, the others the
    last.

    Parameters
    ----------
    mode
        ``merge``: the previous summary's fields stay, and new lines are added. ``regenerate``: all
        fields are filled again from the input, including the previous summary. Factory.ai compared
        these methods in December 2025 (anchored merge 2.45 of 5 on artifacts, regenerated 2.33).
    files
        Whether there is a field for files.
    """

    mode: Literal["merge", "regenerate"] = "merge"
    files: bool = True

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        lines = [(part, *_line_in(part)) for part in request.previous]
        if self.mode == "merge":
            held = [(field, line) for _, field, line in lines if field and line]
            other = tuple(part for part, field, _ in lines if field is None)
            units = list(units_of(replace(request, previous=other)))
        else:
            bare = (
                msgspec.structs.replace(part, text=line.text) if line else part
                for part, _, line in lines
            )
            units, held = list(units_of(replace(request, previous=tuple(bare)))), []
        budget = min(request.max_tokens, self.tokens)
        parts: list[Part] = []
        for field in FIELDS:
            if self.files or field is not FILES:
                carried = [line for name, line in held if name is field]
                parts += field.written([*carried, *field.lines(units)], budget, count)
        return tuple(parts)

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Fill the form from the visible messages; each line that no note has becomes one."""
        units = list(units_of(SummaryRequest(tuple(messages), request.max_tokens)))
        known = noted(messages)
        notes: list[Remembered] = []
        for field in FIELDS:
            if self.files or field is not FILES:
                # For a field with a single line, the noted line is kept.
                lines = (
                    line
                    for line in field.lines(units)
                    if field.most or not known.issuperset(line.sources)
                )
                notes += (
                    Remembered(field.topic, part.text, part.sources)
                    for part in field.written(lines, request.max_tokens, count)
                    if not known.issuperset(part.sources)
                )
        return Written(request.silent, tuple(notes))


def _line_in(part: Part) -> tuple[Field | None, Line | None]:
    lines = ((field, field.read(part)) for field in FIELDS)
    return next(((field, line) for field, line in lines if line), (None, None))
