"""Everything that compactlab raises on purpose.

::

    CompactlabError
    ├── InputError      a file or conversation cannot be used        (exit code 2)
    │   └── RefusedError  even by default, not only under --strict
    ├── UsageError      a name, a spec or an option is wrong          (exit code 2)
    ├── ModelError      a model has no price, policy or window        (fails its row)
    └── ContractError   a strategy broke the contract of the family   (fails its row)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CompactlabError(Exception):
    """Base of all errors that compactlab raises on purpose."""


class InputError(CompactlabError):
    """What was to be read cannot be read, or is not what it should be.

    Parameters
    ----------
    message
        What is wrong, in words.
    path
        The file, if there is one.
    line
        Its line, counted from 1; 0 where no line is to blame.

    Examples
    --------
    >>> str(InputError("not JSON", path="a.jsonl", line=3))
    'a.jsonl:3: not JSON'
    """

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        self.message, self.path, self.line = message, path, line
        where = f"{path}:{line}" if line else path
        super().__init__(f"{where}: {message}" if where else message)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, int]]:
        """Travel between processes with path and line."""
        return type(self), (self.message, self.path, self.line)


class RefusedError(InputError):
    """A transcript is not read, not even in part: its prompts would be wrong, or it has no prompts.

    What is only unknown is passed over and counted, and refused under ``--strict`` alone.
    """


class NoCallsError(InputError):
    """A transcript in which no model is asked anything: nothing of it can be replayed."""


class UsageError(CompactlabError):
    """A name, a spec or an option is wrong; the text names the nearest right ones."""


class UnverifiedWarning(UserWarning):
    """Whether what is read was damaged cannot be told: nothing was written to compare it with."""


class ModelError(CompactlabError):
    """A model is not known, or something needed for the replay is not known of it."""


class ContractError(CompactlabError):
    """A strategy did what no strategy may do, e.g. returned something that is no view."""


_NAMED = 12
# What is shorter is part of too much.
_PART = 3


def unknown(what: str, name: str, known: Iterable[str], listing: str = "") -> str:
    """Say that a name is not known, and which known ones are nearest."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    # A part of a long name is not much like the whole of it.
    near = near or [each for each in known if len(name) >= _PART and name in each][:3]
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif len(known) > _NAMED:
        hint = f"known: {', '.join(known[:_NAMED])} and {len(known) - _NAMED:,} more"
        hint += f"; {listing} shows all" if listing else ""
    else:
        hint = f"known: {', '.join(known)}" if known else "there are none"
    return f"unknown {what} {name!r}; {hint}"
