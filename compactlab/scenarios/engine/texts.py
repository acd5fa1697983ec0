"""Texts that are read repeatedly, and the facts in them."""

from __future__ import annotations

from compactlab.scenarios.engine.plan import PlannedFact


class Texts:
    """Texts by name, as lines; a line that states a fact stays in while the fact is valid."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        self._facts: dict[str, PlannedFact] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __getitem__(self, name: str) -> list[str]:
        """Return the lines of a text for editing, without facts that are no longer valid."""
        text, facts = self._lines[name], self._facts
        text[:] = [line for line in text if line not in facts or facts[line].holds]
        return text

    def __setitem__(self, name: str, lines: list[str]) -> None:
        self._lines[name] = lines

    def states(self, line: str) -> bool:
        """Whether a line states a fact."""
        return line in self._facts

    def insert(self, name: str, fact: PlannedFact, line: str, behind: str) -> None:
        """Insert a line that states a fact before the line ``behind``, or at the end."""
        text = self._lines[name]
        text.insert(text.index(behind) if behind in text else len(text), line)
        self._facts[line] = fact


def beginning(text: list[str], characters: int) -> str:
    r"""Return the first lines of a text, as few as have this many characters.

    Examples
    --------
    >>> beginning(["one", "two", "three"], 5)
    'one\ntwo'
    """
    return "\n".join(text[: _count(text, characters)])


def end(text: list[str], characters: int) -> str:
    """Return the last lines of a text, as few as have this many characters.

    Examples
    --------
    >>> end(["one", "two", "three"], 5)
    'three'
    """
    count = _count(text[::-1], characters)
    return "\n".join(text[len(text) - count :])


def _count(lines: list[str], characters: int) -> int:
    for count, line in enumerate(lines, 1):
        characters -= len(line) + 1
        if characters <= 0:
            return count
    return len(lines)
