"""Why recorded tokens were fresh: what each cause comes to in tokens and dollars, and its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from compactlab.reports.audit.ledger import Entry
from compactlab.sim.audit import Charge, Finding
from compactlab.sim.message import Usage
from compactlab.sim.metrics.price import ORDINARY, read_instead
from compactlab.sim.pricing import Charge as Price
from compactlab.sim.pricing import prices_of

# What a cause stands on, in words.
GROUNDS = {
    "log": "the log says so",
    "read": "seen from how much was read",
    "pattern": "only happens when a person speaks",
    "none": "unexplained",
}

# What was paid for, as an object of "paid for".
WORDS = {
    "append": "new text",
    "cold_start": "starting with nothing in the cache",
    "ttl_expired": "rebuilding what had expired after idle gaps",
    "compaction": "rebuilding after compactions",
    "history_edit": "rebuilding after the client had changed earlier messages",
    "system_changed": "rebuilding after the client had changed its tools or system prompt",
    "settings_changed": "rebuilding after a change of thinking mode, effort or skill",
    "client_upgrade": "rebuilding after the client had been updated",
    "thinking_strip": "rebuilding after earlier thinking had been dropped",
    "model_switch": "rebuilding after a switch of the model",
    "rewind": "rebuilding after going back",
    "lookback_miss": "rebuilding what lay further back than the cache looks",
    "eviction": "rebuilding what the provider had let go",
    "concurrent_cold": "rebuilding what was still being written",
    "below_minimum": "prompts too short to be stored",
    "grid": "what the cache's grid leaves out",
    "no_cache": "prompts that no cache holds",
    "unexplained": "rebuilding that nothing explains",
}


def in_words(cause: str) -> str:
    """A cause, as what was paid for."""
    return WORDS.get(cause, f"rebuilding ({cause})")


@dataclass(frozen=True)
class Share:
    """What one cause comes to.

    Parameters
    ----------
    cause
        Its name.
    ground
        What it stands on.
    tokens
        Fresh tokens.
    dollars
        What they cost; None where no price is known of any of them.
    premium
        What of that reading them would have saved; None for what was new, too.
    """

    cause: str
    ground: str
    tokens: int = 0
    dollars: float | None = None
    premium: float | None = None

    def plus(self, tokens: int, dollars: float | None, premium: float | None) -> Share:
        """This share with more of the same."""
        return replace(
            self,
            tokens=self.tokens + tokens,
            dollars=_sum(self.dollars, dollars),
            premium=_sum(self.premium, premium),
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def shares(entries: Iterable[Entry]) -> list[Share]:
    """What the causes come to in some sessions, most tokens first.

    Sessions whose prices are not known count by tokens alone.
    """
    found: dict[tuple[str, str], Share] = {}
    for entry in entries:
        priced = entry.audited.recorded.cost is not None
        for finding in entry.audited.findings:
            for charge, dollars, premium in charged(finding, priced):
                key = charge.cause, charge.ground
                found[key] = found.get(key, Share(*key)).plus(charge.tokens, dollars, premium)
    return sorted(found.values(), key=lambda share: (-share.tokens, share.cause, share.ground))


def by_cause(found: Iterable[Share]) -> list[Share]:
    """The same, whatever it stands on."""
    total: dict[str, Share] = {}
    for each in found:
        so_far = total.get(each.cause, Share(each.cause, ""))
        total[each.cause] = so_far.plus(each.tokens, each.dollars, each.premium)
    return list(total.values())


Charged = tuple[Charge, float | None, float | None]


def charged(finding: Finding, priced: bool = True) -> Iterator[Charged]:
    """What each charge of a call cost in dollars, and what of that above reading.

    What had been there before stands in front of what is new, and what lives longer in front of
    what does not; so the classes of the recorded usage fall to the charges from the front on.

    Parameters
    ----------
    finding
        The call.
    priced
        Whether the prices of its model are known; otherwise there are no dollars.
    """
    usage = finding.forecast.exchange.usage
    rates = _rates(finding) if priced else None
    edge = 0
    for charge in sorted(finding.charges, key=lambda charge: charge.cause in ORDINARY):
        span = (edge, edge + charge.tokens)
        edge += charge.tokens
        if rates is None:
            yield charge, None, None
            continue
        above = rates.cost(usage) - rates.cost(read_instead(usage, [span]))
        dollars = above + rates.cost(Usage(cache_read=charge.tokens))
        yield charge, dollars, None if charge.cause in ORDINARY else above


def read_cost(entries: Iterable[Entry]) -> float:
    """Dollars for what was read from the cache, of the sessions whose prices are known."""
    priced = (entry.audited for entry in entries if entry.audited.recorded.cost is not None)
    findings = (finding for audited in priced for finding in audited.findings)
    return sum(_rates(each).cost(Usage(cache_read=each.read)) for each in findings)


def _rates(finding: Finding) -> Price:
    exchange = finding.forecast.exchange
    return prices_of(finding.forecast.model).rates(exchange.time, exchange.usage.prompt)
