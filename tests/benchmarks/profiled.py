"""Where the time of a run goes: ``make profile``.

The built-in session under all strategies, with its page, in one process. Looked at every four
milliseconds of processor time, and not traced: what calls many small functions would look slower
than it is.
"""

import argparse
import signal
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

from compactlab.api import run
from compactlab.reports.page.page import write
from compactlab.scenarios.catalogue import DEFAULT
from compactlab.strategies import ALL_STRATEGIES

EVERY = 0.004


def main() -> None:
    """Run, and print what was seen most."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("conversations", nargs="*", default=[DEFAULT])
    parser.add_argument("--strategies", nargs="*", default=ALL_STRATEGIES)
    parser.add_argument("--show", type=int, default=40, help="lines to print of each table")
    asked = parser.parse_args()
    own: Counter[str] = Counter()
    all_in_all: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        running: list[str] = []
        while frame is not None:
            code = frame.f_code
            running.append(f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}")
            frame = frame.f_back
        own.update(running[:1])
        all_in_all.update(set(running))

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    results = run(asked.conversations, asked.strategies, loop="closed")
    with tempfile.TemporaryDirectory() as folder:
        write(results, Path(folder, "report.html"))
    signal.setitimer(signal.ITIMER_PROF, 0)
    seen = own.total()
    print(f"{seen * EVERY:.1f} s of processor time, {seen} looks")
    for title, counts in (("in itself", own), ("with what it calls", all_in_all)):
        print(f"\nshare of the looks, {title}")
        for name, times in counts.most_common(asked.show):
            print(f"{times / seen:6.1%}  {name}")


if __name__ == "__main__":
    main()
