"""Experiment files: the settings of ``compactlab run`` in TOML."""

from __future__ import annotations

import os
import re
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compactlab.scenarios.catalogue import DEFAULT
from compactlab.sim.errors import InputError
from compactlab.strategies.catalogue import LINE_UP


class Settings(BaseModel):
    """What ``compactlab run`` can be told, with its defaults."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    conversations: list[str] = Field(default=[DEFAULT], min_length=1)
    strategies: list[str] = Field(default=list(LINE_UP), min_length=1)
    models: list[str] = []
    models_file: str | None = None
    churn: str | None = None
    summarizer: str = "lexrank"
    loop: str = "closed"
    metrics: list[str] = []
    window: int | None = Field(default=None, ge=1)
    seeds: int = Field(default=1, ge=1)
    jobs: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    out: str = "compactlab-out"
    lenient: bool = False

    @classmethod
    def load(cls, path: Path | None, options: dict[str, Any]) -> Settings:
        """Read a file, and let options win over it.

        Parameters
        ----------
        path
            The TOML file; None for none. Paths in it are taken from where it stands.
        options
            Settings by name.

        Raises
        ------
        InputError
            If the file is no TOML, or a setting is unknown or wrong; all of them are named.
        """
        data: dict[str, Any] = {}
        if path is not None:
            try:
                data = tomllib.loads(path.read_text("utf-8"))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise InputError(f"no experiment: {error}", str(path)) from None
            data = {name: _beside(path, name, value) for name, value in data.items()}
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
        try:
            return cls.model_validate(data | options)
        except ValidationError as error:
            lines = [
                f"{'.'.join(map(str, fault['loc'])) or 'file'}: {fault['msg'].lower()}"
                for fault in error.errors()
            ]
            raise InputError(
                "\n  ".join(["settings are wrong:", *lines]), str(path or "")
            ) from None


def _beside(path: Path, name: str, value: Any) -> Any:
    """Take paths in a file from where the file stands; leave what is no path alone."""
    if name in ("out", "models_file", "churn") and isinstance(value, str):
        return str(path.parent / value)
    if name == "conversations" and isinstance(value, list):
        return [_there(path.parent, each) for each in value]
    if name == "strategies" and isinstance(value, list):
        return [_with_files(path.parent, each) for each in value]
    return value


def _there(folder: Path, name: Any) -> Any:
    try:
        if (folder / name).exists():
            return str(folder / name)
    except (OSError, TypeError, ValueError):
        return name
    # A scenario's profile may be a file, too.
    return re.sub(r"(?<=profile=)(['\"])([^'\"]+\.toml)\1", partial(_beside_profile, folder), name)


def _beside_profile(folder: Path, found: re.Match[str]) -> str:
    return repr(_there(folder, found[2]))


def _with_files(folder: Path, strategy: Any) -> Any:
    """A strategy's text, with the files of classes taken from a folder."""
    if not isinstance(strategy, str):
        return strategy
    return re.sub(r"[^\s+]+\.py(?=:)", lambda found: _there(folder, found[0]), strategy)
