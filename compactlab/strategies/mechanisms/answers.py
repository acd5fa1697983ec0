"""Recorded answers of models that decide and do not summarise: a file, a line of JSON each."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from compactlab.sim.core.errors import InputError, UsageError

T = TypeVar("T")


def read_answers(file: str, answer: type[T]) -> list[T]:
    """Read a file of recorded answers.

    Raises
    ------
    UsageError
        If it cannot be read.
    InputError
        If a line is no such answer.
    """
    try:
        lines = Path(file).read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    try:
        return [msgspec.json.decode(line, type=answer) for line in lines if line.strip()]
    except msgspec.MsgspecError as error:
        raise InputError(f"{file}: {error}") from None
