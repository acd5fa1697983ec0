"""Why recorded tokens were uncached: what each cause comes to in tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.audit.inquest import Charge, Finding
from compactlab.reports.audit.ledger import Entry, Ledger
from compactlab.reports.render.document import name
from compactlab.reports.render.text import counted, dollars, enumerated, listed, show
from compactlab.sim.core.message import Usage
from compactlab.sim.metrics.run_data import ORDINARY, read_instead
from compactlab.sim.models.pricing import Charge as Price
from compactlab.sim.models.pricing import prices_of

# Why recorded tokens missed the cache: what each cause comes to in tokens and dollars, and its
# words.

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
        Cache-miss tokens.
    dollars
        What they cost; None where no price is known of any of them.
    avoidable_cost
        What of that reading them would have saved; None for what was new, too.
    """

    cause: str
    ground: str
    tokens: int = 0
    dollars: float | None = None
    avoidable_cost: float | None = None

    def plus(self, tokens: int, dollars: float | None, avoidable_cost: float | None) -> Share:
        """This share with more of the same."""
        return replace(
            self,
            tokens=self.tokens + tokens,
            dollars=_sum(self.dollars, dollars),
            avoidable_cost=_sum(self.avoidable_cost, avoidable_cost),
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def shares(entries: Iterable[Entry]) -> list[Share]:
    """What the causes come to in some sessions, most tokens first.

    Sessions whose prices are not known count by tokens alone.
    """
    by_key: dict[tuple[str, str], Share] = {}
    for entry in entries:
        priced = entry.audited.recorded.cost is not None
        for finding in entry.audited.findings:
            for charge, cost, avoidable_cost in charged(finding, priced):
                key = charge.cause, charge.ground
                by_key[key] = by_key.get(key, Share(*key)).plus(charge.tokens, cost, avoidable_cost)
    return sorted(by_key.values(), key=lambda share: (-share.tokens, share.cause, share.ground))


def by_cause(found: Iterable[Share]) -> list[Share]:
    """The same, whatever it stands on."""
    total: dict[str, Share] = {}
    for each in found:
        so_far = total.get(each.cause, Share(each.cause, ""))
        total[each.cause] = so_far.plus(each.tokens, each.dollars, each.avoidable_cost)
    return list(total.values())


Charged = tuple[Charge, float | None, float | None]


def charged(finding: Finding, priced: bool = True) -> Iterator[Charged]:
    """What each charge of a call cost in dollars, and what of that above reading.

    What had been there before stands in front of what is new, and what lives longer in front of
    what does not; so the classes of the recorded usage fall to the charges from the front on.
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


# Why did this cost so much? In a sentence or two.

# Causes that are told one by one, and the share below which none is.
_TOLD = 4
_LEAST = 0.01


def headline(entries: Sequence[Entry]) -> list[str]:
    """Say what the input of some sessions cost, and for what."""
    totals = by_cause(shares(entries))
    priced = [entry for entry in entries if entry.audited.recorded.cost is not None]
    return list(_in_dollars(priced, totals) if priced else _in_tokens(entries, totals))


def _in_dollars(entries: Sequence[Entry], found: Sequence[Share]) -> Iterator[str]:
    read = read_cost(entries)
    whole = read + sum(share.dollars or 0.0 for share in found)
    parts = [(read, "reading the cache"), *((s.dollars or 0.0, in_words(s.cause)) for s in found)]
    yield f"${dollars(whole)} of input{_scope(entries)}: {_told(parts, whole)}."
    avoidable_cost = sum(share.avoidable_cost or 0.0 for share in found)
    if avoidable_cost > 0:
        part = avoidable_cost / whole if whole else 0.0
        yield (
            f"What had to be rebuilt cost ${dollars(avoidable_cost)} more than reading it would "
            f"have ({show(part, 'share')} of the whole)."
        )


def _in_tokens(entries: Sequence[Entry], found: Sequence[Share]) -> Iterator[str]:
    read = sum(entry.audited.recorded.read.recorded for entry in entries)
    whole = read + sum(share.tokens for share in found)
    parts = [(read, "reading the cache"), *((s.tokens, in_words(s.cause)) for s in found)]
    tokens = show(whole, "tokens")
    yield f"{tokens} tokens of input{_scope(entries)}: {_told(parts, whole)}. No price is known."


def _scope(entries: Sequence[Entry]) -> str:
    calls = sum(entry.audited.recorded.calls for entry in entries)
    sessions = f"{counted(len(entries), 'session')} and " if len(entries) > 1 else ""
    return f" in {sessions}{counted(calls, 'call')}"


def _told(parts: Iterable[tuple[float, str]], whole: float) -> str:
    """The largest parts with their shares, and what is left."""
    ordered = sorted(parts, key=lambda part: (-part[0], part[1]))
    large = [part for part in ordered if whole and part[0] >= _LEAST * whole][: _TOLD + 1]
    phrases = [f"{100 * size / whole:.0f} % of it is {what}" for size, what in large[:1]]
    phrases += [f"{100 * size / whole:.0f} % {what}" for size, what in large[1:]]
    rest = whole - sum(size for size, _ in large)
    if whole and rest >= _LEAST * whole:
        phrases.append(f"{100 * rest / whole:.0f} % the rest")
    return listed(phrases) or "nothing was paid for"


def remarks(ledger: Ledger) -> list[str]:
    """What a reader of the figures must know and cannot see in them."""
    sentences = []
    if ledger.unpriced:
        sentences.append(
            f"No price is known of {_models(ledger.unpriced)}: their sessions are in no sum of "
            "dollars. Write the prices into a file, and name it with --models; what stands there "
            "replaces a built-in model, so take over its other figures (list models --json)."
        )
    if ledger.left_out:
        sentences.append(
            f"Not audited: calls of models that are not known, {_models(ledger.left_out)}. Write "
            "them into a file, and name it with --models."
        )
    if ledger.repeated:
        sentences.append(
            f"{counted(ledger.repeated, 'call')} of resumed sessions stand in two files; each is "
            "counted once."
        )
    if ledger.passed_over:
        sentences.append(f"Passed over: {listed(passed_over(ledger.passed_over))}.")
    return sentences


# What was passed over and why, by the key of the reason in the JSON.
REASONS = {
    "no_known_format": ("file", "of no known format"),
    "unreadable_lines": ("line", "that cannot be read"),
    "no_usage": ("session", "without recorded usage"),
    "unknown_model": ("session", "of models that are not known"),
    "counted_elsewhere": ("session", "of which other files hold every call"),
}


def passed_over(reasons: Mapping[str, int]) -> list[str]:
    """What was passed over, in words.

    Examples
    --------
    >>> passed_over({"no_usage": 2})
    ['2 sessions without recorded usage']
    """
    pairs = ((counted(n, REASONS[reason][0]), REASONS[reason][1]) for reason, n in reasons.items())
    return [" ".join(each) for each in pairs]


def _models(calls: dict[str, int]) -> str:
    names = [
        f"{name(each) if each else '(not named)'} ({counted(n, 'call')})"
        for each, n in calls.items()
    ]
    return enumerated(names, 5)
