"""A limit on how long something may take, which holds against endless loops too."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds after which it is raised again, if somebody caught it and went on.
_AGAIN = 1.0


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
    over = False

    def late(number: int, frame: FrameType | None) -> None:
        if not over:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        try:
            yield
        finally:
            over = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    thread = ctypes.c_ulong(threading.get_ident())
    over = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        pause = seconds
        while not over.wait(pause):
            # Whoever has the lock decides: once it is over, nothing is raised any more.
            with lock:
                if not over.is_set():
                    raised = ctypes.py_object(OutOfTime)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)
            pause = _AGAIN

    threading.Thread(target=watch, name="deadline", daemon=True).start()
    try:
        try:
            yield
        finally:
            with lock:
                over.set()
    finally:
        over.set()
