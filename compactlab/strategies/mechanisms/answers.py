"""Recorded answers of models that decide instead of summarising: a file with one JSON line each."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.files import read_file

T = TypeVar("T")


def read_answers(file: str, answer: type[T]) -> list[T]:
    """Read a file of recorded answers.

    Raises
    ------
    UsageError
        If it cannot be read.
    InputError
        If a line is not an answer.
    """
    answers = []
    for number, line in enumerate(_content(file).splitlines(), 1):
        try:
            if line.strip():
                answers.append(msgspec.json.decode(line, type=answer))
        except msgspec.MsgspecError as error:
            raise InputError(f"{file}: line {number}: {error}") from None
    return answers


def digest_of_answers(file: str) -> str:
    """Return a digest (16 hex digits) of such a file; "" for no file."""
    return hashlib.blake2b(_content(file), digest_size=8).hexdigest() if file else ""


def _content(file: str) -> bytes:
    """Read a file named by an untrusted experiment: no link, no pipe, nothing huge."""
    try:
        return read_file(Path(file))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
