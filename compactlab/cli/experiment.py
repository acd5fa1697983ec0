"""Experiment files: the settings of ``compactlab run`` in TOML."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from compactlab.cli.expansion import Expansion
from compactlab.cli.faults import Faults, Place, shown
from compactlab.cli.toml_file import parsed
from compactlab.naming import churn_of, known_models, loop_of, metrics_of, models_of, tables_of
from compactlab.scenarios.catalogue import DEFAULT, Seeded
from compactlab.sim.errors import unknown
from compactlab.strategies.catalogue import LINE_UP

# TOML has whole numbers of 64 bits.
_LARGEST = 2**63


def _in_list(given: Any) -> Any:
    """What may also stand alone."""
    return [given] if isinstance(given, str) else given


class Settings(BaseModel):
    """What ``compactlab run`` can be told, with its defaults; grids are written out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    conversations: list[str | Seeded] = Field(
        default=[DEFAULT],
        min_length=1,
        description="What is replayed: transcripts, folders of them, patterns such as "
        "'sessions/**/*.jsonl', and scenarios; 'suite' is all scenarios. A table has 'files', or "
        "a 'scenario' with its parameters, each with a value or a list of them; and 'seeds' of "
        "its own.",
    )
    strategies: list[str] = Field(
        default=list(LINE_UP),
        min_length=1,
        description="What is compared: specs, several with ' + ' between them, also of a class "
        "of one's own, 'path/to/file.py:Class'. A table has a 'name' and fields, each with a "
        "value or a list of them, and stands for each combination; or it is a 'pipeline'.",
    )
    models: list[str] = Field(
        default=[],
        description="Names of models, also NAME@none for no cache, NAME@pessimistic for a worse "
        "one, NAME+batch, or 'recorded'. Without any: as recorded, and a current one for "
        "conversations that were made up.",
    )
    models_file: str | None = Field(
        default=None, description="A TOML file with models of one's own."
    )
    churn: str | None = Field(
        default=None,
        description="How often the client changes its prompt unasked: a file that compactlab "
        "audit has written.",
    )
    summarizer: Annotated[list[str], BeforeValidator(_in_list)] = Field(
        default=["lexrank"],
        min_length=1,
        description="Who makes the summaries: a spec, a table with a 'name' and fields, each with "
        "a value or a list of them, or a list of such; each is replayed with every strategy.",
    )
    loop: str = Field(
        default="closed",
        description="closed: beside the script as it is, what is forgotten is fetched, asked for "
        "or used wrongly, which is simulated; open: the script alone.",
    )
    metrics: list[str] = Field(
        default=[],
        description="Metrics, or families of them, to compute nothing else. Without any: all.",
    )
    window: int | None = Field(
        default=None, ge=1, description="Narrows the context window to so many tokens."
    )
    seeds: int = Field(
        default=1,
        ge=1,
        description="So many conversations of each scenario, so many replays of each recording.",
    )
    jobs: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        description="Workers; they change no result. Without it: one a core.",
    )
    out: str = Field(default="compactlab-out", description="Folder of the store and of the report.")
    lenient: bool = Field(
        default=False,
        description="Pass over lines of transcripts that cannot be read, and count them.",
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        description="Seconds after which a run has failed. Without it: as long as it takes.",
    )
    fail_fast: bool = Field(default=False, description="Stop at the first run that fails.")
    tables: list[str] = Field(
        default=[],
        description="What is stored beside the runs: calls, compactions, facts, messages, views, "
        "or prompts, which is the whole trace. Without any: all but prompts.",
    )
    redact: bool = Field(
        default=False,
        description="Hide what looks like keys, tokens and mail addresses in all that is written.",
    )
    dask: str | None = Field(
        default=None,
        pattern=r"^[a-z]+://\S+$",
        description="Address of a dask scheduler whose workers are used, e.g. "
        "'tcp://127.0.0.1:8786'.",
    )

    @classmethod
    def load(cls, path: Path | None, options: dict[str, Any]) -> Settings:
        """Read a file, and let options win over it.

        Parameters
        ----------
        path
            The TOML file; None for none. Paths in it are taken from where it stands.
        options
            Settings by name. Seeds among them are those of all conversations.

        Raises
        ------
        InputError
            If the file is no TOML, or a setting is unknown or wrong; all of them are named.
        """
        faults = Faults()
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
        data: dict[str, Any] = {}
        if path is not None:
            in_file = {k: v for k, v in parsed(path, "experiment").items() if k not in options}
            data = _written_out(path.parent, in_file, faults)
            _check_names(data, options, faults)
        if "seeds" in options and "conversations" in data:
            data["conversations"] = [
                each.name if isinstance(each, Seeded) else each for each in data["conversations"]
            ]
        settings = None
        try:
            settings = cls.model_validate(data | options)
        except ValidationError as error:
            for fault in error.errors():
                name = str(fault["loc"][0]) if fault["loc"] else ""
                said = fault["msg"][:1].lower() + fault["msg"][1:]
                if fault["type"] == "extra_forbidden":
                    said = unknown("key", name, cls.model_fields)
                elif fault["type"] == "string_pattern_mismatch":
                    said = (
                        f"must be an address like tcp://127.0.0.1:8786, not {shown(fault['input'])}"
                    )
                faults.add(fault["loc"], said)
        if settings is None or faults:
            raise faults.error(str(path or ""))
        return settings


