"""Names of files: what is on a chart and of what, in signs that every machine takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

# By kind of chart; another has its kind.
_SHOWN = {
    "pareto": "cost-and-memory",
    "classes": "cost-by-class",
    "causes": "fresh-tokens-by-cause",
    "spikes": "spikes-and-break-even",
    "age": "needs-met-by-age",
    "type": "forgotten-by-type",
    "survival": "survival-by-round",
    "states": "states-of-facts",
    "loops": "cost-with-rework",
    "session": "context",
    "cumulative": "cost-so-far",
    "sensitivity": "ranks-by-model-and-summariser",
}
_LETTERS = 60


def stem(kind: str, under: str, subject: str, taken: Collection[str]) -> str:
    """The name of a chart's files, without what says of which format they are.

    Parameters
    ----------
    kind
        Of the chart.
    under
        What the comparison was under; "" if there is one only.
    subject
        What the chart is of: a conversation.
    taken
        Names that other charts have.

    Examples
    --------
    >>> stem("session", "Model gpt-5", "Ünter/den:linden (pi)", ())
    'model-gpt-5-context-unter-den-linden-pi'
    >>> stem("pareto", "", "", {"cost-and-memory"})
    'cost-and-memory-2'
    """
    words = (safe(under), _SHOWN.get(kind, safe(kind)), safe(subject))
    name = "-".join(filter(None, words)) or "chart"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def safe(text: str) -> str:
    """A text in small letters, digits and hyphens; "" if nothing of it is left.

    Examples
    --------
    >>> safe("../A b"), safe("漢字")
    ('a-b', '')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LETTERS].strip("-")
