"""How much clients change their prompts unasked: the rows of that table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from compactlab.reports.audit.ledger import Ledger, client_name
from compactlab.reports.figures import NONE, show
from compactlab.sim.churn import Rate

CHURN_HEADS = ("client", "at", "calls", "front lost", "messages lost", "share lost", "95% interval")
CHURN_RANKS = (0, 0, 0, 2, 1, 0, 0)
CHURN_MEANING = (
    "Of the calls that could have read all that the one before had left, by all that the log "
    "says: how many lost 4,000 tokens or more. Front lost: nothing was found again, tools and "
    "system prompt included. Messages lost: only those were found; where a part of the messages "
    "was, too, the share that was not counts."
)


class ChurnRow(NamedTuple):
    """A row: a client at the first calls of turns, or at the others."""

    client: str
    at: str
    calls: str
    front: str
    messages: str
    share: str
    interval: str


def churn_rows(ledger: Ledger) -> Iterator[ChurnRow]:
    """Two rows a client."""
    for client, churn in ledger.churns.items():
        for at, rate in (("first call of a turn", churn.turn), ("other calls", churn.call)):
            yield _row(client_name(client), at, rate)


def _row(client: str, at: str, rate: Rate) -> ChurnRow:
    if not rate.calls:
        return ChurnRow(client, at, "0", NONE, NONE, NONE, NONE)
    lost = rate.share("front") + rate.share("messages")
    interval = f"{show(rate.low, 'share')} to {show(rate.high, 'share')}"
    front, messages = f"{rate.front:.1f}", f"{rate.messages:.1f}"
    return ChurnRow(client, at, f"{rate.calls:,}", front, messages, show(lost, "share"), interval)
