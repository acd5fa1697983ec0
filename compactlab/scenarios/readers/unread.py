"""Content that a format did not have when its reader was written: texts and token counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from compactlab.sim.core.errors import RefusedError

# Words in the names of fields that may have text. Text in other unknown fields is taken for a
# label, such as the name of a mode.
_SAYING = (
    "args", "argument", "body", "call", "content", "definition", "input", "instruction", "message",
    "note", "observation", "output", "part", "prompt", "reasoning", "response", "result", "step",
    "summary", "text", "think", "thought", "tool", "trajector", "value", "words",
)  # fmt: skip
# Fields with these endings are exceptions: they describe a text.
_LABELS = (
    "at", "count", "effort", "hash", "id", "ids", "keep", "kind", "level", "mode", "ms", "name",
    "path", "status", "type",
)  # fmt: skip


# Fields with such a name never have text.
_MARKS = ("hash", "id", "role", "time", "timestamp", "type", "version")
# A number with such a name is a total that includes its neighbours.
_TOTAL = "total"
_DEEPEST = 64  # depth of the search


def unknown_fields(value: Any, known: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object that are unknown and seem to have text.

    Examples
    --------
    >>> dict(unknown_fields({"text": "a", "text_id": "b", "mood": "c", "new_text": "d"}, {"text"}))
    {'new_text': 'd'}
    """
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key not in known and inner and isinstance(inner, str | list | dict) and says(key):
            yield key, inner


def edit_refused(what: str, file: str) -> RefusedError:
    """Make the error for an unknown edit of the context by a client."""
    wrong = f"the prompts would be wrong, so that not even --lenient reads this {file}"
    return RefusedError(f"{what}; {wrong}")


def characters_of(value: Any) -> int:
    """Count the characters of all text in a value, without names, ids and times.

    Examples
    --------
    >>> characters_of({"id": "a1", "parts": [{"type": "note", "body": "hello"}]})
    5
    """
    return sum(len(text) for text in _texts(value, _DEEPEST))


def typed(value: Any, kind: str) -> Any:
    """Find the first object of a type within lists of a value; None if there is none.

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
    """Return the token count of the first object in a value that has one.

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
    """Whether a field with this name seems to have text, and not a label or a flag."""
    plain = _plain(key)
    return any(word in plain for word in _SAYING) and not plain.endswith(_LABELS)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


_LARGEST = 10**12
