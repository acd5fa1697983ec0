"""Times a tool inside of its own process. Needs nothing but Python, for every tool imports it.

Seconds are processor time: all of the tools keep one core busy and wait for nothing, and whatever
else the machine does shall not be charged to the one that it happens to meet.
"""

from __future__ import annotations

import gc
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

TIMES = 20
ENOUGH = 10.0


def best_of(prepare: Callable[[], T], work: Callable[[T], int]) -> dict[str, Any]:
    """Time some work several times over, each time on what was prepared anew, and take the best.

    Parameters
    ----------
    prepare
        Makes what is worked on; it is not timed.
    work
        What is timed; says how many calls it has gone through.

    Returns
    -------
    dict[str, Any]
        Calls, seconds of the quickest run, how many runs there were (``TIMES``, or fewer once
        they have taken ``ENOUGH`` seconds together), and the version of Python.
    """
    calls, seconds = 0, []
    while len(seconds) < TIMES and sum(seconds) < ENOUGH:
        subject = prepare()
        gc.collect()
        start = time.process_time()
        calls = work(subject)
        seconds.append(time.process_time() - start)
    python = platform.python_version()
    return {"calls": calls, "seconds": min(seconds), "runs": len(seconds), "python": python}


def given() -> tuple[Path, dict[str, Any]]:
    """The folder named on the command line, and its messages."""
    folder = Path(sys.argv[1])
    return folder, json.loads((folder / "messages.json").read_text("utf-8"))


def tell(found: list[dict[str, Any]]) -> None:
    """Print what was measured as the last line, for whoever has started this process."""
    print(json.dumps(found))
