"""Fields that a format did not have when its reader was written, and what may stand in them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from compactlab.sim.core.errors import InputError

# Fields with such a word in their name may hold what was said. Text in any other unknown field is
# taken for a label, such as the name of a mode.
_SAYING = (
    "args",
    "argument",
    "body",
    "call",
    "content",
    "definition",
    "input",
    "instruction",
    "message",
    "note",
    "observation",
    "output",
    "part",
    "prompt",
    "reasoning",
    "response",
    "result",
    "step",
    "summary",
    "text",
    "think",
    "thought",
    "tool",
    "trajector",
    "value",
    "words",
)
# But for those that end like this: they tell of something and do not say it.
_LABELS = (
    "at",
    "count",
    "effort",
    "hash",
    "id",
    "ids",
    "keep",
    "kind",
    "level",
    "mode",
    "ms",
    "name",
    "path",
    "status",
    "type",
)


def refuse_unread(value: Any, known: Collection[str], whose: str) -> None:
    """Fail if something seems to be said in a field that is not known.

    Examples
    --------
    >>> refuse_unread({"text": "a", "text_id": "b", "mood": "c", "tokens_output": 4}, {"text"}, "x")
    >>> refuse_unread({"new_text": "a"}, {"text"}, "it")
    Traceback (most recent call last):
        ...
    compactlab.sim.core.errors.InputError: it holds something under 'new_text', which is not read
    """
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key not in known and inner and isinstance(inner, str | list | dict) and _says(key):
            raise InputError(f"{whose} holds something under {key!r}, which is not read")


def _says(key: str) -> bool:
    plain = key.replace("_", "").replace("-", "").lower()
    return any(word in plain for word in _SAYING) and not plain.endswith(_LABELS)
