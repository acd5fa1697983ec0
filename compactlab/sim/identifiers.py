"""Identifiers: the words of a text that name something in particular.

What counts as one is written down in ``docs/metrics.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from compactlab.sim.message import Message, Part

# A run of what paths, symbols, addresses, versions and numbers are made of. Punctuation at its
# ends is taken off afterwards: a pattern that did both would be slow on a megabyte of dots.
_RUN = re.compile(r"[\w$~+@#%/.:\-]+")
_BLANKS = {code: " " for code in range(128) if not _RUN.fullmatch(chr(code))}
_LEADING, _TRAILING = "+@#%:-", "+@#%:-./~"
# What makes a word the name of something: a separator or a change of case inside, three digits in
# a row, a beginning as of a path, or the look of a hash.
_NAMES = re.compile(
    r"[\w~][_/@#\\]|[A-Za-z0-9][.:\-][A-Za-z0-9]|[a-z0-9][A-Z]|\d{3}|^[~/]"
    r"|^(?=[a-f]*\d)[0-9a-f]{7,64}$"
)
_LONGEST = 200  # characters; what is longer is data, not a name
_REMEMBERED = 10_000_000  # characters of texts whose identifiers are kept: about 100 MB at most


def words(text: str) -> frozenset[str]:
    """All words of a text that could be identifiers or arguments.

    Examples
    --------
    >>> sorted(words("open src/main.py, then HATHAT."))
    ['HATHAT', 'open', 'src/main.py', 'then']
    """
    found = [run.lstrip(_LEADING).rstrip(_TRAILING) for run in _runs(text)]
    return frozenset([word for word in found if 1 < len(word) <= _LONGEST])


def words_among(text: str, wanted: Mapping[str, object]) -> Iterator[str]:
    """Those words of a text that are wanted, as :func:`words` would find them, but sooner.

    Parameters
    ----------
    text
        The text.
    wanted
        The words to look for: such as :func:`words` gives out.

    Examples
    --------
    >>> sorted(words_among("open src/main.py, then HATHAT.", {"src/main.py": 0, "HATHAT": 1}))
    ['HATHAT', 'src/main.py']
    """
    runs = _runs(text)
    found = runs & wanted.keys()
    # Most runs have nothing to take off at their ends, and then are wanted as they are or not.
    ragged = [run for run in runs if run[-1] in _TRAILING or run[0] in _LEADING]
    stripped = {run.lstrip(_LEADING).rstrip(_TRAILING) for run in ragged}
    return iter(found | (stripped & wanted.keys()))


def _runs(text: str) -> set[str]:
    """The runs in a text; of plain text without the pattern, which takes five times as long."""
    return {*text.translate(_BLANKS).split()} if text.isascii() else {*_RUN.findall(text)}


def identifiers(text: str) -> frozenset[str]:
    """The words of a text that name something: paths, symbols, addresses, hashes, numbers.

    Examples
    --------
    >>> sorted(identifiers("run parse_args in src/cli.py:120, ticket AB-12, take 1500 not 15"))
    ['1500', 'AB-12', 'parse_args', 'src/cli.py:120']
    """
    return _memory.of(text)


class _Memory:
    """The identifiers of texts, each looked for once; all are forgotten when they grow too many.

    Messages stay the same from prompt to prompt and from strategy to strategy.
    """

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self._characters = 0

    def of(self, text: str) -> frozenset[str]:
        names = self._known.get(text)
        if names is None:
            self._characters += len(text)
            if self._characters > _REMEMBERED:
                self._known.clear()
                self._characters = len(text)
            found = frozenset(word for word in words(text) if _NAMES.search(word))
            names = self._known[text] = found
        return names


_memory = _Memory()


def used(message: Message) -> frozenset[str]:
    """What an assistant's action uses: identifiers in its words, and arguments of its calls.

    An argument that is a single word counts whatever it looks like; of longer ones, the
    identifiers in it count.
    """
    found: set[str] = set()
    for part in message.parts:
        if part.type == "text":
            found |= identifiers(part.text)
        elif part.type == "tool_call":
            for value in _arguments(part):
                found |= words(value) if _RUN.fullmatch(value) else identifiers(value)
    return frozenset(found)


def _arguments(part: Part) -> Iterator[str]:
    """All values in a call's arguments, as text."""
    try:
        waiting = [msgspec.json.decode(part.text)]
    except (msgspec.DecodeError, ValueError, RecursionError):
        yield part.text
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
