"""Puts a word in the place of whatever looks like a secret."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from compactlab.sim.redaction.finding import Finding, findings
from compactlab.sim.redaction.memory import Memory

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
                self._word(found, text[found.start : found.stop]),
            ]
            at = found.stop
        return self._memory.hidden("".join([*pieces, text[at:]]) if pieces else text)

    def learn(self, text: str) -> None:
        """Number the secrets of a text, so that they are known when they are met again."""
        for found in findings(text):
            self._word(found, text[found.start : found.stop])

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

    def _word(self, found: Finding, secret: str) -> str:
        numbers = self._numbers.setdefault(found.kind, {})
        word = f"[redacted {found.kind} {numbers.setdefault(secret, len(numbers) + 1)}]"
        self._memory.learn(found.kind, secret, word, found.sure)
        return word
