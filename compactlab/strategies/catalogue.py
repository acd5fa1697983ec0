"""Strategies by name: built in, from an installed package, or from a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from typing import TypeVar

from compactlab.sim.core.registry import ClassRegistry, with_source
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.experiment.foreign import Foreign
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies import ALL_STRATEGIES, BUILT_IN, DEFAULT_STRATEGIES
from compactlab.strategies.program.exec import Exec
from compactlab.strategies.summarizers.catalogue import forget as forget_summarizers

T = TypeVar("T")

ALL = "all"
"""Stands for all strategies among the names of some."""
EXEC = "exec"
"""The strategy that runs a program: it has no default, and so is not among the others."""
# Strategies whose one argument is always given; its name may be left out.
_COMMAND = re.compile(rf"\A(\s*{EXEC}\()\s*(?=['\"])")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


STRATEGIES: ClassRegistry[Strategy] = ClassRegistry(
    "strategies",
    "strategy",
    {name: f"compactlab.strategies.{place}" for name, place in BUILT_IN.items()},
    Strategy,
)


def find_strategy(text: str) -> Strategy:
    """Build the strategy or pipeline of a spec.

    Parameters
    ----------
    text
        A spec, ``sliding_window(keep=20)``, or several joined by plus signs; a strategy's name may
        be that of a class, ``path/to/file.py:Class`` or ``module:Class``.

    Raises
    ------
    UsageError
        If a name is unknown, or an argument does not fit.

    Examples
    --------
    >>> find_strategy("sliding_window(keep=5)").spec
    'sliding_window(keep=5)'
    >>> find_strategy("auto_compact + context_recovery(messages=4)").parts[1].messages
    4
    """
    return _piped(map(_built, _split(text)))


def known_strategy(text: str) -> Strategy:
    """Build the strategy or pipeline of a spec without loading foreign code.

    A separate process describes foreign code, and others run it.
    """
    return _piped(
        with_source(step, _asked) if is_foreign_name(parse_spec(step)[0]) else _built(step)
        for step in _split(text)
    )


def is_foreign_name(name: str) -> bool:
    """Whether a strategy's name refers to foreign code.

    Examples
    --------
    >>> is_foreign_name("keep_all"), is_foreign_name("own.py:Mine")
    (False, True)
    """
    return name == EXEC or STRATEGIES.is_foreign(name)


def code_in(text: str) -> str:
    """Return the part of a spec or pipeline that runs foreign code: a program or a class.

    Installed packages are not included, because the user installed them.

    Examples
    --------
    >>> code_in("keep_all + own.py:Mine(keep=3)"), code_in("exec('node mine.mjs')")
    ('own.py:Mine', 'exec')
    >>> code_in("keep_all")
    ''
    """
    code = (
        name for name in names_in(text) if name == EXEC or (":" in name and is_foreign_name(name))
    )
    return next(code, "")


def names_in(text: str) -> list[str]:
    """Return the names of the strategies in a spec or pipeline.

    Examples
    --------
    >>> names_in("keep_all + own.py:Mine(keep=3)")
    ['keep_all', 'own.py:Mine']
    """
    return [parse_spec(step)[0] for step in _split(text)]


def reads_files(text: str) -> bool:
    """Whether a strategy in a spec or pipeline is given a file of answers.

    Examples
    --------
    >>> reads_files("keep_all + scored_pruning(answers='scores.jsonl')"), reads_files("keep_all")
    (True, False)
    """
    return any("answers" in parse_spec(step)[1] for step in _split(text))


def _piped(parts: Iterable[Strategy]) -> Strategy:
    steps = tuple(parts)
    return steps[0] if len(steps) == 1 else Pipeline(steps)


@cache
def _asked(text: str, source: bytes | None) -> Foreign:
    return Foreign.known(parse_spec(text)[0], partial(_built, text, source))


def forget() -> None:
    """Forget descriptions of foreign code, whose imports may have changed."""
    _asked.cache_clear()
    forget_summarizers()


def _built(text: str, source: bytes | None = None) -> Strategy:
    name, arguments = parse_spec(text)
    return build(find_class(name, source), arguments)


def find_class(name: str, source: bytes | None = None) -> type[Strategy]:
    """Find the class of a strategy by its name or location."""
    return Exec if name == EXEC else STRATEGIES.find_class(name, source)


def _split(text: str) -> list[str]:
    """Split at plus signs outside of parentheses and of quotes in them."""
    pieces, depth, at = [""], 0, 0
    while at < len(text):
        quoted = _QUOTED.match(text, at) if depth else None
        bit = quoted[0] if quoted else text[at]
        at += len(bit)
        depth += (bit == "(") - (bit == ")")
        if bit == "+" and not depth:
            pieces.append("")
        else:
            pieces[-1] += bit
    return [_COMMAND.sub(r"\1command=", piece) for piece in pieces]


def line_up_of(strategies: Iterable[object]) -> str:
    """Return the word that names all these strategies; "" if there is none.

    Examples
    --------
    >>> line_up_of(DEFAULT_STRATEGIES), line_up_of(["all"]), line_up_of(["codex"])
    ('default', 'all', '')
    """
    given = tuple(strategies)
    return "default" if given == DEFAULT_STRATEGIES else ALL if given == (ALL,) else ""


def written_out(strategies: Iterable[T | str]) -> list[T | str]:
    """Return strategies, with ``all`` replaced by all of them.

    Examples
    --------
    >>> written_out(["codex", "pi"])
    ['codex', 'pi']
    >>> len(written_out(["all"])) == len(ALL_STRATEGIES)
    True
    """
    return [each for given in strategies for each in (ALL_STRATEGIES if given == ALL else (given,))]
