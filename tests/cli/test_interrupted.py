"""Whoever is killed, and whenever: the store is what it would have been."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.field import EACH, MOMENTS, SHARDS, Field, children, content, ended, gone, until

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
        (os.kill, signal.SIGTERM): -signal.SIGTERM,
        # In a terminal, Ctrl-C is told to the workers as well.
        (os.killpg, signal.SIGINT): 130,
    }
    with field.shut():
        for (send, how), code in stopped.items():
            with field.running(out, "--jobs", 2) as process:
                workers = field.waiting(out)
                send(process.pid, how)
                done = ended(process)
            assert (done.code, "Traceback" in done.err) == (code, False), done.said
            assert ("stopped; what is done is in" in done.err) == (code == 130)
            gone(workers)
    done = field.run(out, "--jobs", 2)
    assert done.code == 0, done.said
    assert f"{12 * EACH} of {20 * EACH} cells are there already" in done.err
    assert content(out) == whole


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_may_be_killed_at_any_moment(field, whole, tmp_path, moment):
    out = tmp_path / "out"
    with field.running(out, "--jobs", 2) as process:
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
    with field.running(out, "--jobs", 2) as process:
        until(lambda: children(process.pid))
        field.moment(out, f"run {moment}")
        workers = children(process.pid)
        process.kill()
        ended(process)
    gone(workers)
    done = field.run(out, "--jobs", 2)
    assert done.code == 0, done.said
    assert content(out) == whole
