"""Normalised texts, and the occurrences of a phrase as separate words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_ESCAPED = re.compile(r"\\[nrt\"]")
_THOUSANDS = re.compile(r"(?<=\d)[,_'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_HERE = re.compile(r"(?<![\w.])\./")
_BLANKS = re.compile(r"\s+")
_ROOT = re.compile(r"/|~/|[a-z]:/")
_WORDS = re.compile(r"\w+")
# Characters that must not adjoin a value, because it would be another one. A full stop or a hyphen
# only ends a value if no word follows.
_BEFORE = re.compile(r"(?:\w|\w[-.@]|[-+.]|\d,)\Z")
_AFTER = re.compile(r"\w|[-.@/]\w|,\d|%")


@lru_cache(maxsize=65536)
def normal(text: str) -> str:
    """Normalise a text for comparison.

    Examples
    --------
    >>> normal("Open  ./SRC/main.py, take 1,500")
    'open src/main.py, take 1500'
    """
    # Separators first: NFKC turns narrow spaces, which some of them are, into plain ones.
    plain = unicodedata.normalize("NFKC", _THOUSANDS.sub("", text)).casefold()
    plain = _ESCAPED.sub(" ", plain.replace("\u2019", "'")).replace("\\", "/").replace("`", "")
    return _BLANKS.sub(" ", _HERE.sub("", plain)).strip()


def occurrences(text: str, phrase: str) -> Iterator[int]:
    """Yield the positions of a phrase in a text as separate words; both are normalised.

    Examples
    --------
    >>> list(occurrences("eu-west-31, eu-west-3.", "eu-west-3"))
    [12]
    >>> list(occurrences("see repo/src/a.py:7 and a.py", "a.py"))
    [24]
    >>> list(occurrences("lib/src/a.py and /home/src/a.py", "src/a.py"))
    [23]
    """
    if not phrase:
        return
    path = "/" in phrase.strip("/")
    index = text.find(phrase)
    while index >= 0:
        end = index + len(phrase)
        front = text[max(0, index - 2) : index]
        inside = front[-1:] == "/" and not (path and _absolute(text, index))
        # A preceding sign, digit or letter only matters if the phrase starts with one.
        begins = phrase[0].isalnum() and (inside or _BEFORE.search(front))
        goes_on = phrase[-1].isalnum() and _AFTER.match(text, end)
        if not (begins or goes_on):
            yield index
        index = text.find(phrase, index + 1)


def words_of(text: str) -> set[str]:
    """Return the words of a text in the sense of :func:`anchors`."""
    return set(_WORDS.findall(text))


def anchors(phrase: str) -> list[str]:
    """Return the words that occur separately in every text with the phrase or its path suffix.

    Examples
    --------
    >>> [anchors(phrase) for phrase in ("eu-west-3", "src/my_file.py", "_private", "->")]
    [['eu', 'west', '3'], ['src', 'my_file', 'py'], [], []]
    """
    last = "/".join(phrase.strip("/").split("/")[-2:])
    # At an edge that is not a letter, the word may be longer.
    return [word for word in _WORDS.findall(last) if word[0] != "_" != word[-1]]


@lru_cache(maxsize=65536)
def path_ends(path: str) -> tuple[str, ...]:
    """Return a path and its suffixes of two or more components, longest first.

    Examples
    --------
    >>> path_ends("/home/src/a.py")
    ('home/src/a.py', 'src/a.py')
    """
    pieces = path.strip("/").split("/")
    return tuple("/".join(pieces[start:]) for start in range(len(pieces) - 1))


def _absolute(text: str, place: int) -> bool:
    """Whether the path around a position is absolute.

    Then it may be the same file; a different parent folder means a different file.
    """
    start = max(text.rfind(blank, 0, place) for blank in " (\"'=<[") + 1
    return _ROOT.match(text, start, place) is not None
