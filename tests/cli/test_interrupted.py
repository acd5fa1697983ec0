"""Whoever is killed, and whenever: the store is what it would have been."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from compactlab.sim.store.results import ask
from compactlab.sim.store.store import Store
from tests.cli.field import (
    EACH,
    MOMENTS,
    SHARDS,
    Field,
    children,
    content,
    ended,
    gone,
    hears_ctrl_c,
    until,
)

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc to see workers in")


@pytest.fixture(scope="module")
def field(tmp_path_factory) -> Field:
    return Field.laid_out(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def whole(field) -> dict[str, bytes]:
    """The store of an undisturbed run."""
    out = field.folder / "whole"
    done = field.run(out, "--jobs", 1)
    assert done.code == 0, done.said
    assert field.stored(out) == SHARDS
    return content(out)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(field, whole, tmp_path):
    with field.running(tmp_path / "out", "--jobs", 2) as process:
        with field.shut():
            os.kill(field.waiting(tmp_path / "out")[0], signal.SIGKILL)
        done = ended(process)
    assert (done.code, "Traceback" in done.err) == (0, False), done.said
    assert content(tmp_path / "out") == whole


def test_a_run_that_is_stopped_in_any_way_is_continued_and_leaves_no_workers(
    field, whole, tmp_path
):
    out = tmp_path / "out"
    stopped = {
        (os.kill, signal.SIGKILL): -signal.SIGKILL,
        (os.kill, signal.SIGTERM): 130,
        # In a terminal, Ctrl-C is told to the workers as well.
        (os.killpg, signal.SIGINT): 130,
    }
    with field.shut():
        for (send, how), code in stopped.items():
            with field.running(out, "--jobs", 2) as process:
                workers = field.waiting(out)
                # Else one that is just starting would die of it with a traceback.
                assert not any(map(hears_ctrl_c, workers))
                send(process.pid, how)
                done = ended(process)
            assert (done.code, "Traceback" in done.err) == (code, False), done.said
            assert ("stopped; finished runs are in" in done.err) == (code == 130)
            gone(workers)
    done = field.run(out, "--jobs", 2)
    assert done.code == 0, done.said
    assert f"{12 * EACH} of {20 * EACH} cells are there already" in done.err
    assert content(out) == whole


@pytest.mark.slow
def test_workers_that_are_just_starting_say_nothing_of_ctrl_c(field, tmp_path):
    with field.running(tmp_path / "out", "--jobs", 2) as process:
        until(lambda: len(children(process.pid)) == 2)
        workers = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        done = ended(process)
    assert done.code == 130, done.said
    assert done.err.splitlines()[-1].startswith("stopped; finished runs are in")
    assert not [word for word in ("Traceback", "KeyboardInterrupt") if word in done.err]
    gone(workers)


def test_a_run_that_was_stopped_before_its_page_was_written_writes_it(
    compactlab, chat, tmp_path, monkeypatch
):
    talk = chat(tmp_path / "talk.jsonl")
    command = ("run", "--conversations", talk, "--strategies", "keep_all", "--jobs", 1)
    command += ("--model", "claude-sonnet-4-5", "--metrics", "money", "--out", tmp_path / "out")

    def stopped(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("compactlab.reports.page.page.write", stopped)
        done = compactlab(*command)
    assert (done.code, "stopped; finished runs are in" in done.err) == (130, True)
    done = compactlab(*command)
    assert (done.code, (tmp_path / "out/report.html").is_file()) == (0, True), done.said


STRATEGIES = """
import os, signal, time
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Endless(Strategy):
    def compact(self, view, host):
        while True:
            pass

@dataclass(frozen=True)
class Asleep(Strategy):
    def compact(self, view, host):
        time.sleep(1000)

@dataclass(frozen=True)
class Broken(Strategy):
    def compact(self, view, host):
        raise ValueError("no idea")

