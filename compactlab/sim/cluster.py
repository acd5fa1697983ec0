"""The workers of a dask cluster."""

from __future__ import annotations

import logging
import pickle
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from itertools import islice
from typing import Any

from compactlab.sim.code import digest_of_folder
from compactlab.sim.errors import UsageError
from compactlab.sim.pricing import price_list
from compactlab.sim.shard import Shard

Outcome = tuple[Shard, Any]
"""A shard and what comes of it."""
DIED = object()
"""What comes of a shard that nobody survives."""


PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for a first worker."""
# What results depend on, of the package.
_CODE = ("sim", "strategies", "summarizers", "scenarios")
_GONE = "the dask scheduler is gone; what is done is stored"
# A worker may have several threads, but an engine remembers for one at a time.
_busy = threading.Lock()


# They would show tracebacks of what is told in a word here, such as a scheduler that is gone.
_TALKATIVE = ("distributed", "tornado", "asyncio")


@contextmanager
def cluster(address: str, warn: Callable[[str], object] = str) -> Iterator[Cluster]:
    """A connection to a cluster whose workers find the same as this process would.

    Parameters
    ----------
    address
        Where its scheduler is, e.g. ``tcp://127.0.0.1:8786``.
    warn
        Told of each worker that does not answer, and is left out.

    Raises
    ------
    UsageError
        If there is none, it has no workers that answer, or they are of another version.
    """
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
    """Does shards on the workers of a cluster.

    Parameters
    ----------
    client
        A client of dask, connected.
    silent
        Addresses of workers that get nothing to do.
    """

    def __init__(self, client: Any, silent: Set[str] = frozenset()) -> None:
        self._client = client
        self._silent = silent

    def do(self, work: Callable[[Shard], Any], shards: Sequence[Shard]) -> Iterator[Outcome]:
        """Do shards, and give out what comes of each as soon as it is there.

        Parameters
        ----------
        work
            What to do with a shard, a function that can be pickled.
        shards
            The shards; :data:`DIED` comes of one over which workers died again and again.
        """
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
