"""Puts a word in the place of whatever looks like a secret."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from compactlab.sim.redaction.finding import ASSIGNED, MAIL, PRIVATE_KEY, findings

T = TypeVar("T")

# What a secret was said to be in one place is hidden elsewhere, if nobody writes it by chance.
_TELLING = 8
_REMEMBERED = 500
_END = 14
_LINE = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")  # of a private key, which may be cut out of it


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
        self._known: dict[str, str] = {}
        self._again: re.Pattern[str] | None = None

    def fork(self) -> Redactor:
        """Another one that knows the same secrets, and learns by itself from here on."""
        other = Redactor()
        other._numbers = {kind: dict(numbers) for kind, numbers in self._numbers.items()}
        other._known, other._again = dict(self._known), self._again
        return other

    def text(self, text: str) -> str:
        """A text without what looks like a secret.

        Parameters
        ----------
        text
            Any text; private keys may span lines of it.
        """
        pieces, at = [], 0
        for found in findings(text):
            pieces += [
                text[at : found.start],
                self._word(found.kind, text[found.start : found.stop]),
            ]
            at = found.stop
        return self._repeated("".join([*pieces, text[at:]]) if pieces else text)

    def learn(self, text: str) -> None:
        """Number the secrets of a text, so that they are known when they are met again."""
        for found in findings(text):
            self._word(found.kind, text[found.start : found.stop])

    def within(self, value: T) -> T:
        """A value with all texts in it redacted, in lists, mappings and dataclasses, too.

        What holds nothing to be hidden is given back as it is.
        """
        found: Any = self._within(value)
        return found  # type: ignore[no-any-return]

    def _within(self, value: Any) -> Any:
        found = value
        if isinstance(value, str):
            found = self.text(value)
        elif isinstance(value, Mapping):
            found = {self._within(key): self._within(each) for key, each in value.items()}
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            found = type(value)(*map(self._within, value))
        elif isinstance(value, list | tuple | set | frozenset):
            found = type(value)(map(self._within, value))
        elif isinstance(value, msgspec.Struct):
            found = self._changed(value, value.__struct_fields__, msgspec.structs.replace)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value) if field.init]
            found = self._changed(value, names, dataclasses.replace)
        return found

    def _changed(self, value: Any, names: Any, replace: Any) -> Any:
        before = {name: getattr(value, name) for name in names}
        after = {name: self._within(each) for name, each in before.items()}
        changed = {name: each for name, each in after.items() if each != before[name]}
        return replace(value, **changed) if changed else value

    def _word(self, kind: str, secret: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        word = f"[redacted {kind} {numbers.setdefault(secret, len(numbers) + 1)}]"
        for piece in _telling(kind, secret):
            if piece not in self._known and len(self._known) < _REMEMBERED:
                self._known[piece] = word
                self._again = None
        return word

    def _repeated(self, text: str) -> str:
        """A text without the secrets that were recognised elsewhere, by what stood beside them."""
        if not self._known:
            return text
        if self._again is None:
            longest = sorted(self._known, key=lambda piece: (-len(piece), piece))
            self._again = re.compile(f"({'|'.join(map(re.escape, longest))})[A-Za-z0-9_-]*")
        return self._again.sub(lambda found: self._known[found[1]], text)


def _telling(kind: str, secret: str) -> list[str]:
    """What of a secret is one wherever it stands, and no word that may be meant otherwise."""
    if kind == PRIVATE_KEY:
        return _LINE.findall(secret)
    if kind == MAIL or len(secret) < _TELLING or any(c.isspace() for c in secret):
        return []
    if kind == ASSIGNED:
        mixed = any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret)
        return [secret] if mixed else []
    # Whoever cuts a text may cut a token, whose ends look like nothing by themselves.
    return [secret[:_END], secret[-_END:]] if len(secret) >= 2 * _END else []
