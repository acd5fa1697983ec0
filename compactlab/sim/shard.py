"""What one worker does in one go: some sources under some conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from compactlab.sim.blocks import forget_blocks
from compactlab.sim.caller import RECORDED
from compactlab.sim.condition import Condition
from compactlab.sim.conversation import Conversation
from compactlab.sim.disclosure import Disclosure
from compactlab.sim.errors import CompactlabError
from compactlab.sim.isolation import told
from compactlab.sim.model import built_in
from compactlab.sim.one_run import run_apart, run_one, uncollected
from compactlab.sim.pricing import prices_of
from compactlab.sim.recording import unseen
from compactlab.sim.run import Run
from compactlab.sim.source import Source
from compactlab.sim.summarize import Remembering
from compactlab.sim.tally import Counts, counted, packed, recall, unpacked
from compactlab.sim.tokens import encoding, forget_counts

if TYPE_CHECKING:  # as in disclosure.py
    from compactlab.sim.store import Cell

DEFAULT_MODEL = "claude-sonnet-4-5"
# About a second of work: enough for starting it not to matter, little to do again if it is lost.
FULL = 128
# A source counts once more for every so many bytes.
_BYTES = 500_000


@dataclass(frozen=True)
class Task:
    """A source under some conditions.

    Parameters
    ----------
    source
        Where the conversations come from.
    conditions
        Under what they are replayed.
    counts
        Token counts of its texts, as far as they are known: see :mod:`compactlab.sim.tally`.
    """

    source: Source
    conditions: tuple[Condition, ...]
    counts: bytes = b""

    @property
    def cells(self) -> list[Cell]:
        """The keys of what it does."""
        return [(self.source.key, condition.key) for condition in self.conditions]

    @property
    def weight(self) -> int:
        """How much work each of its cells is, about."""
        return (1 + self.source.size // _BYTES) * self.conditions[0].setting.effort

    def runs(self, timeout: float | None = None) -> Iterator[Run]:
        """Do it, conversation by conversation."""
        place, disclosure = 0, self._disclosure()
        try:
            for conversation in _conversations(self.source, self.counts, timeout):
                named = self.source.named(conversation)
                if disclosure is not None:
                    disclosure.turn_to(named)
                for run in self._under_all(place, named, timeout):
                    yield disclosure.of(run) if disclosure is not None else run
                place += 1
        except Exception as error:
            said = str(error) if isinstance(error, CompactlabError) else told(error)
            yield from self.failed("unreadable", said, place)

    def failed(self, status: str, error: str, place: int = 0) -> Iterator[Run]:
        """Its rows where there is no conversation to name in them."""
        disclosure = self._disclosure()
        for condition in self.conditions:
            unread = status == "unreadable"
            run = Run(
                self.source.name,
                "",
                "" if unread else condition.strategy.spec,
                "" if unread else condition.model,
                condition.setting.window or 0,
                self.source.seed,
                status=status,
                error=error,
                summarizer="" if unread else condition.written_by,
                label="" if unread else condition.strategy.label,
                source=self.source.name,
                place=place,
                source_key=self.source.key,
                condition=condition.key,
            )
            yield disclosure.of(run) if disclosure is not None else run

    def _disclosure(self) -> Disclosure | None:
        return Disclosure(self.source) if self.conditions[0].setting.redact else None

    def _under_all(
        self, place: int, conversation: Conversation, timeout: float | None
    ) -> Iterator[Run]:
        setting = self.conditions[0].setting
        every = {id(c.summarizer): c.summarizer for c in self.conditions if c.summarizer}
        writers = {key: Remembering(each) for key, each in every.items()}
        fallback = RECORDED if conversation.recorded else DEFAULT_MODEL
        overhead = unseen(conversation, setting.catalogue)
        for condition in self.conditions:
            run = Run(
                conversation=conversation.id,
                scenario=conversation.format,
                strategy=condition.strategy.spec,
                model=condition.model or fallback,
                window=setting.window or 0,
                seed=self.source.seed,
                digest=conversation.digest,
                summarizer=condition.written_by,
                skipped=conversation.skipped,
                own_models=setting.catalogue.digest,
                loop=setting.loop.spec if setting.loop else "",
                label=condition.strategy.label,
                labels="declared" if conversation.facts else "inferred",
                source=self.source.name,
                place=place,
                source_key=self.source.key,
                condition=condition.key,
            )
            work = partial(
                run_one,
                run,
                conversation,
                condition.strategy,
                writers.get(id(condition.summarizer)),
                overhead,
                catalogue=setting.catalogue,
                churn=setting.churn,
                loop=setting.loop,
                metrics=setting.metrics,
                tables=setting.tables,
            )
            if condition.foreign and setting.isolate:
                _load()
                yield run_apart(run, work, timeout)
            else:
                yield work(timeout=timeout)


@dataclass(frozen=True)
class Shard:
    """Tasks that are done and stored together.

    Parameters
    ----------
    tasks
        The tasks.
    timeout
        Seconds that a run may take; None for as many as it wants.
    """

    tasks: tuple[Task, ...]
    timeout: float | None = None

    @property
    def cells(self) -> list[Cell]:
        """The keys of what it does."""
        return [cell for task in self.tasks for cell in task.cells]

    @property
    def work(self) -> int:
        """How much work it is, about."""
        return sum(task.weight * len(task.conditions) for task in self.tasks)

    @property
    def name(self) -> str:
        """Sixteen hex digits of what it holds."""
        return name_of(self.cells)

    def runs(self) -> list[Run]:
        """Do all of it."""
        return self.counting()[0]

    def counting(self) -> tuple[list[Run], dict[str, bytes]]:
        """Do all of it, and give out what was counted of the sources whose counts are not known."""
        runs: list[Run] = []
        counts: dict[str, bytes] = {}
        # To look at all objects between two runs takes as long as a short run.
        with uncollected():
            for task in self.tasks:
                runs += task.runs(self.timeout)
                if not task.counts and (found := _counts.get(task.source.key)):
                    counts[task.source.key] = packed(found)
        return runs, counts

    def apart(self) -> list[Shard]:
        """A shard for each of its cells."""
        return [
            replace(self, tasks=(replace(task, conditions=(condition,)),))
            for task in self.tasks
            for condition in task.conditions
        ]


@cache
def _load() -> None:
    """Load here, once, what each process of its own would else load again: tokenizer and prices."""
    encoding("o200k_base")
    prices_of(built_in().find(DEFAULT_MODEL))


def name_of(cells: Iterable[Cell]) -> str:
    """The name of a shard: sixteen hex digits of the cells that it holds."""
    said = "".join(source + condition for source, condition in sorted(cells))
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


def shards(tasks: Iterable[Task], timeout: float | None = None) -> Iterator[Shard]:
    """Put tasks together to shards of about the same work, in order.

    What is left of them after some were done is put together to the same shards again, where no
    task was begun: so whoever goes on after an interruption makes the files that would be there
    without it.

    Parameters
    ----------
    tasks
        What there is to do.
    timeout
        As for :class:`Shard`.
    """
    held: list[Task] = []
    work = 0
    for task in tasks:
        at_once = max(1, FULL // task.weight)
        for start in range(0, len(task.conditions), at_once):
            piece = replace(task, conditions=task.conditions[start : start + at_once])
            held.append(piece)
            work += task.weight * len(piece.conditions)
            if work >= FULL // 2:
                yield Shard(tuple(held), timeout)
                held, work = [], 0
    if held:
        yield Shard(tuple(held), timeout)


_last: dict[str, tuple[Conversation, ...]] = {}
_counts: dict[str, list[Counts]] = {}


def _conversations(
    source: Source, known: bytes, timeout: float | None = None
) -> Iterator[Conversation]:
    """The conversations of a source; the last one is held, for the next conditions on it."""
    if source.key in _last:
        yield from _last[source.key]
        return
    before = unpacked(known)
    held: list[Counts] = []
    conversation = None
    forget()
    for place, conversation in enumerate(source.conversations(timeout)):
        if place < len(before):
            recall(conversation, before[place])
        yield conversation
        held.append(counted(conversation))
        forget_counts()
        forget_blocks()
    if conversation is not None and len(held) == 1:
        _last[source.key] = (conversation,)
        recall(conversation, held[0])
    # What is made up is counted while it is made: nobody could recall that before.
    if conversation is not None and conversation.recorded:
        _counts[source.key] = held


def forget() -> None:
    """Drop what is remembered of a conversation, so that it does not grow with every one."""
    _last.clear()
    _counts.clear()
    forget_counts()
    forget_blocks()
