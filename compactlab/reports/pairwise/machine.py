"""Matches as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from compactlab.reports.figures import plain
from compactlab.reports.pairwise.match import Match


def machine(matches: Sequence[Match], differing: Sequence[str] = ()) -> str:
    """Write all contrasts of all matches as strict JSON in ASCII.

    Parameters
    ----------
    matches
        What is compared.
    differing
        What differs between stores and was let pass.
    """
    data = {"differing": list(differing), "matches": [_match(match) for match in matches]}
    return json.dumps(data, indent=2, allow_nan=False)


def _match(match: Match) -> dict[str, Any]:
    return {
        "model": match.comparison.model,
        "window": match.comparison.window,
        "summarizer": match.comparison.summarizer,
        "conversations": match.comparison.conversations,
        "subject": match.subject.spec,
        "reference": match.reference.spec,
        "contrasts": [
            {
                **{key: _strict(value) for key, value in asdict(contrast).items()},
                "determined": contrast.determined,
                "before": plain(match.reference.figures[metric]),
                "after": plain(match.subject.figures[metric]),
            }
            for metric, contrast in match.contrasts.items()
        ],
    }


def _strict(value: object) -> object:
    """A value without what JSON does not know."""
    return plain(value) if isinstance(value, float) else value
