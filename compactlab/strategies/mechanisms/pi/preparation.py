"""What a compaction of pi's summarises, and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compactlab.sim.message import Message, Part
from compactlab.strategies.mechanisms.estimate import estimate_context
from compactlab.strategies.mechanisms.pi.cut_point import find_cut_point
from compactlab.strategies.mechanisms.pi.entries import Entry, last_compaction, messages_of
from compactlab.strategies.mechanisms.pi.file_lists import Files

# From this version on, a compaction looks at what the one before it kept.
KEPT_ARE_SEEN = "0.63.1"


def at_least(version: str, other: str) -> bool:
    """Whether a version is another one or a later one.

    Examples
    --------
    >>> at_least("0.73.1", "0.63.1"), at_least("0.9.0", "0.63.1")
    (True, False)
    """
    return _numbers(version) >= _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is to be done.

    Parameters
    ----------
    first_kept
        Index of the first entry to keep.
    history
        The messages to summarise.
    prefix
        The messages of the turn that is cut in two, up to the cut; they are summarised apart.
    split
        Whether a turn is cut in two.
    tokens_before
        Tokens in context.
    previous
        The summary of the compaction before; empty if there was none.
    files
        The files that were read and changed.
    """

    first_kept: int
    history: tuple[Message, ...]
    prefix: tuple[Message, ...]
    split: bool
    tokens_before: float
    previous: tuple[Part, ...]
    files: Files


def prepare(
    entries: Sequence[Entry],
    keep_recent_tokens: float,
    version: str,
    reported: Callable[[Message], float | None],
) -> Preparation | None:
    """Decide what to summarise and what to keep: pi's ``prepareCompaction``.

    Before 0.63.1 only entries after the last compaction are looked at: what that one had kept is
    neither summarised nor kept, and is lost.

    Parameters
    ----------
    entries
        The session.
    keep_recent_tokens
        What the kept tail is to weigh.
    version
        Of pi, 0.49.3 to 0.73.1.
    reported
        Tokens that were reported with an answer, see
        :func:`compactlab.strategies.mechanisms.estimate.estimate_context`.

    Returns
    -------
    Preparation or None
        None if the newest entry is a compaction, or the first one to keep has no id.
    """
    last = last_compaction(entries)
    if last >= 0 and last == len(entries) - 1:
        return None
    start = _start(entries, last, version)
    cut = find_cut_point(entries, start, len(entries), keep_recent_tokens)
    if cut.first_kept >= len(entries) or not entries[cut.first_kept].id:
        return None
    end = cut.turn_start if cut.split else cut.first_kept
    history = messages_of(entries[start:end])
    prefix = messages_of(entries[end : cut.first_kept]) if cut.split else []
    before = entries[last] if last >= 0 else None
    context = _context(entries, start, last)
    return Preparation(
        cut.first_kept,
        tuple(history),
        tuple(prefix),
        cut.split,
        estimate_context(context, reported).tokens,
        before.summary if before else (),
        _files(before, [*history, *prefix]),
    )


def _start(entries: Sequence[Entry], last: int, version: str) -> int:
    """Index of the first entry that is looked at."""
    if last < 0:
        return 0
    if at_least(version, KEPT_ARE_SEEN):
        for index, entry in enumerate(entries):
            if entry.id and entry.id == entries[last].kept_from:
                return index
    return last + 1


def _context(entries: Sequence[Entry], start: int, last: int) -> list[Message]:
    """What the model is sent, as far as this version knows: the summary, and what stands after."""
    if last < 0:
        return messages_of(entries)
    summary = entries[last].message
    return [*([summary] if summary else []), *messages_of(entries[start:])]


def _files(before: Entry | None, messages: Sequence[Message]) -> Files:
    files = Files()
    if before is not None and before.files is not None:
        files = Files(dict(before.files.read), edited=dict(before.files.edited))
    files.note(messages)
    return files
