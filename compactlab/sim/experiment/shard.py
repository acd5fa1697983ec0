"""A worker's unit of work: some sources under some conditions, run one by one."""

from __future__ import annotations

import ctypes
import gc
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from types import FrameType
from typing import Any, TypeVar

from compactlab.sim.core.blocks import forget_blocks
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import CompactlabError, ModelError
from compactlab.sim.core.isolation import TOO_LONG, described, isolated
from compactlab.sim.core.limits import LONGEST_WAIT
from compactlab.sim.core.tokens import (
    Counts,
    counted,
    encoding,
    forget_counts,
    packed,
    recall,
    unpacked,
)
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.disclosure import Disclosure
from compactlab.sim.experiment.foreign import loaded
from compactlab.sim.experiment.sources import Source
from compactlab.sim.metrics import METRICS, RunData, figures
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import RECORDED, header_of, replay
from compactlab.sim.replay.sizes import Unseen, unseen
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import InStep, Matched, Remembering, Summarizer
from compactlab.sim.replay.trace import Step, Trace
from compactlab.sim.store.figures_used import used_in
from compactlab.sim.store.run import Cell, Run, shard_name
from compactlab.sim.store.tables import TABLES, storable

T = TypeVar("T")
Work = Callable[..., Run]
Counted = dict[str, bytes]


# A time limit, which also stops endless loops.

# Seconds after which the exception is raised again, in case the code caught it.
_AGAIN = 1.0


class OutOfTime(BaseException):
    """A time limit was exceeded; a BaseException, so that foreign code does not catch it."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block after a number of seconds.

    In a main thread with signals, this also interrupts sleeping and waiting. Elsewhere, such as on
    a cluster worker, it only interrupts Python code.
    """
    if seconds is None or seconds > LONGEST_WAIT:
        yield
    elif hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        with _signalled(seconds):
            yield
    else:
        with _watched(seconds):
            yield


@contextmanager
def _signalled(seconds: float) -> Iterator[None]:
    over = False

    def late(number: int, frame: FrameType | None) -> None:
        if not over:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, late)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)  # may fire immediately
            yield
        finally:
            over = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    thread = ctypes.c_ulong(threading.get_ident())
    over = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        pause = seconds
        while not over.wait(pause):
            # Once the block is over, nothing is raised: the lock decides.
            with lock:
                if not over.is_set():
                    raised = ctypes.py_object(OutOfTime)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)
            pause = _AGAIN

    threading.Thread(target=watch, name="deadline", daemon=True).start()
    try:
        try:
            yield
        finally:
            with lock:
                over.set()
    finally:
        over.set()


# One run: a replay and its figures. A failure affects this run only.


def run_one(
    run: Run,
    conversation: Conversation,
    strategy: Strategy,
    setting: Setting,
    timeout: float | None = None,
) -> Run:
    """Replay and measure one run; any error fails this run only."""
    try:
        with uncollected(), deadline(timeout):
            strategy, readings = loaded(strategy), list[RunData]()
            for loop, differs in _loops(setting.loop):
                if readings and not differs(readings[-1]):
                    readings.append(readings[-1])
                    continue
                options = replace(setting, loop=loop)
                steps = list(replay(conversation, strategy, options))
                readings.append(_read(conversation, strategy, options, steps))
            data = readings[0]
            controls = _controls(data, conversation, strategy, setting)
            data = data.beside(controls=controls) if controls else data
            data = data.beside(best=readings[1], worst=readings[2]) if setting.loop else data
            rows = {name: TABLES[name].rows(data) for name in setting.tables}
            rows = {name: filled for name, filled in rows.items() if len(filled)}
            measured = figures(data, setting.metrics)
            _check(measured)
            used = used_in([*readings, *controls.values()], run.condition)
            return replace(run, metrics=measured, rows=rows, used=used)
    except CompactlabError as error:
        return replace(run, status="failed", error=str(error))
    except OutOfTime:
        # The interrupted code may have left these caches half written.
        forget_counts()
        forget_blocks()
        return replace(run, status="failed", error=f"{TOO_LONG} {timeout:g} s")
    except (Exception, SystemExit, GeneratorExit) as error:
        return replace(run, status="failed", error=described(error))


