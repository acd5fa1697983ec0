"""What of an output, or of an error, a snapshot shall hold: in lines that fit."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import pytest

# The folder of a test, of which a snapshot knows nothing.
FOLDER = re.compile(r"[^\s'\"]*/pytest-of-[^/]+/pytest-\d+/(?:popen-gw\d+/)?[^/\s'\":]+/?")


def fitting(text: str | Sequence[str]) -> str:
    """Return a text, or several, without the test's folder, the lines folded."""
    whole = text if isinstance(text, str) else "\n".join(text)
    return "\n".join(fill(line, 90) for line in FOLDER.sub("", whole).splitlines())


def lines_with(text: str, *words: str) -> str:
    """Return the lines that have one of some words in them, without what indents them."""
    lines = text.splitlines()
    return fitting("\n".join(line.strip() for line in lines if any(w in line for w in words)))


def refusal(error: type[BaseException], call: Callable[[], object]) -> str:
    """Return what the error says that a call must end with."""
    with pytest.raises(error) as caught:
        call()
    return fitting(str(caught.value))


def refusals(
    error: type[BaseException],
    call: Callable[[Any], object],
    given: Iterable[Any],
    here: Path = Path("HERE"),
) -> str:
    """Return each thing given and, under it, what the error says that the call must end with.

    A place that the error may name is called HERE.
    """
    told = ""
    for each in given:
        with pytest.raises(error) as caught:
            call(each)
        said = fitting(str(caught.value).replace(str(here), "HERE"))
        told += f"{each}\n{indent(said, '    ')}\n"
    return told
