"""With which message a fact went."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.sim.conversation import Fact
from compactlab.sim.diff.excerpt import ends
from compactlab.sim.diff.line import STILL, Line

# Characters of a fact's key and value that are told, of their beginnings and of their ends.
_KEY, _VALUE = (45, 15), (60, 20)
_POLARITY = {"is": "", "must": " (must)", "must_not": " (must not)"}


def blamed(lines: Sequence[Line], fact: Fact) -> int:
    """The place of the line with which a fact went.

    The last changed message that states it; else the last that stands for such a one, as a summary
    does; else the first that was written instead; else the first of which anything has changed.

    Parameters
    ----------
    lines
        A line a message.
    fact
        One that the prompt after does not hold.
    """
    origin = {source.id for source in fact.origin}
    changed = [place for place, line in enumerate(lines) if line.fate not in STILL]
    left = [(place, lines[place].message) for place in reversed(changed)]
    for place, message in left:
        if message is not None and message.id in origin:
            return place
    for place, message in left:
        if message is not None and any(s.id in origin for p in message.parts for s in p.sources):
            return place
    written = (place for place in changed if lines[place].fate == "written")
    return next(written, changed[0] if changed else 0)


def said(fact: Fact) -> str:
    """A fact's key and value, shortened.

    Examples
    --------
    >>> said(Fact("f", "prohibition", "branch", "main", polarity="must_not"))
    'branch: main (must not)'
    """
    key, value = ends(fact.key, *_KEY), ends(fact.value, *_VALUE)
    told = f"{key}: {value}" if key and key != value else value
    return told + _POLARITY[fact.polarity]
