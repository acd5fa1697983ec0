"""A limit on time: it breaks off what does not end, and nothing else.

The limits are short, but no test asks how long anything takes: what is to be broken off would run
for ever, and what is to end has as much time as it wants.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from compactlab.sim.deadline import OutOfTime, deadline

SHORT, LONG = 0.02, 3600.0


def for_ever() -> None:
    while True:
        pass


def deaf() -> None:
    """A loop of somebody who catches whatever goes wrong."""
    while True:
        try:
            sum(range(100))
        except Exception:
            continue


def elsewhere(do: Callable[[], object]) -> object:
    """What comes of it in another thread, where there are no signals: a result or an error."""
    came: list[object] = []

    def tell() -> None:
        try:
            came.append(do())
        except BaseException as error:
            came.append(error)

    thread = threading.Thread(target=tell)
    thread.start()
    thread.join()
    return came[0]


def here(do: Callable[[], object]) -> object:
    """The same in this one."""
    try:
        return do()
    except BaseException as error:
        return error


@pytest.mark.parametrize("where", [here, elsewhere])
@pytest.mark.parametrize("endless", [for_ever, deaf])
def test_an_endless_loop_is_broken_off(
    where: Callable[[Callable[[], object]], object], endless: Callable[[], None]
) -> None:
    def do() -> None:
        with deadline(SHORT):
            endless()

    assert isinstance(where(do), OutOfTime)


def test_waiting_is_broken_off_in_the_main_thread() -> None:
    with pytest.raises(OutOfTime), deadline(SHORT):
        threading.Event().wait()


@pytest.mark.parametrize("where", [here, elsewhere])
@pytest.mark.parametrize("seconds", [None, LONG])
def test_what_ends_in_time_is_left_alone(
    where: Callable[[Callable[[], object]], object], seconds: float | None
) -> None:
    def do() -> int:
        with deadline(seconds):
            return sum(range(1000))

    assert where(do) == 499_500


@pytest.mark.parametrize("where", [here, elsewhere])
@pytest.mark.parametrize("seconds", [None, LONG])
def test_what_goes_wrong_goes_on_going_wrong(
    where: Callable[[Callable[[], object]], object], seconds: float | None
) -> None:
    def do() -> None:
        with deadline(seconds):
            raise ZeroDivisionError

    assert isinstance(where(do), ZeroDivisionError)


@pytest.mark.parametrize("where", [here, elsewhere])
def test_nothing_is_raised_after_its_end(
    where: Callable[[Callable[[], object]], object],
) -> None:
    """Limits that run out just when the work does: in time or out of it, but never behind it."""

    def do() -> int:
        outside = 0
        for number in range(200):
            inside = False
            try:
                try:
                    with deadline(0.0001 * (1 + number % 5)):
                        sum(range(200 * (number % 40)))
                except OutOfTime:
                    inside = True
                sum(range(1000))
            except OutOfTime:
                outside += 1
            assert inside in (True, False)
        return outside

    assert where(do) == 0


def test_no_timer_and_no_thread_is_left() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    threads = threading.active_count()
    for seconds in (SHORT, LONG):
        here(lambda seconds=seconds: _limited(seconds))  # type: ignore[misc]
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    elsewhere(lambda: _limited(LONG))
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    assert threading.active_count() == threads


def _limited(seconds: float) -> None:
    with deadline(seconds):
        if seconds == SHORT:
            for_ever()


def test_no_ordinary_handler_takes_it_for_its_own() -> None:
    assert not issubclass(OutOfTime, Exception)
