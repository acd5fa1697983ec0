"""The tools, and for each a virtual environment of its own with pinned versions.

An environment is made once, in a folder named after the tool, and again when its pins change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CHECKED = "2026-11-22"  # the pins below were the newest on that day
ADAPTERS = Path(__file__).parent


class InstallError(Exception):
    """Why a tool cannot be had here."""


class Pinned(Protocol):
    """What has an environment: its name, what is installed, and Python's minor versions for it."""

    @property
    def name(self) -> str: ...
    @property
    def pins(self) -> tuple[str, ...]: ...
    @property
    def minors(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Tool:
    """A tool that is measured.

    Parameters
    ----------
    name, pins
        Its name, and what is installed for it, exactly; its own version stands in the first pin.
    adapter
        The script beside this one that measures it.
    does, lacks
        What it does at each call, and what of compactlab's work it does not.
    minors
        The minor versions of Python 3 that it runs on, the preferred first.
    """

    name: str
    pins: tuple[str, ...]
    adapter: str
    does: str
    lacks: str
    minors: tuple[int, ...] = (11, 12, 13, 14)

    @property
    def version(self) -> str:
        return self.pins[0].partition("==")[2]


TOOLS = (
    Tool(
        "compaction-conformance-kit",
        ("compaction-conformance-kit==0.8.0",),
        "with_conformance_kit.py",
        "puts the whole transcript into one text, cuts it, looks for up to 20 canaries in it",
        "no calls, no tokens, no cache, no money, no messages left after a round",
    ),
    Tool(
        "contextwatch",
        ("contextwatch==0.1.0",),
        "with_contextwatch.py",
        "hashes, sizes and classes each message that it is shown, and keeps a ledger of it; says "
        "what entered and what left",
        "no strategies (the caller cuts the window, and what was cut it never sees), tokens "
        "estimated by length, no cache, no money, no facts",
    ),
    Tool(
        "maf-cachebench",
        ("maf-cachebench==0.4.1", "agent-framework-core==1.22.0", "maf-compaction==0.8.0"),
        "with_cachebench.py",
        "applies the strategy, writes each message as JSON, sizes it, and says how long a prefix "
        "of messages is the last prompt's",
        "tokens estimated by length, a prefix instead of a cache (no lifetimes, no minimum, no "
        "marks), money and facts only with a paid provider",
        minors=(12, 13, 14),
    ),
)


def ready(tool: Pinned, folder: Path) -> Path:
    """The Python of a tool's environment, which is made if it is not there.

    Raises
    ------
    InstallError
        If there is no Python for it, or pip fails; with the reason.
    """
    place = folder / tool.name
    inside = place / "bin" / "python"
    done = place / "pins.txt"
    pins = "\n".join(tool.pins)
    if done.is_file() and done.read_text("utf-8") == pins and runs(inside):
        return inside
    python = next((each for each in interpreters(tool) if runs(each)), None)
    if python is None:
        needed = ", ".join(f"3.{minor}" for minor in tool.minors)
        raise InstallError(f"needs Python {needed}, and none of them is here")
    shutil.rmtree(place, ignore_errors=True)
    succeed([str(python), "-m", "venv", str(place)])
    quiet = ["--quiet", "--disable-pip-version-check"]
    succeed([str(inside), "-m", "pip", "install", *quiet, *tool.pins])
    done.write_text(pins, "utf-8")
    return inside


def interpreters(tool: Pinned) -> Iterator[Path]:
    """Pythons that may do: the one that runs this, those of the path, those that pyenv has."""
    if sys.version_info.minor in tool.minors:
        yield Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in tool.minors:
        found = shutil.which(f"python3.{minor}")
        yield from [Path(found)] if found else []
        yield from sorted(pyenv.glob(f"3.{minor}.*/bin/python"))


def runs(python: Path) -> bool:
    """Whether a Python is there and starts: a stand-in for one that is not installed does not."""
    try:
        return not started([str(python), "-c", ""]).returncode
    except OSError:
        return False


def started(command: list[str], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """A process of our own making, when it has ended."""
    return subprocess.run(  # noqa: S603
        command, check=False, capture_output=True, text=True, timeout=seconds
    )


def succeed(command: list[str]) -> None:
    done = started(command)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        raise InstallError(errors[-1] if errors else f"{command[0]} failed")
