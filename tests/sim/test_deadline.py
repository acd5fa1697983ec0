"""A limit on time holds against whatever does not come to an end."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from compactlab.sim.experiment import shard as module
from compactlab.sim.experiment.shard import OutOfTime, deadline


def loop() -> None:
    while True:
        pass


def stubborn() -> None:
    """Take whatever is raised for something that can be tried again, once."""
    with suppress(BaseException):
        loop()
    loop()


def sleep() -> None:
    time.sleep(1000)


def broken_off(endless: Callable[[], None]) -> bool:
    try:
        with deadline(0.01):
            endless()
    except OutOfTime:
        return True
    return False


@pytest.fixture(autouse=True)
def soon(monkeypatch) -> None:
    monkeypatch.setattr(module, "_AGAIN", 0.01)


@pytest.mark.parametrize("endless", [loop, stubborn, sleep])
def test_in_the_main_thread(endless):
    before = signal.getsignal(signal.SIGALRM)
    assert broken_off(endless)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize("endless", [loop, stubborn])
def test_in_another_thread_as_on_a_worker_of_a_cluster(endless):
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(broken_off(endless)))
    thread.start()
    thread.join()
    assert told == [True]


@pytest.mark.parametrize("seconds", [None, 1000])
def test_who_is_in_time_is_let_be(seconds):
    with deadline(seconds):
        done = True
    assert done
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_error_passes_through():
    with pytest.raises(KeyError), deadline(1000):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
