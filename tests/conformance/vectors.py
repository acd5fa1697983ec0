"""Vector files: what real programs answered to given inputs.

A file is `{"function", "package", "version", "cases": [{"name", "input", "output"}], ...}`; what
else it holds (`conversations`, `sessions`, `settings`) is shared by its cases. Place-holders stand
for what is long or what JSON cannot say; those of inputs are expanded, those of outputs compared.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNDEFINED = type("Undefined", (), {"__repr__": lambda self: "undefined"})()


@dataclass(frozen=True)
class Case:
    """One question to a function, and its answer.

    `shared` is what the file says beside its cases, expanded; `answers` are the outputs of all of
    them, for wording that is not ours and has to be read there.
    """

    file: str
    function: str
    version: str
    name: str
    input: Mapping[str, Any]
    output: Any
    shared: Mapping[str, Any]
    answers: Sequence[Any] = ()

    @property
    def id(self) -> str:
        return f"{self.file}::{self.name}"

    def named(self, kind: str, key: str = "messages") -> Any:
        """A conversation, session or setting that the input names; or what stands there itself."""
        value = self.input[key]
        return self.shared[kind][value] if isinstance(value, str) else value


_PLACE_HOLDERS: dict[str, Callable[[Any], Any]] = {
    "$rep": lambda inside: expand(inside[0]) * inside[1],
    "$cat": lambda inside: "".join(expand(piece) for piece in inside),
    "$num": lambda inside: float(inside.replace("Infinity", "inf")),
    "$undefined": lambda _: UNDEFINED,
}


def expand(value: Any) -> Any:
    """Replace place-holders by what they stand for."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    key = next(iter(value), "")
    if len(value) == 1 and key in _PLACE_HOLDERS:
        return _PLACE_HOLDERS[key](value[key])
    return {key: expand(item) for key, item in value.items()}


def function_of(path: Path) -> str:
    """The function that the cases of a file are about."""
    name: str = json.loads(path.read_text(encoding="utf-8"))["function"]
    return name


def read(path: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    around = ("function", "version", "cases")
    shared = expand({key: value for key, value in data.items() if key not in around})
    answers = [case["output"] for case in data["cases"]]
    for case in data["cases"]:
        yield Case(
            path.name,
            data["function"],
            str(data.get("version", "")),
            case["name"],
            expand(case["input"]),
            case["output"],
            shared,
            answers,
        )


def differences(expected: Any, got: Any, where: str = "") -> Iterator[str]:
    """Say where an answer is another than the one that was recorded."""
    if isinstance(expected, dict) and "$str" in expected:
        yield from _other_text(expected["$str"], got, where)
    elif isinstance(expected, dict) and "$num" in expected:
        yield from differences(expand(expected), got, where)
    elif isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted(expected.keys() | got.keys()):
            here = f"{where}.{key}".lstrip(".")
            if key not in got:
                yield f"{here} is missing"
            elif key not in expected:
                yield f"{here} is too much: {got[key]!r:.100}"
            else:
                yield from differences(expected[key], got[key], here)
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            yield f"{where} has {len(got)} items instead of {len(expected)}"
        for number, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from differences(one, other, f"{where}[{number}]")
    elif not _same(expected, got):
        yield f"{where} is {got!r:.300} instead of {expected!r:.300}"


def _same(expected: Any, got: Any) -> bool:
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(got, float) and math.isnan(got)
    return bool(expected == got)


def _other_text(told: Mapping[str, Any], got: Any, where: str) -> Iterator[str]:
    """Long texts are known by length, hash, beginning and end, in UTF-16."""
    if not isinstance(got, str):
        yield f"{where} is {got!r:.100} instead of a text"
        return
    units = got.encode("utf-16-le", "surrogatepass")
    if len(units) // 2 != told["utf16_length"]:
        yield f"{where} has {len(units) // 2} characters instead of {told['utf16_length']}"
    if hashlib.sha256(units).hexdigest() != told["sha256_utf16le"]:
        end = got[-240:]
        yield f"{where} is another text; it ends {end!r} instead of {told.get('tail', '')!r}"
