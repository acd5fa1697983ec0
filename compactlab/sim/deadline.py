"""A limit on how long something may take, which holds against endless loops too."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class OutOfTime(BaseException):
    """Something took too long; no ordinary exception, so that nobody takes it for one of theirs."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise :class:`OutOfTime` in here once so many seconds have gone.

    In a main thread where there are signals, sleeping and waiting are broken off as well;
    elsewhere, as on a worker of a cluster, only Python's own code is.

    Parameters
    ----------
    seconds
        How long it may take; None for as long as it wants.
    """
    if seconds is None:
        yield
    elif hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        with _signalled(seconds):
            yield
    else:
        with _watched(seconds):
            yield


@contextmanager
def _signalled(seconds: float) -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    thread = ctypes.c_ulong(threading.get_ident())
    over, lock = False, threading.Lock()

    def late() -> None:
        with lock:
            if not over:
                raised = ctypes.py_object(OutOfTime)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        # Whoever has the lock decides: after this, nothing is raised any more.
        with lock:
            over = True
        timer.cancel()
