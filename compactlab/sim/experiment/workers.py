"""Runs shards: in this process, in processes of this machine, or on a dask cluster."""

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
"""A shard and its result."""
DIED = object()
"""The result of a shard that kills every worker."""


PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for the first worker."""
# The folders of the package that results depend on.
_CODE = ("sim", "privacy", "strategies", "scenarios")
_GONE = "the dask scheduler is gone; what is done is stored"
# A worker may have several threads, but the caches of the engine serve one thread only.
_busy = threading.Lock()


# Loggers that would print tracebacks of errors reported here, such as a lost scheduler.
_TALKATIVE = ("distributed", "tornado", "asyncio")


@contextmanager
def cluster(address: str, warn: Callable[[str], object] = str) -> Iterator[Cluster]:
    """Connect to a cluster whose workers have the same code and versions as this process."""
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
            # With an invalid address, a client would block for a long time.
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
    """Silence dask, whose errors are reported here."""
    # Each module of dask sets its own level, so disable every logger.
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
    """Return the versions of a worker, or the error if it does not answer."""
    try:
        waiting = {"callback_timeout": PATIENCE, "on_error": "return"}
        return client.run(_versions, workers=[worker], **waiting).get(worker, OSError("it left"))
    except TimeoutError:
        return TimeoutError(f"nothing came for {PATIENCE:g} s")
    except OSError as error:
        return error


class Cluster:
    """Runs shards on the workers of a cluster."""

    def __init__(self, client: Any, silent: Set[str] = frozenset()) -> None:
        self._client = client
        self._silent = silent

    def run(self, work: Callable[[Shard], Any], shards: Sequence[Shard]) -> Iterator[Outcome]:
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
        """Return the number of threads of each usable worker."""
        try:
            every = self._client.nthreads()
        except OSError:
            raise UsageError(_GONE) from None
        return {worker: threads for worker, threads in every.items() if worker not in self._silent}

    def _room(self) -> int:
        """Return how many shards to submit: workers never wait, and results do not pile up."""
        return max(2, 2 * sum(self._threads().values()))

    def _submit(self, work: Callable[[Shard], Any], shard: Shard) -> Any:
        import cloudpickle

        only = {"workers": list(self._threads())} if self._silent else {}
        # Sent as bytes, so that a worker checks versions before it unpickles.
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
    """Return the versions that must agree for equal results, and for unpickling."""
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
# A worker collects garbage after so many shards; each collection takes 0.1 seconds.
_SELDOM = 8
# Seconds after which an idle process ends.
_REST = 300
# Environment variables that set the number of threads of numpy's libraries.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Workers:
    """The configuration of the workers that run shards."""

    jobs: int = 1  # number of processes; 1: this process only
    dask: str = ""  # address of a dask scheduler, to use its cluster instead
    warn: Callable[[str], object] = str  # receives warnings about worker failures that are retried

    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        """Run shards, and yield the outcome of each as it completes.

        If a worker dies (killed, or out of memory), its shard is run again. If workers die
        repeatedly, the shard is run cell by cell, and the run that kills them fails.
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
        """Yield the outcome of each shard; `DIED` for one that killed every worker."""


