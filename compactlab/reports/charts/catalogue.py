"""The names of charts and of their files."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from compactlab.sim.core.errors import UsageError, unknown

# The kind of each chart by its name, in reading order. `report --only` and files have the names;
# the methods of `results.plot` have them with underscores.
CHARTS: Mapping[str, str] = {
    "cost-and-recall": "pareto",
    "cost-by-class": "classes",
    "cache-misses-by-cause": "causes",
    "spikes-and-break-even": "spikes",
    "compaction-after-compaction": "thrash",
    "recall-by-distance": "lag",
    "recall-by-type": "type",
    "recall-by-compactions": "survival",
    "states-of-facts": "states",
    "continuity": "continuity",
    "cost-with-recovery": "loops",
    "context-by-call": "session",
    "cumulative-cost": "cumulative",
    "ranks": "sensitivity",
    "cost-and-recall-by-window": "windows",
}
# Formats of files.
FORMS = ("svg", "png", "pdf")
NAMES = {kind: name for name, kind in CHARTS.items()}
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
    return frozenset(CHARTS[name] for name in known or CHARTS)


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