def _written_out(folder: Path, data: dict[str, Any], faults: Faults) -> dict[str, Any]:
    """What a file says, with its paths found and its grids written out; without what is wrong."""
    odd = {key for key, value in data.items() for _ in _oddities(value, (key,), faults)}
    data = {key: value for key, value in data.items() if key not in odd}
    for key in ("out", "models_file", "churn"):
        if isinstance(data.get(key), str):
            data[key] = str(folder / data[key])
    expansion = Expansion(folder, faults)
    expand: dict[str, Callable[[Any], Any]] = {
        "conversations": expansion.conversations,
        "strategies": expansion.strategies,
        "summarizer": expansion.summarizers,
    }
    for key in (key for key in expand if key in data):
        before = len(faults)
        data[key] = expand[key](data[key])
        if len(faults) > before:
            del data[key]
    return data


def _oddities(value: Any, place: Place, faults: Faults) -> Iterator[Place]:
    """What TOML has and no setting takes: dates, numbers that are none or without bounds."""
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from _oddities(each, (*place, key), faults)
    elif isinstance(value, float) and not math.isfinite(value):
        faults.add(place, f"must be a number, not {value}")
        yield place
    elif isinstance(value, int) and abs(value) >= _LARGEST:
        faults.add(place, "is too large a number")
        yield place
    elif isinstance(value, date | time | datetime):
        faults.add(place, f"must be text, a number, true or false, not {shown(str(value))}")
        yield place


def _check_names(data: dict[str, Any], options: dict[str, Any], faults: Faults) -> None:
    """Say which names in a file are not known. What is of another type is told elsewhere."""
    checks: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("loop", loop_of),
        ("churn", churn_of),
    )
    for key, check in checks:
        if isinstance(data.get(key), str):
            with faults.at((key,)):
                check(data[key])
    for number, name in _texts(data.get("metrics")):
        with faults.at(("metrics", number)):
            metrics_of([name])
    for number, name in _texts(data.get("tables")):
        with faults.at(("tables", number)):
            tables_of([name], [])
    file = options.get("models_file", data.get("models_file"))
    with faults.at(("models_file",)):
        catalogue = known_models(file if isinstance(file, str) else None)
        for number, name in _texts(data.get("models")):
            with faults.at(("models", number)):
                models_of([name], catalogue)


def _texts(listed: Any) -> list[tuple[int, str]]:
    """The texts of a list, by their places; none, if it is no list."""
    numbered = enumerate(listed if isinstance(listed, list) else [])
    return [(number, each) for number, each in numbered if isinstance(each, str)]