@dataclass(frozen=True)
class Deadly(Strategy):
    def compact(self, view, host):
        if view.messages[0].parts[0].text.startswith("Wait"):
            os.kill(os.getpid(), signal.SIGKILL)
        return view
"""


@pytest.fixture
def own(field) -> Callable[[str], str]:
    """Name one of the strategies above."""
    (field.folder / "own.py").write_text(STRATEGIES)
    return lambda name: f"{field.folder / 'own.py'}:{name}"


def statuses(out: Path) -> dict[tuple[str, str], int]:
    """How many runs of each strategy ended how, without bounds that nobody named."""
    sql = "SELECT strategy, status, count(*) FROM all_runs WHERE NOT bound GROUP BY ALL"
    return {(strategy, status): count for strategy, status, count in ask(Store(out), sql)[1]}


def test_who_does_not_come_to_an_end_fails_alone(field, own, compactlab, tmp_path):
    talk = field.folder / "talks/talk-000.jsonl"
    # What is loaded once is not the fault of the first run.
    warm = ("--conversations", talk, "--strategies", "keep_all", "--jobs", 1)
    compactlab("run", field.folder / "experiment.toml", *warm, "--out", tmp_path / "warm")
    strategies = [f"--strategies={name}" for name in ("keep_all", own("Endless"), own("Asleep"))]
    done = compactlab(
        *("run", field.folder / "experiment.toml", "--conversations", talk, *strategies),
        *("--jobs", 1, "--timeout", 1, "--out", tmp_path / "out"),
    )
    assert done.code == 1, done.said
    assert "it took longer than 1 s" in done.said
    assert statuses(tmp_path / "out") == {
        ("keep_all()", "ok"): 1,
        ("endless()", "failed"): 1,
        ("asleep()", "failed"): 1,
    }


def test_with_fail_fast_the_first_that_fails_is_the_last(field, own, compactlab, tmp_path):
    command = ("run", field.folder / "experiment.toml", "--strategies", own("Broken"))
    command += ("--strategies", "keep_all", "--jobs", 1, "--out", tmp_path / "out")
    done = compactlab(*command, "--fail-fast")
    assert (done.code, field.stored(tmp_path / "out")) == (1, 1), done.said
    done = compactlab(*command)
    assert done.code == 1, done.said
    every = EACH * SHARDS
    assert statuses(tmp_path / "out") == {
        ("keep_all()", "ok"): every,
        ("broken()", "failed"): every,
    }


@pytest.mark.slow
def test_exactly_the_runs_that_kill_their_worker_fail(field, own, tmp_path):
    strategies = ("--strategies", own("Deadly"), "--strategies", "keep_all")
    done = field.run(tmp_path / "out", "--jobs", 2, *strategies)
    assert (done.code, "Traceback" in done.err) == (1, False), done.said
    assert "2 runs" in done.out
    assert statuses(tmp_path / "out") == {
        ("keep_all()", "ok"): EACH * SHARDS,
        ("deadly()", "ok"): EACH * SHARDS - 2,
        ("deadly()", "failed"): 2,
    }


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_may_be_killed_at_any_moment(field, whole, tmp_path, moment):
    out = tmp_path / "out"
    with field.slow(), field.running(out, "--jobs", 2) as process:
        until(lambda: children(process.pid))
        field.moment(out, f"worker {moment}")
        for worker in children(process.pid)[:1]:
            os.kill(worker, signal.SIGKILL)
        done = ended(process)
    assert (done.code, "Traceback" in done.err) == (0, False), done.said
    assert content(out) == whole


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_may_be_killed_at_any_moment(field, whole, tmp_path, moment):
    out = tmp_path / "out"
    with field.slow(), field.running(out, "--jobs", 2) as process:
        until(lambda: children(process.pid))
        field.moment(out, f"run {moment}")
        workers = children(process.pid)
        process.kill()
        ended(process)
    gone(workers)
    done = field.run(out, "--jobs", 2)
    assert done.code == 0, done.said
    assert content(out) == whole
