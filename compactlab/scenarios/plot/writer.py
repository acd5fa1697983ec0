"""Fills templates with words, and goes on until a text is long enough."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

FOCUS, OFTEN = 4, 0.7  # names in use at a time, and the share of uses that are of them: guesses


class Writer:
    """Writes texts from templates.

    Parameters
    ----------
    rng
        What words are drawn from.
    words
        Lists of words, by the name under which templates ask for them.
    pools
        Names that come back: a template and how many there are.
    focus, often
        How many names of a pool are in use at a time, and the share of uses that are of them.

    Examples
    --------
    >>> Writer(random.Random(0), {"n": ("tram",)}).fill("the {n} waits for the {n}")
    'the tram waits for the tram'
    """

    def __init__(
        self,
        rng: random.Random,
        words: Mapping[str, Sequence[str]],
        pools: Mapping[str, tuple[str, int]] | None = None,
        focus: int = FOCUS,
        often: float = OFTEN,
    ) -> None:
        self.rng, self._few, self._often = rng, focus, often
        self._words = words
        self._pools: dict[str, list[str]] = {}
        self._focus: dict[str, list[str]] = {}
        for name, (template, count) in (pools or {}).items():
            self._pools[name] = [self.fill(template) for _ in range(count)]
        self.refocus()

    def refocus(self) -> None:
        """Turn to other names of the pools."""
        for name, pool in self._pools.items():
            self._focus[name] = self.rng.sample(pool, min(self._few, len(pool)))

    def word(self, name: str) -> str:
        """Draw what stands for a name in a template."""
        rng = self.rng
        if name == "k":
            return str(rng.randint(100, 9_999))
        if name == "h":
            return f"{rng.getrandbits(32):08x}"
        if name in self._focus:
            near = self._focus[name] if rng.random() < self._often else self._pools[name]
            return near[int(rng.random() * len(near))]
        words = self._words[name]
        return words[int(rng.random() * len(words))]

    def fill(self, template: str) -> str:
        """Fill a template."""
        return template.format_map(_Drawn(self))

    def one(self, templates: Sequence[str]) -> str:
        """Choose a template and fill it."""
        return self.fill(templates[int(self.rng.random() * len(templates))])

    def prose(self, templates: Sequence[str], characters: int) -> str:
        """Write sentences until there are that many characters, one at least.

        None is of a template that was used before, as long as there are others.
        """
        deck: list[str] = []

        def sentence() -> str:
            if not deck:
                deck.extend(self.rng.sample(templates, len(templates)))
            return self.fill(deck.pop())

        return " ".join(until(characters, sentence))

    def lines(self, templates: Sequence[str], characters: int) -> str:
        """Write lines until there are that many characters, one at least."""
        return "\n".join(until(characters, lambda: self.one(templates)))


class _Drawn(dict[str, str]):
    """The words of one template: drawn where they are asked for, and then the same."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __missing__(self, name: str) -> str:
        # What ends in a digit is another one of the same list.
        word = self[name] = self._writer.word(name.rstrip("0123456789"))
        return word


def until(characters: int, write: Callable[[], str]) -> list[str]:
    """Write texts until together they have that many characters, one at least."""
    texts = [write()]
    characters -= len(texts[0])
    while characters > 0:
        texts.append(write())
        characters -= len(texts[-1]) + 1
    return texts
