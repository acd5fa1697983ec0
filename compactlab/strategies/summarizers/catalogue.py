"""Summarisers by name: built in, from an installed package, or from a file."""

from __future__ import annotations

import importlib
import inspect
from functools import cache, partial

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import PACKAGE
from compactlab.sim.core.loading import class_at, with_source
from compactlab.sim.core.plugins import installed, loaded
from compactlab.sim.core.spec import FROZEN, build, parse_spec
from compactlab.sim.experiment.foreign import ForeignSummarizer
from compactlab.sim.replay.summarize import Summarizer

DEFAULT = "calibrated"
KIND = "summarizers"

# Name to module and class. They are imported when they are asked for: numpy takes a tenth of a
# second, which `--help` need not wait for.
SUMMARIZERS = {
    "lexrank": ("quoting", "Lexrank"),
    "centroid": ("quoting", "Centroid"),
    "lead": ("quoting", "Lead"),
    "tail": ("quoting", "Tail"),
    "salience": ("quoting", "Salience"),
    "checklist": ("checklist", "Checklist"),
    "lossy": ("lossy", "Lossy"),
    "calibrated": ("calibrated", "Calibrated"),
    "llm": ("llm", "Llm"),
    "oracle": ("controls", "Oracle"),
    "random": ("quoting", "Random"),
    "junk": ("controls", "Junk"),
    "empty": ("controls", "Empty"),
    "inflating": ("controls", "Inflating"),
    "failed": ("controls", "Failed"),
}


# Longer than any summary: a matched control is as long as what it is compared with.
_ANY_LENGTH = 1_000_000


def controls() -> tuple[Summarizer, ...]:
    """The null summarisers that stand beside every other one: the floor, chance, the ceiling."""
    names = (f"junk(tokens={_ANY_LENGTH})", f"random(tokens={_ANY_LENGTH})", "oracle")
    return tuple(map(find_summarizer, names))


def find_summarizer(text: str = DEFAULT) -> Summarizer:
    """Build the summariser that a spec names.

    Parameters
    ----------
    text
        A spec, ``lexrank(tokens=2000)``; its name may be that of a class,
        ``path/to/file.py:Class`` or ``module:Class``, or one that an installed package brings.

    Raises
    ------
    UsageError
        If a name is unknown, or an argument does not fit.
    """
    return _built(text)


def known_summarizer(text: str) -> Summarizer:
    """The summariser that a text names, without loading code that is not ours.

    Of such code a process of its own says what it is, and others will run it.
    """
    foreign = is_foreign_name(parse_spec(text)[0])
    return with_source(text, _asked) if foreign else _built(text)


def is_foreign_name(name: str) -> bool:
    """Whether the name of a summariser leads to code that is not ours.

    Examples
    --------
    >>> is_foreign_name("lexrank"), is_foreign_name("own.py:Mine")
    (False, True)
    """
    if ":" in name:
        return not name.startswith(f"{PACKAGE}.")
    return name not in SUMMARIZERS and name in installed(KIND)


@cache
def _asked(text: str, source: bytes | None) -> ForeignSummarizer:
    return ForeignSummarizer.known(parse_spec(text)[0], partial(_built, text, source))


def forget() -> None:
    """Ask code that is not ours again what it is: what it imports may have changed meanwhile."""
    _asked.cache_clear()


def _built(text: str, source: bytes | None = None) -> Summarizer:
    name, arguments = parse_spec(text)
    return build(find_class(name, source), arguments)


def find_class(name: str, source: bytes | None = None) -> type[Summarizer]:
    """Find the class of a summariser; that of others is loaded."""
    if name in SUMMARIZERS:
        module, cls = SUMMARIZERS[name]
        ours: type[Summarizer] = getattr(
            importlib.import_module(f"compactlab.strategies.summarizers.{module}"), cls
        )
        return ours
    if name.endswith(".py"):
        raise UsageError(f"{name}: name the class, too, as in {name}:MyWriter")
    if ":" in name:
        return check_class(name, class_at(name, Summarizer, source))
    points = installed(KIND)
    if name in points:
        return loaded(points[name], check_class)
    raise UsageError(unknown("summariser", name, {*SUMMARIZERS, *points}))


def check_class(name: str, cls: object) -> type[Summarizer]:
    """A class, if it is one of a summariser that can be named by its fields; else a UsageError."""
    if not (inspect.isclass(cls) and issubclass(cls, Summarizer)):
        raise UsageError(f"{name} is no summariser: it must subclass compactlab.Summarizer")
    if inspect.isabstract(cls):
        raise UsageError(f"{name} is not finished: it has no method summarize(request, count)")
    parameters = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise UsageError(f"{name} {FROZEN}")
    return cls
