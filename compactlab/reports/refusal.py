"""How many calls a provider would refuse: for a call without its result, say."""

from __future__ import annotations

from collections.abc import Mapping

Figures = Mapping[str, float | None]

# Without keep_all nobody knows how many calls of a recording are torn: surely not more than this.
_MOST_TORN = 0.5


def refused(own: Figures) -> float:
    """The share of a strategy's calls that would be refused.

    Parameters
    ----------
    own
        Its figures by metric.
    """
    calls = own["calls"]
    return (own["rejected_calls"] or 0.0) / calls if calls else 0.0


def usual(figures: Mapping[str, Figures]) -> float:
    """How many are refused where nobody touches a prompt: keep_all's, else the least there are.

    Parameters
    ----------
    figures
        Figures by metric, by the names of the strategies.
    """
    shares = {name: refused(own) for name, own in figures.items()}
    return shares.get("keep_all", min(_MOST_TORN, *shares.values()))
