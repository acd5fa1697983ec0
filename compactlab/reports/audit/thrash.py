"""Repeated compactions in logs: frequency, intervals, gains and waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from compactlab.reports.audit.churning import wilson
from compactlab.reports.audit.compactions import WITHIN
from compactlab.reports.audit.ledger import AuditedFile, Ledger, client_name
from compactlab.reports.render.document import (
    Block,
    Column,
    Heading,
    Table,
    TableRow,
    name,
    sentences,
)
from compactlab.reports.render.fields import Field, cells_of, heads_of, hidden
from compactlab.reports.render.text import NONE, counted, show

if TYPE_CHECKING:
    from compactlab.reports.audit.compactions import Logged

# The same as in replays; a copy, because importing all metrics is slow.
SMALL = 0.10


@dataclass(frozen=True)
class Thrash:
    """The compactions of some sessions."""

    calls: int  # calls of all sessions, also of those without compactions
    sessions: tuple[tuple[Logged, ...], ...]  # the compactions of each session with any
    flushes: tuple[tuple[str, ...], ...] = ()  # of each turn of a memory flush its answers

    @property
    def compactions(self) -> list[Logged]:
        return [each for session in self.sessions for each in session]

    @property
    def often(self) -> float | None:
        """Compactions per 100 calls."""
        return 100 * len(self.compactions) / self.calls if self.calls else None

    @property
    def interval(self) -> int | None:
        """The smallest number of calls between two compactions of a session."""
        pairs = (pair for session in self.sessions for pair in pairwise(session))
        return min((later.number - earlier.number for earlier, later in pairs), default=None)

    @property
    def gains(self) -> list[float]:
        """The relative reductions of the context, where known."""
        return [each.gain for each in self.compactions if each.gain is not None]

    @property
    def gain(self) -> float | None:
        """The median reduction."""
        return _middle(self.gains) if self.gains else None

    @property
    def small(self) -> float | None:
        """The share of reductions under 10 %."""
        return _mean(gain < SMALL for gain in self.gains) if self.gains else None

    @property
    def followed(self) -> int:
        """The number of compactions with a repeated read after them."""
        return sum(each.rereads.followed for each in self.compactions)

    @property
    def share(self) -> float | None:
        """The share of compactions with a repeated read after them: the mean over sessions."""
        return _mean(self._shares) if self.sessions else None

    @property
    def usual(self) -> float | None:
        """The share of compactions with a repeated read before them: the mean over sessions."""
        shares = [_mean(each.rereads.before > 0 for each in session) for session in self.sessions]
        return _mean(shares) if shares else None

    @property
    def interval_of_share(self) -> tuple[float, float] | None:
        """The 95 % interval of ``share`` over other sessions; each session counts once.

        Wilson's interval treats sessions as all or nothing, which overestimates the variance.
        """
        return wilson(sum(self._shares), len(self.sessions)) if self.sessions else None

    @property
    def _shares(self) -> list[float]:
        return [_mean(each.rereads.followed for each in session) for session in self.sessions]

    def switches(self, what: str) -> list[Logged]:
        """The compactions as a turn began under another model, or with another effort."""
        return [each for each in self.compactions if each.switch == what]

    @property
    def waits(self) -> list[float]:
        """Seconds of each wait, ascending."""
        return sorted(each.wait for each in self.compactions if each.wait is not None)

    @property
    def wait(self) -> float | None:
        return _middle(self.waits) if self.waits else None


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _middle(values: Sequence[float]) -> float:
    from statistics import median

    return median(values)


def thrash_of(entries: Sequence[AuditedFile]) -> Thrash:
    """The compactions of some sessions together."""
    sessions = (entry.audited.compactions for entry in entries)
    return Thrash(
        sum(entry.audited.recorded.calls for entry in entries),
        tuple(each for each in sessions if each),
        tuple(turn for entry in entries for turn in entry.audited.flushes),
    )


def _seconds(wait: float | None) -> str:
    return NONE if wait is None else f"{wait:,.0f}"


def _interval(ends: tuple[float, float] | None) -> str:
    return NONE if ends is None else " to ".join(show(end, "share") for end in ends)


# Columns for a client or for all: ``docs/audit.md`` explains the keys.
THRASH = (
    Field("compactions", lambda thrash: len(thrash.compactions)),
    *hidden(sessions=lambda thrash: len(thrash.sessions)),
    Field("per_100_calls", "often", "per 100 calls", "ratio"),
    Field("shortest_interval_calls", "interval", "shortest\ninterval, calls", rank=3),
    Field("gain_median", "gain", "gain, median", "share", rank=2),
    Field("small_gains", "small", "gain\nunder 10%", "share", rank=4),
    *hidden(followed_by_rereads="followed"),
    Field("followed_share", "share", "followed by\nre-reads", "share"),
    Field("followed_interval", "interval_of_share", "95% interval", write=_interval, rank=1),
    Field("preceded_share", "usual", "preceded\nby them", "share", rank=5),
    Field("wait_s_median", "wait", "wait, s", write=_seconds, rank=1),
    *hidden(
        wait_s_max=lambda thrash: max(thrash.waits, default=None),
        at_model_switches=lambda thrash: len(thrash.switches("model")),
        at_effort_switches=lambda thrash: len(thrash.switches("effort")),
        flush_turns=lambda thrash: len(thrash.flushes),
        flush_calls=lambda thrash: sum(map(len, thrash.flushes)),
    ),
)
_MEANING = (
    "Gain: by what share the context became smaller. Followed by re-reads: a file was read within "
    f"{WITHIN} calls that had been read before the compaction; the share is the mean over the "
    "sessions that compacted, in whose interval a session counts once. Preceded by them: the "
    "same in as many calls before the compaction, which is what is usual. Wait: the median time "
    "from the last message to the compaction, without those that users asked for."
)


def compacted(ledger: Ledger) -> Iterator[Block]:
    """One row per client with compactions, and one for all if there are several."""
    found = [(client_name(c), thrash_of(ledger.of_client(c))) for c in ledger.clients]
    found = [(client, each) for client, each in found if each.sessions]
    if not found:
        return
    lines = [TableRow((name(client), *cells_of(THRASH, each))) for client, each in found]
    if len(found) > 1:
        cells = cells_of(THRASH, thrash_of(ledger.entries))
        lines.append(TableRow((name("all"), *cells), "strong"))
    yield Heading("Compaction after compaction?", level=2)
    yield Table((Column("client", words=True), *heads_of(THRASH)), tuple(lines))
    whole = thrash_of(ledger.entries)
    if switched := [*_switched(whole)]:
        yield sentences(switched)
    yield from _flushed(whole)
    yield sentences([_MEANING], "quiet")


def _switched(thrash: Thrash) -> Iterator[str]:
    """State the number of compactions at a change of the model or its effort, if any."""
    for what in ("model", "effort"):
        if found := thrash.switches(what):
            sizes = sorted(each.before for each in found if each.before)
            of = f", of {sizes[0]:,} to {sizes[-1]:,} tokens" if sizes else ""
            yield (
                f"{len(found):,} of {counted(len(thrash.compactions), 'compaction')} came as a "
                f"turn began with another {what}{of} (Codex does so: openai/codex#33833)."
            )


def _flushed(thrash: Thrash) -> Iterator[Block]:
    """State the number of turns that wrote memory, if any."""
    if thrash.flushes:
        turns, calls = len(thrash.flushes), sum(map(len, thrash.flushes))
        per = turns / len(thrash.compactions)
        yield sentences([f"{turns:,} memory flushes ({calls:,} calls), {per:.1f} per compaction."])
