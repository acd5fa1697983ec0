"""All exceptions that compactlab raises on purpose.

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
    """An input cannot be read, or is invalid.

    Parameters
    ----------
    message
        What is wrong, in words.
    path
        The file, if there is one.
    line
        Its line, counted from 1; 0 if the fault has no line.

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
        """Keep path and line when pickled."""
        return type(self), (self.message, self.path, self.line)


class RefusedError(InputError):
    """A transcript is refused entirely: its prompts would be wrong, or it has none.

    Unknown content is only skipped and counted; ``--strict`` refuses it.
    """


class NoCallsError(InputError):
    """A transcript without model calls: nothing can be replayed."""


class UsageError(CompactlabError):
    """A name, a spec or an option is wrong; the message suggests the nearest valid ones."""


class UnverifiedWarning(UserWarning):
    """The input has no digest, so damage cannot be detected."""


class ModelError(CompactlabError):
    """A model is not known, or lacks data that the replay needs."""


class ContractError(CompactlabError):
    """A strategy violated the contract, e.g. by returning something other than a view."""


_NAMED = 12
# Shorter strings are part of too many names.
_PART = 3


def unknown(what: str, name: str, known: Iterable[str], listing: str = "") -> str:
    """Return the error text for an unknown name, with the nearest known ones."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    # A part of a long name has little similarity with it.
    near = near or [each for each in known if len(name) >= _PART and name in each][:3]
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif len(known) > _NAMED:
        hint = f"known: {', '.join(known[:_NAMED])} and {len(known) - _NAMED:,} more"
        hint += f"; {listing} shows all" if listing else ""
    else:
        hint = f"known: {', '.join(known)}" if known else "there are none"
    return f"unknown {what} {name!r}; {hint}"