def _controls(
    data: RunData, conversation: Conversation, strategy: Strategy, setting: Setting
) -> dict[str, RunData]:
    """Replay a run with each null summariser; only recall is read of these replays."""
    controls: dict[str, RunData] = {}
    # If nothing is summarised, the summariser makes no difference.
    writer = setting.summarizer
    for control in setting.controls if writer else ():
        name = control.spec.partition("(")[0]
        if not data.side_calls:
            controls[name] = data
            continue
        beside = control
        if writer and writer.asks and control.matched:
            written = (c.usage.output for c in data.side_calls if c.purpose == "summary")
            beside = InStep(control, tuple(written))
        billed = strategy.by_price
        options = replace(setting, summarizer=beside, loop=None, billed=billed)
        steps = list(replay(conversation, strategy, options))
        controls[name] = _read(conversation, strategy, options, steps)
    return controls


def _check(measured: Mapping[str, float | None]) -> None:
    """Raise if a metric is out of range, because the store could not be read again."""
    for name, value in measured.items():
        if value is not None and (fault := METRICS[name].fault(value)):
            raise ModelError(fault)


def _read(script: Conversation, strategy: Strategy, options: Setting, steps: list[Step]) -> RunData:
    return RunData(Trace(header_of(script, strategy, options), steps, options.catalogue), script)


def _loops(loop: ClosedLoop | None) -> list[tuple[ClosedLoop | None, Callable[[RunData], bool]]]:
    """Return the loops of a run, each with a test whether it differs from the previous loop."""
    if loop is None:
        return [(None, _misses)]
    return [(None, _misses), (loop.best, _misses), (loop, _misleads)]


def run_apart(run: Run, work: Callable[[], Run], timeout: float | None = None) -> Run:
    """Run foreign code in a process of its own, so that it cannot harm other runs."""
    outcome = isolated(work, timeout)
    if outcome.killed:  # perhaps because other processes used up the memory
        outcome = isolated(work, timeout)
    done = outcome.value or replace(run, status="failed", error=outcome.fault)
    return replace(done, printed=outcome.printed)


def _misses(data: RunData) -> bool:
    """Whether a call misses a fact that it needs; if none does, the loop never closes."""
    moments = data.ledger.moments
    return any(
        moments[step.answer].needed & ~(states.kept | states.unknown)
        for step, states in zip(data.trace.steps, data.states, strict=True)
    )


def _misleads(closed: RunData) -> bool:
    """Whether a call needs a fact whose value in its prompt, before any recovery, is wrong."""
    first = None
    for step, states in zip(closed.trace.steps, closed.states, strict=True):
        first = states if first is None else first
        if not step.recovery:
            needed = closed.ledger.moments[step.answer].needed
            if needed & (first.outdated | first.changed):
                return True
            first = None
    return False


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the cyclic garbage collector: a replay makes many live objects, and no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


DEFAULT_MODEL = "claude-sonnet-4-5"
# About one second of work: the start-up time is small, and little is lost on a failure.
FULL = 256
# The weight of a source grows by one per so many bytes.
_BYTES = 500_000


