"""Why it happened: the rows of the table of causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactlab.reports.audit.causes import GROUNDS, Share, read_cost, shares
from compactlab.reports.audit.ledger import Entry
from compactlab.reports.figures import NONE, show

WHY_HEADS = ("cause", "tokens", "of fresh", "cost, $", "of input", "above\nreading, $", "because")
WHY_RANKS = (0, 0, 3, 0, 1, 2, 0)
WHY_MEANING = (
    "Every fresh token has one cause. Above reading: what its tokens cost more than reading them "
    "would have; what is new cannot be read. The rest of the input cost was paid for reading."
)


class CauseRow(NamedTuple):
    """A row: a cause and what it stands on."""

    cause: str
    tokens: str
    of_fresh: str
    cost: str
    of_input: str
    premium: str
    because: str


def cause_rows(entries: Sequence[Entry]) -> list[CauseRow]:
    """The causes of some sessions, most tokens first."""
    found = shares(entries)
    fresh = sum(share.tokens for share in found)
    whole = read_cost(entries) + sum(share.dollars or 0.0 for share in found)
    return [_row(share, fresh, whole) for share in found]


def _row(share: Share, fresh: int, whole: float) -> CauseRow:
    return CauseRow(
        share.cause,
        show(share.tokens, "tokens"),
        show(share.tokens / fresh, "share") if fresh else NONE,
        show(share.dollars, "USD"),
        show(share.dollars / whole, "share") if share.dollars is not None and whole else NONE,
        show(share.premium, "USD"),
        GROUNDS[share.ground],
    )
