"""What a format did not have when its reader was written: its text, and the tokens it counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from compactlab.sim.core.errors import RefusedError

# Fields with such a word in their name may hold what was said. Text in any other unknown field is
# taken for a label, such as the name of a mode.
_SAYING = (
    "args", "argument", "body", "call", "content", "definition", "input", "instruction", "message",
    "note", "observation", "output", "part", "prompt", "reasoning", "response", "result", "step",
    "summary", "text", "think", "thought", "tool", "trajector", "value", "words",
)  # fmt: skip
# But for those that end like this: they tell of something and do not say it.
_LABELS = (
    "at", "count", "effort", "hash", "id", "ids", "keep", "kind", "level", "mode", "ms", "name",
    "path", "status", "type",
)  # fmt: skip


# What stands under such a name is no text at all.
_MARKS = ("hash", "id", "role", "time", "timestamp", "type", "version")
# Where a number under such a name is a total, it holds those beside it.
_TOTAL = "total"
_DEEPEST = 64  # levels that are looked into


def unknown_fields(value: Any, known: Collection[str]) -> Iterator[tuple[str, Any]]:
    """The fields of an object that are not known and seem to say something.

    Examples
    --------
    >>> dict(unknown_fields({"text": "a", "text_id": "b", "mood": "c", "new_text": "d"}, {"text"}))
    {'new_text': 'd'}
    """
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key not in known and inner and isinstance(inner, str | list | dict) and says(key):
            yield key, inner


def edit_refused(what: str, file: str) -> RefusedError:
    """What to raise where a client edited the context in a way that is not known."""
    wrong = f"the prompts would be wrong, so that not even --lenient reads this {file}"
    return RefusedError(f"{what}; {wrong}")


def characters_of(value: Any) -> int:
    """Characters of all text in a value; names, ids and times are none.

    Examples
    --------
    >>> characters_of({"id": "a1", "parts": [{"type": "note", "body": "hello"}]})
    5
    """
    return sum(len(text) for text in _texts(value, _DEEPEST))


def typed(value: Any, kind: str) -> Any:
    """The first object in a list of a value that is of a type; None if there is none.

    Examples
    --------
    >>> typed({"content": [{"type": "text"}, {"type": "poem", "body": "x"}]}, "poem")
    {'type': 'poem', 'body': 'x'}
    >>> typed({"content": [{"type": "text"}, {"body": "x"}]}, "")
    {'body': 'x'}
    """
    todo = deque([value])
    while todo:
        item = todo.popleft()
        if isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            for each in item:
                if isinstance(each, dict) and (each.get("type") or "") == kind:
                    return each
            todo += item
    return None


def tokens_of(value: Any) -> int:
    """The tokens that a value counts: of the first object in it that counts any.

    Examples
    --------
    >>> tokens_of({"usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}})
    12
    """
    return next(_counts(value, _DEEPEST), 0)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            yield from _texts(item, depth - 1)
    elif depth and isinstance(value, dict):
        for key, item in value.items():
            if not (isinstance(item, str) and _plain(key).endswith(_MARKS)):
                yield from _texts(item, depth - 1)


def _counts(value: Any, depth: int) -> Iterator[int]:
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        counts = {
            key: number for key, number in value.items()
            if "token" in key.lower() and type(number) is int and 0 < number <= _LARGEST
        }  # fmt: skip
        totals = [number for key, number in counts.items() if _TOTAL in key.lower()]
        if counts:
            yield max(totals) if totals else sum(counts.values())
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    for item in inner if depth else ():
        yield from _counts(item, depth - 1)


def says(key: str) -> bool:
    """Whether something seems to be said under a name; labels and marks tell of something."""
    plain = _plain(key)
    return any(word in plain for word in _SAYING) and not plain.endswith(_LABELS)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


_LARGEST = 10**12
