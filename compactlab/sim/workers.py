"""Having shards done: here, by processes of this machine, or on a cluster."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from compactlab.sim.errors import UsageError
from compactlab.sim.run import Run
from compactlab.sim.shard import Shard

Work = Callable[[Shard], Any]
# So many workers may die in a row, with nothing done in between, before shards are suspected.
_DEATHS = 3


@dataclass(frozen=True)
class Workers:
    """Who does shards.

    Parameters
    ----------
    jobs
        How many processes; 1 for this one alone.
    dask
        Address of the scheduler of a dask cluster, which does them instead.
    """

    jobs: int = 1
    dask: str = ""

    def do(self, work: Work, shards: Sequence[Shard]) -> Iterator[tuple[Shard, Any]]:
        """Do shards, and give out what comes of each as soon as it is there.

        Whoever dies over a shard (killed, or out of memory) costs nothing but time: it is done
        again. A shard over which workers die again and again is taken apart, and the run that
        kills them fails.

        Parameters
        ----------
        work
            What to do with a shard, a function that can be pickled.
        shards
            The shards.

        Raises
        ------
        UsageError
            If there is no such cluster.
        """
        if self.jobs == 1 and not self.dask:
            yield from ((shard, work(shard)) for shard in shards)
            return
        _send_along(shards)
        with self._backend():
            left = dict(enumerate(shards))
            deaths = 0
            while left and deaths < _DEATHS:
                for number, done in self._round(work, left):
                    deaths = 0
                    yield left.pop(number), done
                deaths += 1
            for shard in left.values():
                yield from self._alone(work, shard)

    def _alone(self, work: Work, shard: Shard) -> Iterator[tuple[Shard, Any]]:
        """One shard by itself; if even so nobody survives it, its cells one by one."""
        for _ in range(_DEATHS):
            for _, done in self._round(work, {0: shard}, jobs=1):
                yield shard, done
                return
        apart = shard.apart()
        if len(apart) == 1:
            yield shard, work(_Deadly(shard.tasks, shard.timeout))
            return
        for cell in apart:
            yield from self._alone(work, cell)

    def _round(
        self, work: Work, shards: dict[int, Shard], jobs: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Do shards until all are done or a worker dies."""
        from joblib import Parallel, delayed

        # With one job joblib would do it in this process, which must not die.
        count = max(2, jobs or self.jobs)
        parallel = Parallel(
            n_jobs=-1 if self.dask else count,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2 * n_jobs",
        )
        parent = 0 if self.dask else os.getpid()
        calls = (delayed(_numbered)(work, n, shard, parent) for n, shard in list(shards.items()))
        try:
            yield from parallel(calls)
        except Exception as error:
            if not _is_death(error):
                raise

    def _backend(self) -> AbstractContextManager[Any]:
        if not self.dask:
            return nullcontext()
        return _cluster(self.dask)


ALONE = Workers()


class _Deadly(Shard):
    """A shard of one cell over which workers die: its run fails without being tried."""

    def runs(self) -> list[Run]:
        error = "the worker died over it, more than once: killed, or out of memory"
        return [run for task in self.tasks for run in task.failed("failed", error)]


def _numbered(work: Work, number: int, shard: Shard, parent: int) -> tuple[int, Any]:
    if parent:
        _die_with(parent)
    return number, work(shard)


def _die_with(parent: int) -> None:
    """See to it that this worker ends when the process that it works for does.

    Killed, that process could tell nobody, and its workers would go on for nothing.
    """
    if any(thread.name == "orphaned" for thread in threading.enumerate()):
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, name="orphaned", daemon=True).start()


def _is_death(error: Exception) -> bool:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    # Of a cluster: KilledWorker, when a task has taken several workers with it.
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


def _cluster(address: str) -> AbstractContextManager[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "for a cluster, dask is needed: pip install 'compactlab[distributed]'"
        ) from None
    from joblib import parallel_config

    try:
        client = Client(address, timeout=10, set_as_default=True)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UsageError(f"no dask scheduler at {address!r}: {error}") from None
    return _Connected(client, parallel_config(backend="dask", client=client))


class _Connected(AbstractContextManager[Any]):
    """A client of a cluster, closed after use."""

    def __init__(self, client: Any, config: AbstractContextManager[Any]) -> None:
        self._client, self._config = client, config

    def __enter__(self) -> None:
        self._config.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._config.__exit__(*error)
        self._client.close()


def _send_along(shards: Iterable[Shard]) -> None:
    """Have the code of users' own strategies sent to the workers, which could not import it."""
    import cloudpickle

    conditions = {id(c): c for shard in shards for task in shard.tasks for c in task.conditions}
    parts = {type(part) for c in conditions.values() for part in c.strategy.parts}
    for cls in parts:
        module = cls.__module__
        if module != "__main__" and not module.startswith(f"{__package__.partition('.')[0]}."):
            cloudpickle.register_pickle_by_value(sys.modules[module])
