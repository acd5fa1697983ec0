"""Having shards done: here, by processes of this machine, or on a dask cluster."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import pickle
import platform
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from itertools import count, islice
from operator import methodcaller
from typing import Any, Protocol, TypeVar

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.isolation import PACKAGE, die_with
from compactlab.sim.experiment.shard import Counted, Shard
from compactlab.sim.models.pricing import price_list
from compactlab.sim.store.code import digest_of_folder
from compactlab.sim.store.run import Run

# The workers of a dask cluster.

Outcome = tuple[Shard, Any]
"""A shard and what comes of it."""
DIED = object()
"""What comes of a shard that nobody survives."""


PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for a first worker."""
# What results depend on, of the package.
_CODE = ("sim", "privacy", "strategies", "scenarios")
_GONE = "the dask scheduler is gone; what is done is stored"
# A worker may have several threads, but an engine remembers for one at a time.
_busy = threading.Lock()


# They would show tracebacks of what is told in a word here, such as a scheduler that is gone.
_TALKATIVE = ("distributed", "tornado", "asyncio")


@contextmanager
def cluster(address: str, warn: Callable[[str], object] = str) -> Iterator[Cluster]:
    """A connection to a cluster whose workers find the same as this process would."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise UsageError(
            "for a cluster, dask is needed: pip install 'compactlab[distributed]'"
        ) from None
    with _quiet():
        connect: Callable[..., Any] = Client
        try:
            # A client that was made with another address would not go away for a long time.
            get_address_host_port(address, strict=True)
            client = connect(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"no dask scheduler at {address!r}: {error}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise UsageError(f"the dask scheduler at {address!r} has no workers") from None
            workers = list(client.nthreads())
            with ThreadPoolExecutor(max_workers=len(workers)) as pool:
                answers = dict(
                    zip(workers, pool.map(partial(_asked, client), workers), strict=True)
                )
            silent = frozenset(
                each for each, answer in answers.items() if isinstance(answer, OSError)
            )
            for worker in sorted(silent):
                warn(f"the dask worker {worker} does not answer and is left out: {answers[worker]}")
            if len(silent) == len(answers):
                raise UsageError(f"no worker of the dask scheduler at {address!r} answers")
            for worker in answers.keys() - silent:
                _compare(_versions(), answers[worker], worker)
            yield Cluster(client, silent)


@contextmanager
def _quiet() -> Iterator[None]:
    """Have dask tell only what nobody else would."""
    # By name and level nobody is spared: each part of dask has a level of its own.
    every = [logging.getLogger(n) for n in logging.root.manager.loggerDict if _is_talkative(n)]
    heard = [logger for logger in every if not logger.disabled]
    for logger in heard:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in heard:
            logger.disabled = False


def _is_talkative(logger: str) -> bool:
    return logger.partition(".")[0] in _TALKATIVE


def _asked(client: Any, worker: str) -> Any:
    """What versions a worker has, or why it does not say."""
    try:
        waiting = {"callback_timeout": PATIENCE, "on_error": "return"}
        return client.run(_versions, workers=[worker], **waiting).get(worker, OSError("it left"))
    except TimeoutError:
        return TimeoutError(f"nothing came for {PATIENCE:g} s")
    except OSError as error:
        return error


class Cluster:
    """Does shards on the workers of a cluster."""

    def __init__(self, client: Any, silent: Set[str] = frozenset()) -> None:
        self._client = client
        self._silent = silent

    def run(self, work: Callable[[Shard], Any], shards: Sequence[Shard]) -> Iterator[Outcome]:
        """Do shards, and give out what comes of each as soon as it is there."""
        from distributed import as_completed

        completed: Callable[..., Any] = as_completed
        waiting = iter(shards)
        running: dict[Any, Shard] = {}
        finished = completed(loop=self._client.loop)
        try:
            while True:
                for shard in islice(waiting, max(0, self._room() - len(running))):
                    future = self._submit(work, shard)
                    running[future] = shard
                    finished.add(future)
                if not running:
                    return
                future = next(finished)
                yield running.pop(future), self._result(future)
        finally:
            self._client.cancel(list(running))

    def _threads(self) -> dict[str, int]:
        """How many threads each worker has that may get something to do."""
        try:
            every = self._client.nthreads()
        except OSError:
            raise UsageError(_GONE) from None
        return {worker: threads for worker, threads in every.items() if worker not in self._silent}

    def _room(self) -> int:
        """How many shards are handed out: no worker has to wait, and none heaps up what it did."""
        return max(2, 2 * sum(self._threads().values()))

    def _submit(self, work: Callable[[Shard], Any], shard: Shard) -> Any:
        import cloudpickle

        only = {"workers": list(self._threads())} if self._silent else {}
        # As bytes, for a worker to look whether it can do it before it reads what it is.
        packed = cloudpickle.dumps((work, shard))
        return self._client.submit(_do, _versions(), packed, pure=False, **only)

    def _result(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except KilledWorker:
            return DIED
        except CancelledError:
            raise UsageError(_GONE) from None


def _do(versions: Mapping[str, str], packed: bytes) -> Any:
    _compare(versions, _versions(), "a worker")
    with _busy:
        work, shard = pickle.loads(packed)  # noqa: S301
        return work(shard)


@cache
def _versions() -> dict[str, str]:
    """What must be the same for results to be the same, and for code to be read at all."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "compactlab": version("compactlab"),
        "tiktoken": version("tiktoken"),
        "prices": price_list(),
        **{f"code of {name}": digest_of_folder(name) for name in _CODE},
    }


