"""A made-up repository: files with functions that call each other, to be read, searched, edited.

It is a model and not a text generator: a line that was edited reads edited later, a search finds
what stands in the files, and a test of a file has that file's name. So identifiers come back, as
they do in real sessions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compactlab.sim.stream import chooser


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words(
    "account batch beacon bucket cargo channel claim cursor depot digest entry envelope event "
    "feature gauge grant header index invoice journal ledger lease manifest marker member meter "
    "notice offer order packet parcel payload permit policy profile quota receipt record region "
    "relay report route sample schedule sector segment session shard shipment signal slot snapshot "
    "source stock stream tariff tenant ticket token transfer vendor voucher window"
)
VERBS = _words(
    "accept apply archive assign audit build cancel check claim close collect commit compare "
    "compute confirm convert count decode derive discard dispatch drain encode expand expire fetch "
    "filter flush format freeze group import inspect issue join limit load lock match measure "
    "merge move normalize open parse patch plan prune publish queue read rebuild reconcile refresh "
    "reject release replace reset resolve restore retry revoke rotate sample scan schedule select "
    "settle sign split store strip submit track trim update validate verify withdraw"
)
_PACKAGES = _words("corvid harbor kestrel lantern marlow orchard pelican quarry tollgate windmill")
_AREAS = _words("api billing core ingest jobs routing storage sync")
_TRAITS = _words("amount closed_at currency expires_at kind limit name owner retries size state")

# Of nouns n and m, a verb v, a trait a, a number k, and a function f of the repository. Templates
# would say the same, and take four times as long: half of a session's time goes into statements.
_STATEMENTS: tuple[Callable[[str, str, str, str, int, str], str], ...] = (
    lambda n, m, v, a, k, f: f"    {n} = {f}({m}, {a}={m}.{a})",
    lambda n, m, v, a, k, f: f"    {n} = self._{m}s.get({m}.{a})",
    lambda n, m, v, a, k, f: (
        f'    if {n}.{a} is None:\n        raise {m.title()}Error(f"{m} {{{m}.name!r}} has no {a}")'
    ),
    lambda n, m, v, a, k, f: f"    if {n}.{a} > {k}:\n        return {f}({n}, {a}={k})",
    lambda n, m, v, a, k, f: f"    for {m} in {n}.{m}s:\n        {f}({m}, {n}={n})",
    lambda n, m, v, a, k, f: f"    with self._lock:\n        self._{n}s[{m}.{a}] = {f}({m})",
    lambda n, m, v, a, k, f: f'    log.debug("{v} %s of %s", {n}.{a}, {m}.name)',
    lambda n, m, v, a, k, f: f"    assert {n}.{a} != {m}.{a}, ({n}, {m})",
    lambda n, m, v, a, k, f: (
        f"    # The {m} may be gone by now: whoever calls this has to {v} the {n} again."
    ),
    lambda n, m, v, a, k, f: f"    {n}s = [{f}({m}) for {m} in {n}s if {m}.{a} >= {k}]",
    lambda n, m, v, a, k, f: f'    settings["{n}.{a}"] = {k}',
    lambda n, m, v, a, k, f: (
        f"    try:\n        {f}({n})\n    except {m.title()}Error as error:\n"
        f"        self.{v}({n}, reason=str(error))"
    ),
    lambda n, m, v, a, k, f: f"    {n}.{a} = max({n}.{a}, {m}.{a} + {k})",
)


@dataclass(eq=False)
class File:
    """A file: its path, its lines, and where its functions begin.

    Parameters
    ----------
    path
        Relative to the root of the repository.
    lines
        Its text.
    functions
        Names of the functions that it defines, in order; at least one.
    """

    path: str
    lines: list[str]
    functions: list[str]

    def line_of(self, function: str) -> int:
        """Index of the line on which a function begins; 0 if it is gone."""
        head = f"def {function}("
        return next((i for i, line in enumerate(self.lines) if head in line), 0)

    def taken(self, start: int, characters: int) -> list[str]:
        """Take lines from a line on, one at least, until there are that many characters."""
        end = start + 1
        while end < len(self.lines) and characters > len(self.lines[end - 1]):
            characters -= len(self.lines[end - 1]) + 1
            end += 1
        return self.lines[start:end]

    def numbered(self, start: int, characters: int) -> str:
        """Read from a line on, with line numbers, until there are that many characters."""
        lines = enumerate(self.taken(start, characters), start + 1)
        return "\n".join(f"{number:>6}\t{line}" for number, line in lines)


class Repository:
    """Files of a package that grew over time.

    Parameters
    ----------
    rng
        What all names and lines are drawn from.
    modules
        How many files there are at first.
    """

    def __init__(self, rng: random.Random, modules: int = 32) -> None:
        self.rng = rng
        self.package = rng.choice(_PACKAGES)
        self.prefix = self.package[:3].upper()
        names = (f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}" for _ in range(160))
        self._functions = list(dict.fromkeys(names))
        self._noun, self._verb, self._trait = (chooser(rng, w) for w in (NOUNS, VERBS, _TRAITS))
        self._number, self._function = chooser(rng, range(2, 901)), chooser(rng, self._functions)
        self._statement = chooser(rng, _STATEMENTS)
        self.files: list[File] = []
        for noun in rng.sample(NOUNS, modules):
            self.add(f"src/{self.package}/{rng.choice(_AREAS)}/{noun}.py")

    def add(self, path: str, characters: int = 0) -> File:
        """Write a new file, of that many characters or, with 0, of a length as files have."""
        characters = characters or int(min(80_000, 18_000 * self.rng.lognormvariate(0, 1.0)))
        nouns = self.rng.sample(NOUNS, 3)
        lines = [f'"""The {nouns[0]} and what its {nouns[1]} needs."""', ""]
        lines += [f"from {self.package}.{self.rng.choice(_AREAS)} import {noun}" for noun in nouns]
        file = File(path, lines, [])
        size = sum(map(len, lines))
        most = len(self._functions)
        while (size < characters and len(file.functions) < most) or not file.functions:
            name = self._function()
            if name not in file.functions:
                body = ["", "", *self.function(name)]
                file.functions.append(name)
                lines += body
                size += sum(map(len, body)) + len(body)
        self.files.append(file)
        return file

    def function(self, name: str) -> list[str]:
        """Write a function."""
        one, two = self.rng.sample(NOUNS, 2)
        verb, _, _ = name.partition("_")
        lines = [
            f"def {name}(self, {one}: {one.title()}, {two}: {two.title()} | None) -> None:",
            f'    """{verb.title()} the {one} before its {two} is used."""',
        ]
        for _ in range(self.rng.randint(3, 14)):
            lines += self.statement()
        return lines

    def statement(self) -> list[str]:
        """Write a statement, in the body of a function."""
        m, text, n = self._noun(), self._statement(), self._noun()
        v, a, k, f = self._verb(), self._trait(), self._number(), self._function()
        return text(n, m, v, a, k, f).split("\n")

    def search(self, word: str) -> Iterator[str]:
        """Find a word in all files, as ``path:line:text``."""
        for file in self.files:
            for number, line in enumerate(file.lines, 1):
                if word in line:
                    yield f"{file.path}:{number}:{line}"