def _survived(team: _Team, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
    """Run shards; run a shard that kills its workers in pieces, and combine the pieces."""
    for shard, done in team.run(work, shards):
        if done is DIED:
            yield shard, work(_Pieced(shard.tasks, shard.timeout, tuple(_pieces(team, shard))))
        else:
            yield shard, done


def _pieces(team: _Team, shard: Shard) -> Iterator[Piece]:
    """Yield the outcome of each cell of a shard; a run that kills its workers fails."""
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
    """A shard that was run cell by cell, with the same content as if run whole."""

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
    """The queue of shards, in order, grouped by source."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._shards: dict[str, deque[Shard]] = {}
        for shard in shards:
            self._shards.setdefault(shard.tasks[0].source.key, deque()).append(shard)

    def __bool__(self) -> bool:
        return bool(self._shards)

    def next(self, held: str, busy: Container[str]) -> Shard:
        """Return the next shard of the held source; else of a source that is not busy; else any.

        Reading a source and its texts takes as long as some strategies.
        """
        apart = (source for source in self._shards if source not in busy)
        source = held if held in self._shards else next(apart, next(iter(self._shards)))
        shard = self._shards[source].popleft()
        if not self._shards[source]:
            del self._shards[source]
        return shard


class _Process:
    """A process of this machine that runs one shard at a time."""

    def __init__(self) -> None:
        self.held = ""  # the source that it read last
        self._folder = ""  # its working directory at the start
        self._executor = _executor()

    def begin(self, work: Work, shard: Shard) -> Future[Any]:
        from joblib.externals.loky import BrokenProcessPool

        self.held = shard.tasks[-1].source.key
        here = os.getcwd()
        if self._folder not in ("", here):  # relative names would refer to other files
            self.end()
            self._executor = _executor()
        self._folder = here
        try:
            return self._submitted(work, shard)
        except BrokenProcessPool:  # killed while idle
            self._executor = _executor()
            return self._submitted(work, shard)

    def _submitted(self, work: Work, shard: Shard) -> Future[Any]:
        with _safe_path(), _unheard():
            future: Future[Any] = self._executor.submit(_tidied, work, shard)
            return future

    def end(self) -> None:
        self._executor.shutdown(kill_workers=True)


def _executor() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    before = os.environ.get(_SAFE_PATH)
    with _safe_path(), _unheard():  # starts a resource tracker process
        return ProcessPoolExecutor(
            max_workers=1,
            timeout=_REST,
            initializer=_begin,
            initargs=(os.getpid(), before),
            env=dict.fromkeys(_THREADS, "1"),  # one process per core
        )


# Idle processes, kept for the next experiment: starting one takes longer than many runs.
_idle: list[_Process] = []
atexit.register(_idle.clear)  # at a later time, parts of the interpreter are gone


@dataclass(frozen=True)
class _Processes:
    """Processes of this machine; each continues with the source that it has read."""

    jobs: int

    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        died: list[Shard] = []
        for shard, done in self._together(work, _Waiting(shards)):
            if done is DIED:
                died.append(shard)
            else:
                yield shard, done
        for shard in died:  # perhaps out of memory: now it runs alone
            yield from _Processes(1)._together(work, _Waiting([shard]))

    def _together(self, work: Work, waiting: _Waiting) -> Iterator[Outcome]:
        """Run each shard once, and yield the outcomes as they complete."""
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
                begin()  # before the next yield
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
    """Prevent processes started in this block from importing modules of their working folder."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]


@contextmanager
def _unheard() -> Iterator[None]:
    """Block Ctrl-C in processes that are started in this block; deliver it here afterwards.

    A terminal sends it to all processes. A starting process would die with a traceback that cannot
    be caught. So only this process stops, and ends the others. They inherit the blocked signals of
    this thread, as do threads that replace dead processes.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # up to Python 3.11, its start unblocks the signal
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
    """Initialise a worker process, which collects garbage rarely and only between shards."""
    if safe_path is None:  # processes started by strategies are unaffected
        os.environ.pop(_SAFE_PATH, None)
    die_with(parent)
    gc.freeze()
    gc.disable()


def _send_along(shards: Iterable[Shard]) -> None:
    """Send the code of user strategies to the workers, which could not import it."""
    import cloudpickle

    conditions = {id(c): c for shard in shards for task in shard.tasks for c in task.conditions}
    every = conditions.values()
    parts: set[type] = {type(part) for c in every for part in c.strategy.parts}
    parts |= {type(c.summarizer) for c in every if c.summarizer}
    for cls in parts:
        module = cls.__module__
        if module != "__main__" and not module.startswith(f"{PACKAGE}."):
            cloudpickle.register_pickle_by_value(sys.modules[module])
