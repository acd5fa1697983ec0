"""TOML files of the user: experiments, and rules of gates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from compactlab.sim.errors import InputError


def parsed(path: Path, what: str) -> dict[str, Any]:
    """Read a file of TOML.

    Parameters
    ----------
    path
        The file.
    what
        What it should be: ``experiment``, say.

    Raises
    ------
    InputError
        If it cannot be read, or is no TOML; with the line.
    """
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        line = int(where[1]) if where else len(text.splitlines())
        raise InputError(f"no {what}: {error}", str(path), line) from None
    except FileNotFoundError:
        raise InputError(f"no {what}: there is no such file", str(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"no {what}: {error}", str(path)) from None
