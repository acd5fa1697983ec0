"""Why did this cost so much? In a sentence or two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from compactlab.reports.audit.causes import Share, by_cause, in_words, read_cost, shares
from compactlab.reports.audit.ledger import Entry, Ledger
from compactlab.reports.figures import dollars, show
from compactlab.reports.text import clean, counted, enumerated, listed

# Causes that are told one by one, and the share below which none is.
_TOLD = 4
_LEAST = 0.01


def headline(entries: Sequence[Entry]) -> list[str]:
    """Say what the input of some sessions cost, and for what.

    Parameters
    ----------
    entries
        The sessions, one at least.

    Returns
    -------
    list
        Sentences; the first stands by itself.
    """
    found = by_cause(shares(entries))
    priced = [entry for entry in entries if entry.audited.recorded.cost is not None]
    return list(_in_dollars(priced, found) if priced else _in_tokens(entries, found))


def _in_dollars(entries: Sequence[Entry], found: Sequence[Share]) -> Iterator[str]:
    read = read_cost(entries)
    whole = read + sum(share.dollars or 0.0 for share in found)
    parts = [(read, "reading the cache"), *((s.dollars or 0.0, in_words(s.cause)) for s in found)]
    yield f"${dollars(whole)} of input{_scope(entries)}: {_told(parts, whole)}."
    premium = sum(share.premium or 0.0 for share in found)
    if premium > 0:
        part = premium / whole if whole else 0.0
        yield (
            f"What had to be rebuilt cost ${dollars(premium)} more than reading it would have "
            f"({show(part, 'share')} of the whole)."
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
    told = [f"{100 * size / whole:.0f} % of it is {what}" for size, what in large[:1]]
    told += [f"{100 * size / whole:.0f} % {what}" for size, what in large[1:]]
    rest = whole - sum(size for size, _ in large)
    if whole and rest >= _LEAST * whole:
        told.append(f"{100 * rest / whole:.0f} % the rest")
    return listed(told) or "nothing was paid for"


def remarks(ledger: Ledger) -> list[str]:
    """What a reader of the figures must know and cannot see in them."""
    told = []
    if ledger.unpriced:
        told.append(
            f"No price is known of {_models(ledger.unpriced)}: their sessions are in no sum of "
            "dollars. Write the prices into a file, and name it with --models; what stands there "
            "replaces a built-in model, so take over its other figures (list models --json)."
        )
    if ledger.left_out:
        told.append(
            f"Not audited: calls of models that are not known, {_models(ledger.left_out)}. Write "
            "them into a file, and name it with --models."
        )
    if ledger.repeated:
        told.append(
            f"{counted(ledger.repeated, 'call')} of resumed sessions stand in two files; each is "
            "counted once."
        )
    if ledger.passed_over:
        told.append(f"Passed over: {listed(passed_over(ledger.passed_over))}.")
    return told


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
    told = ((counted(n, REASONS[reason][0]), REASONS[reason][1]) for reason, n in reasons.items())
    return [" ".join(each) for each in told]


def _models(calls: dict[str, int]) -> str:
    names = [f"{clean(name) or '(not named)'} ({counted(n, 'call')})" for name, n in calls.items()]
    return enumerated(names, 5)