def _compare(here: Mapping[str, str], there: Any, worker: str) -> None:
    if not isinstance(there, Mapping):
        raise UsageError(f"{worker} has no compactlab of this version: {there}")
    differences = [
        f"{name} {there.get(name)}, not {here[name]}"
        for name in here
        if there.get(name) != here[name]
    ]
    if differences:
        raise UsageError(f"{worker} would not find the same: {', '.join(differences)}")


Work = Callable[[Shard], Any]
Piece = tuple[list[Run], Counted]
T = TypeVar("T")
_SAFE_PATH = "PYTHONSAFEPATH"
# After so many shards a worker looks for cycles in its memory, which takes a tenth of a second.
_SELDOM = 8
# Seconds after which a process with nothing to do ends.
_REST = 300
# What says how many threads numpy's libraries may have.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Workers:
    """Who does shards."""

    jobs: int = 1  # how many processes; 1 for this one alone
    dask: str = ""  # address of the scheduler of a dask cluster, which does them instead
    warn: Callable[[str], object] = str  # told of what goes wrong there and is made good

    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        """Do shards, and give out what comes of each as soon as it is there.

        Whoever dies over a shard (killed, or out of memory) costs nothing but time: it is done
        again. A shard over which workers die again and again is done cell by cell, and the run that
        kills them fails.
        """
        if self.jobs == 1 and not self.dask:
            return zip(shards, map(work, shards), strict=True)
        return self._elsewhere(work, shards)

    def _elsewhere(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        _send_along(shards)
        if not self.dask:
            yield from _survived(_Processes(self.jobs), work, shards)
            return
        with cluster(self.dask, self.warn) as team:
            yield from _survived(team, work, shards)


ALONE = Workers()


class _Team(Protocol):
    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        """What comes of each shard; `DIED` for one that nobody survives."""


def _survived(team: _Team, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
    """Do shards; one that nobody survives in pieces, which are put together again."""
    for shard, done in team.run(work, shards):
        if done is DIED:
            yield shard, work(_Pieced(shard.tasks, shard.timeout, tuple(_pieces(team, shard))))
        else:
            yield shard, done


def _pieces(team: _Team, shard: Shard) -> Iterator[Piece]:
    """What comes of each cell of a shard: its run fails, if nobody survives it."""
    alone: list[Outcome] = [(shard, DIED)]
    apart = len(shard.cells) > 1
    for piece, done in team.run(methodcaller("run", _piece), shard.apart()) if apart else alone:
        if done is not DIED:
            yield done
            continue
        error = "the worker died over it, more than once: killed, or out of memory"
        yield [run for task in piece.tasks for run in task.failed("failed", error)], {}


def _piece(shard: Shard, runs: list[Run], counts: Counted) -> Piece:
    return runs, counts


@dataclass(frozen=True)
class _Pieced(Shard):
    """A shard whose cells were done one by one: it holds the same as if it had been done whole."""

    pieces: tuple[Piece, ...] = ()

    def run(self, then: Callable[[Shard, list[Run], Counted], T]) -> T:
        sources = [source for source, _ in self.cells]
        conditions = [condition for _, condition in self.cells]
        runs = [run for rows, _ in self.pieces for run in rows]
        runs.sort(
            key=lambda run: (
                sources.index(run.source_key),
                run.place,
                conditions.index(run.condition),
            )
        )
        counts = {key: held for _, counted in self.pieces for key, held in counted.items()}
        return then(self, runs, counts)


class _Waiting:
    """Shards that nobody does yet, in order, and those of a source together."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._shards: dict[str, deque[Shard]] = {}
        for shard in shards:
            self._shards.setdefault(shard.tasks[0].source.key, deque()).append(shard)

    def __bool__(self) -> bool:
        return bool(self._shards)

    def next(self, held: str, busy: Container[str]) -> Shard:
        """The next shard of a source that is held; else of one that is not busy; else of any.

        To read a source, and to find out what its texts say, takes as long as some strategies.
        """
        apart = (source for source in self._shards if source not in busy)
        source = held if held in self._shards else next(apart, next(iter(self._shards)))
        shard = self._shards[source].popleft()
        if not self._shards[source]:
            del self._shards[source]
        return shard


class _Process:
    """A process of this machine that does one shard at a time."""

    def __init__(self) -> None:
        self.held = ""  # the source that it has read last
        self._folder = ""  # the working directory that it began in
        self._executor = _executor()

    def begin(self, work: Work, shard: Shard) -> Future[Any]:
        """Have a shard done."""
        from joblib.externals.loky import BrokenProcessPool

        self.held = shard.tasks[-1].source.key
        here = os.getcwd()
        if self._folder not in ("", here):  # there, relative names would be those of other files
            self.end()
            self._executor = _executor()
        self._folder = here
        try:
            return self._submitted(work, shard)
        except BrokenProcessPool:  # killed while it had nothing to do
            self._executor = _executor()
            return self._submitted(work, shard)

    def _submitted(self, work: Work, shard: Shard) -> Future[Any]:
        with _safe_path(), _unheard():
            future: Future[Any] = self._executor.submit(_tidied, work, shard)
            return future

    def end(self) -> None:
        """Stop it, whatever it does."""
        self._executor.shutdown(kill_workers=True)


def _executor() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    before = os.environ.get(_SAFE_PATH)
    with _safe_path(), _unheard():  # it starts a process that tracks resources
        return ProcessPoolExecutor(
            max_workers=1,
            timeout=_REST,
            initializer=_begin,
            initargs=(os.getpid(), before),
            env=dict.fromkeys(_THREADS, "1"),  # there is a process for each core
        )


# Kept for the next experiment of this process: to start one takes longer than many a run.
_idle: list[_Process] = []
atexit.register(_idle.clear)  # later, their threads would find parts of the interpreter gone


@dataclass(frozen=True)
class _Processes:
    """Processes of this machine, each of which goes on with the source that it has read."""

    jobs: int

    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        died: list[Shard] = []
        for shard, done in self._together(work, _Waiting(shards)):
            if done is DIED:
                died.append(shard)
            else:
                yield shard, done
        for shard in died:  # perhaps for the memory that others wanted: now there are none
            yield from _Processes(1)._together(work, _Waiting([shard]))

    def _together(self, work: Work, waiting: _Waiting) -> Iterator[Outcome]:
        """Do shards, each once, and give out what comes of them as soon as it is there."""
        running: dict[Future[Any], tuple[_Process, Shard]] = {}

        def begin() -> None:
            while waiting and len(running) < self.jobs:
                process = _idle.pop() if _idle else _Process()
                busy = {other.held for other, _ in running.values()}
                shard = waiting.next(process.held, busy)
                running[process.begin(work, shard)] = process, shard

        try:
            begin()
            while running:
                future = next(iter(wait(running, return_when=FIRST_COMPLETED).done))
                process, shard = running[future]
                done = _outcome(future)
                del running[future]
                if done is DIED:
                    process.end()
                else:
                    _idle.append(process)
                begin()  # nobody waits for what is made of this one
                yield shard, done
        finally:
            for process, _ in running.values():
                process.end()


def _outcome(future: Future[Any]) -> Any:
    from joblib.externals.loky import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool:
        return DIED


@contextmanager
def _safe_path() -> Iterator[None]:
    """Have processes that are started meanwhile import nothing from the folder they start in."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]


@contextmanager
def _unheard() -> Iterator[None]:
    """Have processes that are started meanwhile not hear of Ctrl-C; it is told to this one after.

    A terminal tells it to all of them. One that is starting would die with a traceback, where
    nobody can catch it; so only this process stops, and ends the others. They inherit what this
    thread does not hear, and so do threads that start others in place of those that died.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # up to Python 3.11, its start has this thread hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_shards = count(1)


def _tidied(work: Work, shard: Shard) -> Any:
    if not next(_shards) % _SELDOM:
        gc.collect()
    return work(shard)


def _begin(parent: int, safe_path: str | None) -> None:
    """Begin as a worker, whose memory is looked through for circles between shards, and seldom."""
    if safe_path is None:  # what its strategies start is none of our business
        os.environ.pop(_SAFE_PATH, None)
    die_with(parent)
    gc.freeze()
    gc.disable()


def _send_along(shards: Iterable[Shard]) -> None:
    """Have the code of users' own strategies sent to the workers, which could not import it."""
    import cloudpickle

    conditions = {id(c): c for shard in shards for task in shard.tasks for c in task.conditions}
    every = conditions.values()
    parts: set[type] = {type(part) for c in every for part in c.strategy.parts}
    parts |= {type(c.summarizer) for c in every if c.summarizer}
    for cls in parts:
        module = cls.__module__
        if module != "__main__" and not module.startswith(f"{PACKAGE}."):
            cloudpickle.register_pickle_by_value(sys.modules[module])
