"""Experiment files: the settings of ``compactlab run`` in TOML."""

from __future__ import annotations

import os
import tomllib
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
    summarizer: str = "lexrank"
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
            data = {**data, "conversations": _beside(path, data.get("conversations", [DEFAULT]))}
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


def _beside(path: Path, names: Any) -> Any:
    """Take paths in a file from where the file stands; leave what is no path alone."""
    if not isinstance(names, list):
        return names
    found = [path.parent / name if isinstance(name, str) else None for name in names]
    return [
        str(beside) if beside is not None and beside.exists() else name
        for name, beside in zip(names, found, strict=True)
    ]
