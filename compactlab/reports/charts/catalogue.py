"""The charts in reading order, and the names of their files."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from compactlab.sim.core.errors import UsageError, unknown


class Entry(NamedTuple):
    """A chart: its kind, its function, and its subject.

    One is drawn of each comparison, of each conversation, of each sweep over windows, or of all
    results. ``gallery.py`` has the arguments that there are for each. The function is imported on
    request: ``--help`` needs no numpy.
    """

    kind: str
    place: str  # module:function, in this folder
    subject: str = "comparison"

    @property
    def function(self) -> Callable[..., Any]:
        """The function that draws it, or returns None if there is nothing to draw."""
        module, _, name = self.place.partition(":")
        folder = import_module(f"compactlab.reports.charts.{module}")
        function: Callable[..., Any] = getattr(folder, name)
        return function


# In reading order. `report --only` and files have the names; the methods of `results.plot` have
# them with underscores.
CHARTS: Mapping[str, Entry] = {
    "cost-and-recall": Entry("pareto", "pareto:pareto"),
    "cost-by-class": Entry("classes", "stacked:classes"),
    "cache-misses-by-cause": Entry("causes", "stacked:breakdown"),
    "spikes-and-break-even": Entry("spikes", "setbacks:spikes"),
    "compaction-after-compaction": Entry("thrash", "setbacks:thrash"),
    "recall-by-distance": Entry("lag", "lines:by_lag"),
    "recall-by-type": Entry("type", "profile:by_type"),
    "recall-by-compactions": Entry("survival", "lines:by_round"),
    "states-of-facts": Entry("states", "stacked:occupancy"),
    "continuity": Entry("continuity", "profile:continuity"),
    "cost-with-recovery": Entry("loops", "setbacks:loops"),
    "context-by-call": Entry("session", "sessions:session", "conversation"),
    "cumulative-cost": Entry("cumulative", "lines:cumulative", "conversation"),
    "ranks": Entry("sensitivity", "sensitivity:sensitivity", "results"),
    "cost-and-recall-by-window": Entry("windows", "lines:by_window", "windows"),
}
# Formats of files.
FORMS = ("svg", "png", "pdf")
NAMES = {entry.kind: name for name, entry in CHARTS.items()}
# Another word for recall, which people try.
_ALIASES = {name.replace("recall", "memory"): name for name in CHARTS}


def kinds_of(names: Collection[str]) -> frozenset[str]:
    """The kinds of charts with these names; all kinds if no name is given.

    Raises
    ------
    UsageError
        If there is no such chart.
    """
    known = [_ALIASES.get(name, name) for name in names]
    for name in known:
        if name not in CHARTS:
            raise UsageError(unknown("chart", name, CHARTS))
    return frozenset(CHARTS[name].kind for name in known or CHARTS)


# Names of files, in portable characters.

_LETTERS, _SHORT = 60, 40
Talk = tuple[str, str]
"""Scenario and id of a conversation."""


def stem(shown: str, under: str, subject: str, taken: Collection[str]) -> str:
    """The unique name of a chart's files: comparison, content and subject.

    Examples
    --------
    >>> stem("context-by-call", "Model gpt-5", "talk-3", ())
    'model-gpt-5-context-by-call-talk-3'
    >>> stem("cost-and-recall", "", "", {"cost-and-recall"})
    'cost-and-recall-2'
    """
    words = (safe(under), safe(shown), safe(subject))
    name = "-".join(filter(None, words)) or "chart"
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def safe(text: str, most: int = _LETTERS) -> str:
    """A text in lower case, with only letters, digits and hyphens; "" if nothing remains.

    Examples
    --------
    >>> safe("../A b"), safe("漢字")
    ('a-b', '')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:most].strip("-")


def short_names(talks: Iterable[Talk]) -> dict[Talk, str]:
    """A name for each conversation, of at most 40 portable characters.

    It is the id. If that is too long, has no portable characters, or is not unique, it is a part of
    the id with six digits of a digest.

    Examples
    --------
    >>> names = short_names(("pi", id) for id in ("coding_agent-0", "漢字", "a/b", "a b"))
    >>> list(names.values())
    ['coding-agent-0', 'cf39af', 'a-b-94f915', 'a-b-1b928c']
    """
    plain = {talk: safe(talk[1], 1000) for talk in talks}
    times = Counter(plain.values())
    names = dict(plain)
    for talk, name in plain.items():
        if not name or len(name) > _SHORT or times[name] > 1:
            digest = hashlib.sha256("\0".join(talk).encode()).hexdigest()[:6]
            names[talk] = f"{name[: _SHORT - 7].strip('-')}-{digest}".strip("-")
    return names