@dataclass(frozen=True)
class Task:
    """A source and its conditions."""

    source: Source
    conditions: tuple[Condition, ...]
    counts: bytes = b""  # token counts of its texts, if known

    @property
    def cells(self) -> list[Cell]:
        """The cells of the task (source and condition keys)."""
        return [(self.source.key, condition.key) for condition in self.conditions]

    @property
    def weight(self) -> int:
        """The approximate work of one cell."""
        return self._size * self.conditions[0].setting.effort

    @property
    def work(self) -> int:
        """The approximate work of all cells."""
        return self._size * sum(condition.setting.effort for condition in self.conditions)

    @property
    def _size(self) -> int:
        return 1 + self.source.size // _BYTES

    def prepared(
        self, disclosure: Disclosure | None, timeout: float | None = None
    ) -> Iterator[tuple[Run, Work | None]]:
        """Yield the task's rows by conversation, with the work that fills each; None on errors."""
        place = 0
        try:
            for conversation in _conversations(self.source, self.counts, timeout):
                named = self.source.named(conversation)
                if disclosure is not None:
                    disclosure.turn_to(named)
                yield from self._under_all(place, named)
                place += 1
        except Exception as error:
            reason = str(error) if isinstance(error, CompactlabError) else described(error)
            for run in self.failed("unreadable", reason, place):
                yield run, None

    def failed(self, status: str, error: str, place: int = 0) -> Iterator[Run]:
        """Yield the rows of a failure without a conversation."""
        disclosure = self.disclosure
        for condition in self.conditions:
            run = self._row(condition, place, status=status, error=error)
            if status == "unreadable":  # the error is the same under all strategies
                nobody: dict[str, Any] = {
                    "strategy": "",
                    "model": "",
                    "summarizer": "",
                    "label": "",
                }
                run = replace(run, **nobody, bound=False)
            yield disclosure.of(run) if disclosure is not None else run

    def _row(self, condition: Condition, place: int, **more: Any) -> Run:
        """The row of a condition, without the data of a conversation."""
        return Run(
            **{"conversation": self.source.name, "scenario": "", "model": condition.model} | more,
            strategy=condition.strategy.spec,
            window=condition.setting.window or 0,
            seed=self.source.seed,
            summarizer=condition.written_by,
            label=condition.strategy.label,
            source=self.source.name,
            place=place,
            source_key=self.source.key,
            condition=condition.key,
            bound=condition.bound,
        )

    @property
    def disclosure(self) -> Disclosure | None:
        """The redaction of secrets in the rows; None if they are not redacted."""
        return Disclosure(self.source) if self.conditions[0].setting.redact else None

    def _under_all(self, place: int, conversation: Conversation) -> Iterator[tuple[Run, Work]]:
        shared = self.conditions[0].setting
        common = _common(conversation, shared.catalogue)
        every = {id(c.summarizer): c for c in self.conditions if c.summarizer}
        writers = {key: common.writer(each) for key, each in every.items()}
        controls = {key: _beside(each, shared.controls) for key, each in writers.items()}
        fallback = RECORDED if conversation.recorded else DEFAULT_MODEL
        title = storable(conversation.opening)
        for condition in self.conditions:
            setting = replace(
                condition.setting,
                model=condition.model or fallback,
                summarizer=writers.get(id(condition.summarizer)),
                controls=controls.get(id(condition.summarizer), ()),
                seed=self.source.seed,
                overhead=common.overhead,
            )
            run = self._row(
                condition,
                place,
                conversation=conversation.id,
                scenario=conversation.format,
                model=setting.model,
                digest=conversation.digest,
                passed_over="; ".join(map(str, conversation.passed_over)),
                own_models=setting.catalogue.digest,
                loop=setting.loop.spec if setting.loop else "",
                title=title,
                labels="declared" if conversation.facts else "inferred",
            )
            work = partial(run_one, run, conversation, condition.strategy, setting)
            if condition.foreign and setting.isolate:
                _load()
                work = partial(run_apart, run, work)
            yield run, work


@dataclass
class _Common:
    """Data that all runs over a conversation share, across shards."""

    conversation: Conversation
    catalogue: Catalogue
    writers: dict[tuple[object, ...], Remembering] = field(default_factory=dict)

    @cached_property
    def overhead(self) -> Unseen:
        """The tokens that a recording's client sends but does not log."""
        return unseen(self.conversation, self.catalogue)

    def writer(self, condition: Condition) -> Remembering:
        """Return the summariser of a condition, with its cached answers to other strategies."""
        summarizer = condition.summarizer
        assert summarizer is not None
        # The spec does not name the endpoint of a model, which may change between experiments.
        model = summarizer if summarizer.asks else None
        key = type(summarizer), summarizer.spec, condition.writer["code"], model
        return self.writers.setdefault(key, Remembering(summarizer))


def _common(conversation: Conversation, catalogue: Catalogue) -> _Common:
    """Return the shared data of a conversation; the last one is cached."""
    known = _latest[0] if _latest else None
    if (
        known is None
        or known.conversation is not conversation
        or known.catalogue.digest != catalogue.digest
    ):
        _latest[:] = [_Common(conversation, catalogue)]
    return _latest[0]


