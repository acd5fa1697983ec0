"""Puts a word in the place of whatever looks like a secret."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from compactlab.privacy.finding import (
    ASSIGNED,
    CARD,
    ENCODED,
    MAIL,
    PRIVATE_KEY,
    Finding,
    findings,
)
from compactlab.privacy.rules import BASIC, is_ordinary

# What is remembered of secrets: by what they are known where nothing beside them tells.

# A value that has a name is remembered as a whole, if nobody writes it by chance.
_WHOLE = {ASSIGNED, BASIC, CARD, ENCODED}
_TELLING = 8
_REMEMBERED = 500
# Of a token any piece of so many characters is: summaries quote, compactions cut, and what actions
# go on to use is taken out of the middle.
_PIECE = 12
_PIECES = 100_000
_VARIED = 4  # different characters that a piece has, or every line of dashes would be one
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{12,}")
_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")  # of a private key
_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Memory:
    """Knows secrets again."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._again: re.Pattern[str] | None = None

    def copy(self) -> Memory:
        """Another one that knows the same, and learns by itself from here on."""
        other = Memory()
        other._values, other._pieces = dict(self._values), dict(self._pieces)
        other._again = self._again
        return other

    def learn(self, kind: str, secret: str, word: str, sure: bool) -> None:
        """Remember a secret and its word; it is sure if a password, though of letters alone."""
        if kind == MAIL:
            return
        named = kind in _WHOLE
        if named and _is_telling(secret, sure) and len(self._values) < _REMEMBERED:
            if secret not in self._values:
                self._values[secret] = word
                self._again = None
            return
        if not named:
            for piece in _pieces(kind, secret):
                if len(self._pieces) < _PIECES:
                    self._pieces.setdefault(piece, word)

    def hidden(self, text: str) -> str:
        """A text without what is remembered."""
        if self._values:
            if self._again is None:
                longest = sorted(self._values, key=lambda value: (-len(value), value))
                known = "|".join(map(_bounded, longest))
                self._again = re.compile(f"({known})[A-Za-z0-9_-]*")
            text = self._again.sub(lambda match: self._values[match[1]], text)
        return self._without_pieces(text) if self._pieces else text

    def _without_pieces(self, text: str) -> str:
        pieces, at = [], 0
        for run in _RUN.finditer(text):
            for start, stop, word in self._met(text, run.start(), run.end()):
                if start >= at:
                    pieces += [text[at:start], word]
                at = max(at, stop)
        return "".join([*pieces, text[at:]]) if pieces else text

    def _met(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Stretches of a run in which pieces of secrets stand, with what stands for them."""
        at = start
        while at + _PIECE <= stop:
            word = self._pieces.get(text[at : at + _PIECE])
            if word is None:
                at += 1
                continue
            begin, end = at, at + _PIECE
            while end < stop and text[end - _PIECE + 1 : end + 1] in self._pieces:
                end += 1
            # What it is grown together with is a part of it.
            while begin > start and text[begin - 1] in _WORD:
                begin -= 1
            while end < stop and text[end] in _WORD:
                end += 1
            yield begin, end, word
            at, start = end, end


def _is_telling(secret: str, sure: bool) -> bool:
    if len(secret) < _TELLING or any(c.isspace() for c in secret):
        return False
    if any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret):
        return True
    # A label, such as "Password" or "Continue", is none.
    return sure and not secret.istitle() and not is_ordinary(secret)


def _bounded(value: str) -> str:
    """A pattern for a value; what is of letters alone is no end of a longer word."""
    return re.escape(value) if any(map(str.isdigit, value)) else rf"(?<!\w){re.escape(value)}"


def _pieces(kind: str, secret: str) -> Iterator[str]:
    runs = (_LINE if kind == PRIVATE_KEY else _RUN).findall(secret)
    for run in runs:
        for at in range(len(run) - _PIECE + 1):
            piece = run[at : at + _PIECE]
            if len(set(piece)) >= _VARIED:
                yield piece


T = TypeVar("T")


class Redactor:
    """Hides what looks like keys, tokens and mail addresses.

    Equal secrets get equal numbers, in the order in which they are met, and no digest of them is
    made: whoever reads can tell that two are the same, and nothing else.

    Examples
    --------
    >>> redactor = Redactor()
    >>> redactor.text("ann@example.org asked bob@example.org; ann@example.org waits")
    '[redacted Mail Address 1] asked [redacted Mail Address 2]; [redacted Mail Address 1] waits'
    >>> redactor.text("4f1c9a0b77d2e6c8 is a digest")
    '4f1c9a0b77d2e6c8 is a digest'
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._memory = Memory()

    def fork(self) -> Redactor:
        """Another one that knows the same secrets, and learns by itself from here on."""
        other = Redactor()
        other._numbers = {kind: dict(numbers) for kind, numbers in self._numbers.items()}
        other._memory = self._memory.copy()
        return other

    def text(self, text: str) -> str:
        """A text without what looks like a secret."""
        pieces, at = [], 0
        for finding in findings(text):
            pieces += [
                text[at : finding.start],
                self._word(finding, text[finding.start : finding.stop]),
            ]
            at = finding.stop
        return self._memory.hidden("".join([*pieces, text[at:]]) if pieces else text)

    def excerpt(self, text: str) -> str:
        """A text that was cut out of another one: every secret that was met is hidden in it.

        What is given to a name such as ``password`` may be too short to be known again elsewhere,
        and here nothing beside it tells.
        """
        known = {s: (kind, n) for kind, held in self._numbers.items() for s, n in held.items() if s}
        if known and text:
            longest = sorted(known, key=lambda secret: (-len(secret), secret))
            every = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
            text = every.sub(lambda m: "[redacted {} {}]".format(*known[m[0]]), text)
        return self.text(text)

    def learn(self, text: str) -> None:
        """Number the secrets of a text, so that they are known when they are met again."""
        for finding in findings(text):
            self._word(finding, text[finding.start : finding.stop])

    def within(self, value: T) -> T:
        """A value with all texts in it redacted, in lists, mappings and dataclasses, too.

        What holds nothing to be hidden is given back as it is.
        """
        redacted: Any = self._within(value)
        return redacted  # type: ignore[no-any-return]

    def _within(self, value: Any) -> Any:
        redacted = value
        if isinstance(value, str):
            redacted = self.text(value)
        elif isinstance(value, Mapping):
            redacted = {self._within(key): self._within(each) for key, each in value.items()}
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            redacted = type(value)(*map(self._within, value))
        elif isinstance(value, list | tuple | set | frozenset):
            redacted = type(value)(map(self._within, value))
        elif isinstance(value, msgspec.Struct):
            redacted = self._changed(value, value.__struct_fields__, msgspec.structs.replace)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value) if field.init]
            redacted = self._changed(value, names, dataclasses.replace)
        return redacted

    def _changed(self, value: Any, names: Any, replace: Any) -> Any:
        before = {name: getattr(value, name) for name in names}
        after = {name: self._within(each) for name, each in before.items()}
        changed = {name: each for name, each in after.items() if each != before[name]}
        return replace(value, **changed) if changed else value

    def _word(self, finding: Finding, secret: str) -> str:
        numbers = self._numbers.setdefault(finding.kind, {})
        word = f"[redacted {finding.kind} {numbers.setdefault(secret, len(numbers) + 1)}]"
        self._memory.learn(finding.kind, secret, word, finding.sure)
        return word
