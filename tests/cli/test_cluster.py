"""The same on a cluster: a real scheduler and two workers, over TCP."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.shard import Shard, Task, shards
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.workers import cluster
from compactlab.strategies import KeepAll
from tests.cli.field import MOMENTS, Field, content, ended, until

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None, reason="dask is not installed: the extra `distributed`"
)


@dataclass(frozen=True)
class Farm:
    """A scheduler, and workers that come and go."""

    folder: Path
    gate: Path

    @property
    def address(self) -> str:
        return str(json.loads((self.folder / "scheduler.json").read_text("utf-8"))["address"])

    @contextmanager
    def dask(self, *command: object) -> Iterator[subprocess.Popen[bytes]]:
        """A process of dask's command line, until it is not needed any more."""
        with (
            (self.folder / "log").open("ab") as log,
            subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, command), "--no-dashboard"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "GATE": str(self.gate)},
            ) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def scheduler(self) -> Iterator[subprocess.Popen[bytes]]:
        file = self.folder / "scheduler.json"
        where = ("--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
        with self.dask("scheduler", *where) as process:
            until(file.exists)
            yield process

    def workers(self) -> int:
        """How many workers its scheduler knows."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return len(client.nthreads())

    def worker(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return self.dask("worker", self.address, "--nthreads", 1, "--no-nanny")


@pytest.fixture(scope="module")
def field(tmp_path_factory) -> Field:
    return Field.laid_out(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def whole(field) -> dict[str, bytes]:
    """The store that processes of this machine make."""
    done = field.run(field.folder / "whole", "--jobs", 1)
    assert done.code == 0, done.said
    return content(field.folder / "whole")


@pytest.fixture(scope="module")
def farm(field) -> Iterator[Farm]:
    farm = Farm(field.folder, field.gate)
    with farm.scheduler():
        yield farm


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(field, farm, whole, tmp_path):
    with (
        farm.worker(),
        farm.worker(),
        field.running(tmp_path / "out", "--dask", farm.address) as process,
    ):
        with field.shut():
            os.kill(field.waiting(tmp_path / "out")[0], signal.SIGKILL)
        done = ended(process)
    assert (done.code, "Traceback" in done.err) == (0, False), done.said
    assert content(tmp_path / "out") == whole


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_may_be_killed_at_any_moment(field, farm, whole, tmp_path, moment):
    out = tmp_path / "out"
    with (
        farm.worker() as worker,
        farm.worker(),
        field.slow(),
        field.running(out, "--dask", farm.address) as process,
    ):
        until(out.exists)
        field.moment(out, f"dask {moment}")
        worker.kill()
        done = ended(process)
    assert (done.code, "Traceback" in done.err) == (0, False), done.said
    assert content(out) == whole


@pytest.mark.slow
def test_when_all_workers_are_killed_the_next_one_goes_on(field, farm, whole, tmp_path):
    out = tmp_path / "out"
    with ExitStack() as first, field.running(out, "--dask", farm.address) as process:
        first.enter_context(farm.worker())
        first.enter_context(farm.worker())
        with field.shut():
            for pid in field.waiting(out):
                os.kill(pid, signal.SIGKILL)
        with farm.worker():
            done = ended(process)
    assert (done.code, "Traceback" in done.err) == (0, False), done.said
    assert content(out) == whole


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:1", "x://y:1"]
)
def test_where_there_is_no_scheduler_it_is_said(address, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.workers.PATIENCE", 0.1)
    with (
        pytest.raises(UsageError, match=f"no dask scheduler at '{address}'"),
        cluster(address),
    ):
        pass


def test_without_dask_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UsageError, match=r"pip install 'compactlab\[distributed\]'"),
        cluster("tcp://127.0.0.1:1"),
    ):
        pass


def test_where_there_are_no_workers_it_is_said(farm, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.workers.PATIENCE", 2)
    with pytest.raises(UsageError, match="has no workers"), cluster(farm.address):
        pass


@pytest.mark.slow
def test_a_worker_that_does_not_answer_is_left_out(farm, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.workers.PATIENCE", 5)
    warned: list[str] = []
    with farm.worker() as silent, farm.worker():
        until(lambda: farm.workers() == 2)
        os.kill(silent.pid, signal.SIGSTOP)
        with cluster(farm.address, warned.append) as team:
            assert len(team._threads()) == 1
            (shard,) = shards([Task(Source("none", list), (CONDITION,))])
            ((_, done),) = team.run(Shard.runs, [shard])
        assert done == []
        (told,) = warned
        assert "does not answer and is left out: nothing came for 5 s" in told


@pytest.mark.slow
def test_where_no_worker_answers_it_is_said(farm, monkeypatch):
    monkeypatch.setattr("compactlab.sim.experiment.workers.PATIENCE", 2)
    with farm.worker() as silent:
        until(lambda: farm.workers() == 1)
        os.kill(silent.pid, signal.SIGSTOP)
        with pytest.raises(UsageError, match="no worker of the dask"), cluster(farm.address):
            pass


@pytest.mark.slow
def test_when_the_scheduler_ends_there_is_a_word_and_no_traceback(field, tmp_path):
    own = Farm(tmp_path, field.gate)
    with (
        own.scheduler() as scheduler,
        own.worker(),
        own.worker(),
        field.running(tmp_path / "out", "--dask", own.address) as process,
        field.shut(),
    ):
        field.waiting(tmp_path / "out")
        scheduler.kill()
        done = ended(process)
    assert done.code == 2, done.said
    assert done.err.splitlines()[-1].startswith("compactlab: the dask scheduler is gone;")
    assert not [word for word in ("Traceback", "distributed.") if word in done.err]


CONDITION = Condition(KeepAll(), "", Setting())


def test_workers_of_another_version_are_refused(field, farm, root, tmp_path, monkeypatch):
    shutil.copytree(root / "compactlab", tmp_path / "compactlab")
    with (tmp_path / "compactlab/strategies/controls.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    with farm.worker():
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        done = field.run(tmp_path / "out", "--dask", farm.address)
    assert done.code == 2
    assert "would not find the same: code of strategies" in done.err, done.err