def _beside(writer: Summarizer, controls: Iterable[Summarizer]) -> tuple[Summarizer, ...]:
    """Return controls for a summariser, length-matched if they have no length of their own."""
    return tuple(
        control
        if control.matched and writer.asks  # uses the lengths of the run: see InStep
        else Remembering(Matched(control, writer) if control.matched else control)
        for control in controls
    )


@dataclass(frozen=True)
class Shard:
    """Tasks that are run and stored together."""

    tasks: tuple[Task, ...]
    timeout: float | None = None  # time limit of a run in seconds; None: no limit

    @property
    def cells(self) -> list[Cell]:
        return [cell for task in self.tasks for cell in task.cells]

    @property
    def work(self) -> int:
        return sum(task.work for task in self.tasks)

    @property
    def name(self) -> str:
        """The name of the shard: sixteen hex digits, a digest of its cells."""
        return shard_name(self.cells)

    def run(self, then: Callable[[Shard, list[Run], Counted], T]) -> T:
        """Run all tasks and pass the runs to a function."""
        runs: list[Run] = []
        counts: Counted = {}
        encoding("o200k_base")  # not counted as the first run's time
        # A full garbage collection between two runs takes as long as a short run.
        with uncollected():
            for task in self.tasks:
                disclosure = task.disclosure
                for row, work in task.prepared(disclosure, self.timeout):
                    run = row if work is None else work(timeout=self.timeout)
                    runs.append(run if disclosure is None or work is None else disclosure.of(run))
                if not task.counts and (held := _counts.get(task.source.key)):
                    counts[task.source.key] = packed(held)
        return then(self, runs, counts)

    def runs(self) -> list[Run]:
        return self.run(lambda shard, runs, counts: runs)

    def apart(self) -> list[Shard]:
        """Return one shard per cell."""
        return [
            replace(self, tasks=(replace(task, conditions=(condition,)),))
            for task in self.tasks
            for condition in task.conditions
        ]


@cache
def _load() -> None:
    """Load tokenizer and prices once here, so that forked processes need not load them."""
    encoding("o200k_base")
    prices_of(built_in().find(DEFAULT_MODEL))


def shards(tasks: Iterable[Task], timeout: float | None = None) -> Iterator[Shard]:
    """Group tasks into shards of about equal work, in order.

    The remaining tasks of an interrupted experiment give the same shards, if no task was started.
    So a resumed experiment writes the same files as an uninterrupted one.
    """
    held: list[Task] = []
    work = 0
    for task in tasks:
        at_once = max(1, FULL // task.weight)
        for start in range(0, len(task.conditions), at_once):
            piece = replace(task, conditions=task.conditions[start : start + at_once])
            held.append(piece)
            work += piece.work
            if work >= FULL // 2:
                yield Shard(tuple(held), timeout)
                held, work = [], 0
    if held:
        yield Shard(tuple(held), timeout)


_last: dict[str, tuple[Conversation, ...]] = {}
_counts: dict[str, list[Counts]] = {}
_latest: list[_Common] = []


def _conversations(
    source: Source, known: bytes, timeout: float | None = None
) -> Iterator[Conversation]:
    """Yield the conversations of a source; a single one is cached for the next conditions."""
    if source.key in _last:
        yield from _last[source.key]
        return
    before = unpacked(known)
    held: list[Counts] = []
    conversation = None
    forget()
    for index, conversation in enumerate(source.conversations(timeout)):
        if index < len(before):
            recall(conversation, before[index])
        yield conversation
        held.append(counted(conversation))
        forget_counts()
        forget_blocks()
    if conversation is not None and len(held) == 1:
        _last[source.key] = (conversation,)
        recall(conversation, held[0])
    # Synthetic conversations are counted while they are made, so their counts are not stored.
    if conversation is not None and conversation.recorded:
        _counts[source.key] = held


def forget() -> None:
    """Clear the caches of a conversation, so that memory does not grow."""
    _last.clear()
    _latest.clear()
    _counts.clear()
    forget_counts()
    forget_blocks()
