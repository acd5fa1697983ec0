"""Replaces everything that looks like a secret by a placeholder."""

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

# Memory of known secrets, which recognises them without context.

# Named values are remembered as a whole, unless they may occur by chance.
_WHOLE = {ASSIGNED, BASIC, CARD, ENCODED}
_TELLING = 8
_REMEMBERED = 500
# Minimum length of a piece of a token that is recognised: summaries quote, compactions cut, and
# actions use parts of tokens.
_PIECE = 12
_PIECES = 100_000
_VARIED = 4  # least number of different characters of a piece, to exclude lines of dashes
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{12,}")
_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")  # a line of a private key
_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Memory:
    """Recognises known secrets."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._again: re.Pattern[str] | None = None

    def copy(self) -> Memory:
        """Return a copy that learns independently."""
        other = Memory()
        other._values, other._pieces = dict(self._values), dict(self._pieces)
        other._again = self._again
        return other

    def learn(self, kind: str, secret: str, word: str, sure: bool) -> None:
        """Remember a secret and its placeholder; ``sure``: a password, even of letters only."""
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
        """Return a text without known secrets."""
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
        """Yield ranges of a run that contain pieces of secrets, with their placeholders."""
        at = start
        while at + _PIECE <= stop:
            word = self._pieces.get(text[at : at + _PIECE])
            if word is None:
                at += 1
                continue
            begin, end = at, at + _PIECE
            while end < stop and text[end - _PIECE + 1 : end + 1] in self._pieces:
                end += 1
            # Adjacent word characters belong to it.
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
    # A label, such as "Password" or "Continue", is not a secret.
    return sure and not secret.istitle() and not is_ordinary(secret)


def _bounded(value: str) -> str:
    """Return a pattern for a value; a value of letters is not matched inside a longer word."""
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

    Equal secrets get equal numbers, in order of occurrence. No digest of them is made: readers can
    only see which secrets are equal.

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
        """Return a copy with the known secrets that learns independently."""
        other = Redactor()
        other._numbers = {kind: dict(numbers) for kind, numbers in self._numbers.items()}
        other._memory = self._memory.copy()
        return other

    def text(self, text: str) -> str:
        """Return a text without anything that looks like a secret."""
        pieces, at = [], 0
        for finding in findings(text):
            pieces += [
                text[at : finding.start],
                self._word(finding, text[finding.start : finding.stop]),
            ]
            at = finding.stop
        return self._memory.hidden("".join([*pieces, text[at:]]) if pieces else text)

    def excerpt(self, text: str) -> str:
        """Return an excerpt of a text without any secret of that text.

        A value of a name such as ``password`` may be too short to be recognised elsewhere, and an
        excerpt lacks the name.
        """
        known = {s: (kind, n) for kind, held in self._numbers.items() for s, n in held.items() if s}
        if known and text:
            longest = sorted(known, key=lambda secret: (-len(secret), secret))
            every = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
            text = every.sub(lambda m: "[redacted {} {}]".format(*known[m[0]]), text)
        return self.text(text)

    def learn(self, text: str) -> None:
        """Number the secrets of a text, so that they are recognised later."""
        for finding in findings(text):
            self._word(finding, text[finding.start : finding.stop])

    def within(self, value: T) -> T:
        """Redact all texts in a value, including lists, mappings and dataclasses.

        A value without secrets is returned as the same object.
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
