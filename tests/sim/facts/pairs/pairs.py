"""Labelled pairs of a fact and a text that may say it, for judging what reads states.

Rules are made on `dev.toml` and `dev2.toml`. `test.toml`, `test2.toml` and `test3.toml` are by
other authors; each was opened once, after the rules of its day, and rules are made on the first two
since. A label is what a careful reader of the text alone would say, never what code says.
`real_dev.toml` points to sentences of summaries that real agents wrote; their texts are not ours to
store, so a pair names file, line and characters, and the digest of what stands there.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from compactlab.sim.core.conversation import FactType

HERE = Path(__file__).parent
SHARED = HERE.parents[3].parent / "shared"

State = Literal["intact", "stale", "conflict", "mutated", "key_only", "lost"]
STATES: tuple[State, ...] = get_args(State)
CLASSES = (
    "inflected_key", "nominal_key", "synonym", "other_language", "negation", "prohibition_lifted",
    "prohibition_weakened", "prohibition_other_object", "swapped_values", "near_key", "formats",
    "paths", "supersession", "several_parts", "tables_and_lists", "reported_speech",
    "conditional_question", "hedge", "stub", "chance_mention", "implied_only",
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A fact, a text, and the state in which the text alone leaves the fact.

    Parameters
    ----------
    group
        The class of paraphrase, written ``class`` in files; "real" for a real sentence.
    key, value, polarity, kind, aliases, variants
        As in a :class:`compactlab.sim.core.conversation.Fact`.
    parts
        The values of a fact of several parts, all of which together state it.
    older
        The value of a version that this fact supersedes; "" if it supersedes none.
    text
        What the summary says.
    state
        What a careful reader of the text alone would say of the fact.
    why
        The reason for the label where it is not obvious.
    """

    group: str
    key: str
    value: str
    polarity: Literal["is", "must", "must_not"]
    kind: FactType
    text: str
    state: State
    aliases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    older: str = ""
    why: str = ""

    @property
    def kept(self) -> bool:
        """Whether the fact can be used rightly."""
        return self.state == "intact"


def read(name: str) -> list[Pair]:
    """Read the pairs of a half, ``dev`` or ``test``."""
    return [_pair(dict(table)) for table in _tables(name)]


def real(name: str) -> list[Pair]:
    """Read the real sentences of a half; skips the test where their recordings are absent."""
    tables = _tables(f"real_{name}")
    if not all((SHARED / table["file"]).is_file() for table in tables):
        pytest.skip("the recordings that these sentences stand in are not here")
    return [_pair(_with_text(dict(table))) for table in tables]


@cache
def summary(file: str, line: int) -> str:
    """The text of the summary on a line of a recording: its text parts, joined by line breaks."""
    with (SHARED / file).open(encoding="utf-8") as lines:
        record = next(each for number, each in enumerate(lines, 1) if number == line)
    content = json.loads(record)["message"]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def digest(text: str) -> str:
    """Sixteen hex digits of a sentence."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tables(name: str) -> list[dict[str, Any]]:
    pairs: list[dict[str, Any]] = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))["pair"]
    return pairs


def _with_text(table: dict[str, Any]) -> dict[str, Any]:
    """A real sentence with its text in the place of where it stands."""
    file, line = table.pop("file"), table.pop("line")
    text = summary(file, line)[table.pop("start") : table.pop("end")]
    if digest(text) != table.pop("sha256"):
        raise ValueError(f"{file}:{line}: another sentence stands here")
    return {"class": "real", **table, "text": text}


def _pair(table: dict[str, Any]) -> Pair:
    table["group"] = table.pop("class")
    table.setdefault("polarity", "is")
    table.setdefault("kind", "entity")
    table.setdefault("value", "")
    for field in ("aliases", "variants", "parts"):
        table[field] = tuple(table.get(field, ()))
    return Pair(**table)
