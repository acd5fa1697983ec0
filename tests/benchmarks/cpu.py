"""Time as processors spend it: hardly another one on a machine that does something else, too."""

from __future__ import annotations

import resource
import time


def seconds() -> float:
    """Processor time of this process, its threads, and its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
