"""Experiment files: the settings of ``compactlab run`` in TOML."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from compactlab.cli.grid import Choice, Fixed, Grid, Pipe, read_apart, read_grid
from compactlab.cli.toml_file import Faults, Place, parsed, quoted
from compactlab.naming import churn_of, known_models, loop_of, metrics_of, models_of, tables_of
from compactlab.scenarios.catalogue import (
    DEFAULT,
    SCENARIOS,
    SUITE,
    Seeded,
    is_pattern,
    is_there,
    meant,
)
from compactlab.sim.core.errors import unknown
from compactlab.sim.experiment.foreign import kind_of
from compactlab.strategies import catalogue as strategies
from compactlab.strategies.catalogue import LINE_UP
from compactlab.strategies.summarizers import catalogue as summarizers

# Paths in an experiment file, which are taken from where the file stands.


def beside(folder: Path, name: str) -> str:
    """A path or a pattern, taken from a folder if it leads to something there; else as it is."""
    try:
        if (folder / name).exists():
            return str(folder / name)
        if is_pattern(name):
            pattern = str(Path(glob.escape(str(folder)), name))
            if next(glob.iglob(pattern, recursive=True), None) is not None:
                return pattern
    except (OSError, ValueError):  # too long, or no text that could be a path
        pass
    return name


def conversation_beside(folder: Path, text: str) -> str:
    """A path, a pattern or a scenario's spec, whose profile may be a file."""
    found = beside(folder, text)
    if found != text:
        return found
    return re.sub(r"(?<=profile=)(['\"])([^'\"]+\.toml)\1", partial(_profile, folder), text)


def _profile(folder: Path, found: re.Match[str]) -> str:
    return repr(beside(folder, found[2]))


def strategy_beside(folder: Path, text: str) -> str:
    """The spec of a strategy or a pipeline, with the files of classes taken from a folder."""
    return re.sub(r"[^\s+]+\.py(?=:)", lambda found: beside(folder, found[0]), text)


def class_beside(folder: Path, name: str) -> str:
    """The name of a strategy's class, with its file taken from a folder."""
    file, colon, cls = name.rpartition(":")
    return f"{beside(folder, file)}:{cls}" if colon and file.endswith(".py") else name


# What an experiment file names, written out: texts and tables become specs, one by one.

# More than anybody means: more is a slip in a grid.
LIMIT = 100_000


@dataclass(frozen=True)
class Expansion:
    """Writes out what a file names.

    Parameters
    ----------
    folder
        Where the file stands.
    faults
        Collects what is wrong.
    """

    folder: Path
    faults: Faults

    def strategies(self, given: Any) -> list[str]:
        """The specs of the strategies, each once."""
        choices = [self._strategy(each, place) for place, each in self._items("strategies", given)]
        known: dict[tuple[Any, ...], str] = {}
        if self._within_limit("strategies", choices):
            for choice in filter(None, choices):
                for text, made in choice.points(self.faults):
                    kinds = tuple(map(kind_of, made.parts))
                    known.setdefault((made.spec, kinds), text)
        return list(known.values())

    def _strategy(self, given: Any, place: Place) -> Choice | None:
        if isinstance(given, str):
            text = strategy_beside(self.folder, given)
            with self.faults.at(place):
                return Fixed(text, strategies.known_strategy(text))
        elif self._is_table(given, place, ("name", "pipeline")):
            return self._pipe(given, place) if "pipeline" in given else self._grid(given, place)
        return None

    def _grid(self, table: dict[str, Any], place: Place) -> Grid | None:
        before = len(self.faults)
        name, fields = self._named(table, place, "name")
        name = class_beside(self.folder, name)
        if set(name) & set("(+"):
            self.faults.add((*place, "name"), "write one name, with its fields as keys beside it")
        elif name:
            with self.faults.at((*place, "name")):
                if strategies.is_foreign_name(name):
                    find, make = partial(strategies.find_class, name), strategies.known_strategy
                    read = read_apart(name, fields, place, self.faults, find=find, make=make)
                else:
                    read = read_grid(name, strategies.find_class(name), fields, place, self.faults)
                return read if len(self.faults) == before else None
        return None

    def _pipe(self, table: dict[str, Any], place: Place) -> Pipe | None:
        before = len(self.faults)
        self._only(table, ("pipeline",), place)
        place = (*place, "pipeline")
        listed = table["pipeline"]
        if not isinstance(listed, list) or not listed:
            self.faults.add(place, f"must be a list of parts, not {quoted(listed)}")
            return None
        parts = [self._part(each, (*place, number)) for number, each in enumerate(listed)]
        return Pipe(place, tuple(filter(None, parts))) if len(self.faults) == before else None

    def _part(self, given: Any, place: Place) -> Choice | None:
        if isinstance(given, dict) and "pipeline" in given:
            self.faults.add(place, "a pipeline has no pipeline in it")
            return None
        return self._strategy(given, place)

    def conversations(self, given: Any) -> list[str | Seeded]:
        """Paths, patterns and specs of scenarios; with those that have some, their own seeds."""
        found: list[tuple[Choice, Sequence[int] | None]] = []
        for place, each in self._items("conversations", given):
            if isinstance(each, str):
                text = conversation_beside(self.folder, each)
                self._check(text, place)
                found.append((Fixed(text, None), None))
            elif self._is_table(each, place, ("files", "scenario")):
                seeds = self._seeds(each["seeds"], (*place, "seeds")) if "seeds" in each else None
                table = {key: value for key, value in each.items() if key != "seeds"}
                read = self._files if "files" in table else self._scenarios
                found += [(choice, seeds) for choice in read(table, place)]
        if not self._within_limit("conversations", [choice for choice, _ in found]):
            return []
        return [
            text if seeds is None else Seeded(text, seeds)
            for choice, seeds in found
            for text, _ in choice.points(self.faults)
        ]

    def _files(self, table: dict[str, Any], place: Place) -> list[Choice]:
        self._only(table, ("files",), place)
        place, listed = (*place, "files"), table["files"]
        named = {place: listed}
        if isinstance(listed, list):
            named = {(*place, number): each for number, each in enumerate(listed)}
        if not named:
            self.faults.add(place, "an empty list leaves nothing to run")
        found: list[Choice] = []
        for at, each in named.items():
            if isinstance(each, str):
                name = beside(self.folder, each)
                self._check(name, at, files=True)
                found.append(Fixed(name, None))
            else:
                self.faults.add(at, f"must be text, not {quoted(each)}")
        return found

    def _scenarios(self, table: dict[str, Any], place: Place) -> list[Choice]:
        before = len(self.faults)
        name, fields = self._named(table, place, "scenario")
        names = list(SCENARIOS) if name == SUITE else [name]
        if "profile" in fields:
            fields["profile"] = self._profile(fields["profile"])
        if name and not set(names) <= set(SCENARIOS):
            known = (*SCENARIOS, SUITE)
            self.faults.add((*place, "scenario"), unknown("scenario", name, known))
        if len(self.faults) > before:
            return []
        grids: list[Choice] = [
            read_grid(each, SCENARIOS[each], fields, place, self.faults) for each in names
        ]
        return grids if len(self.faults) == before else []

    def _profile(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self._profile(each) for each in given]
        is_file = isinstance(given, str) and given.endswith(".toml")
        return beside(self.folder, given) if is_file else given

    def _check(self, name: str, place: Place, files: bool = False) -> None:
        """Say what is wrong with the name of files, or also of a scenario."""
        with self.faults.at(place):
            paths = [Path(name)] if files and not is_pattern(name) else meant(name)[0]
            for path in paths:
                if not is_there(path):
                    self.faults.add(place, f"{path}: there is no such file or folder")

    def _seeds(self, given: Any, place: Place) -> Sequence[int]:
        def is_seed(value: Any, least: int) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        if is_seed(given, 1):
            return range(given)
        if isinstance(given, list) and given and all(is_seed(each, 0) for each in given):
            return tuple(dict.fromkeys(given))
        self.faults.add(
            place, f"must be a number of seeds from 1 on, or a list of seeds, not {quoted(given)}"
        )
        return ()

    def summarizers(self, given: Any) -> list[str]:
        """The specs of the summarisers, each once; one may stand without a list."""
        items: list[tuple[Place, Any]] = [(("summarizer",), given)]
        if isinstance(given, list):
            items = list(self._items("summarizer", given))
        choices = [self._summarizer(each, place) for place, each in items]
        known: dict[str, str] = {}
        if self._within_limit("summarizers", choices):
            for choice in filter(None, choices):
                for text, made in choice.points(self.faults):
                    known.setdefault(made.spec, text)
        return list(known.values())

    def _summarizer(self, given: Any, place: Place) -> Choice | None:
        before = len(self.faults)
        if isinstance(given, str):
            with self.faults.at(place):
                return Fixed(given, summarizers.find_summarizer(given))
        elif self._is_table(given, place, ("name",)):
            name, fields = self._named(given, place, "name")
            with self.faults.at((*place, "name")):
                cls = summarizers.find_class(name) if name else None
                if cls is not None:
                    read = read_grid(name, cls, fields, place, self.faults)
                    return read if len(self.faults) == before else None
        return None

    def _items(self, key: str, given: Any) -> Iterator[tuple[Place, Any]]:
        if not isinstance(given, list) or not given:
            self.faults.add((key,), f"must be a list of texts and tables, not {quoted(given)}")
            return
        for number, each in enumerate(given):
            yield (key, number), each

    def _is_table(self, given: Any, place: Place, keys: tuple[str, ...]) -> bool:
        """Whether something is a table that has one of some keys."""
        if not isinstance(given, dict):
            self.faults.add(place, f"must be text or a table, not {quoted(given)}")
        elif not any(key in given for key in keys):
            self.faults.add(place, f"a table here has the key {' or '.join(keys)}")
        return isinstance(given, dict) and any(key in given for key in keys)

    def _named(self, table: dict[str, Any], place: Place, key: str) -> tuple[str, dict[str, Any]]:
        """The name in a table, and what else stands in it."""
        name = table[key]
        if not isinstance(name, str) or not name:
            self.faults.add((*place, key), f"must be a name, not {quoted(name)}")
            name = ""
        return name, {field: value for field, value in table.items() if field != key}

    def _only(self, table: dict[str, Any], keys: tuple[str, ...], place: Place) -> None:
        for key in (key for key in table if key not in keys):
            self.faults.add((*place, key), unknown("key", key, keys))

    def _within_limit(self, key: str, choices: Sequence[Choice | None]) -> bool:
        size = sum(choice.size for choice in choices if choice)
        if size > LIMIT:
            self.faults.add(
                (key,), f"the grids make {size:,} {key}; more than {LIMIT:,} are not run"
            )
        return size <= LIMIT


# Experiment files: the settings of ``compactlab run`` in TOML.

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
                    address = "must be an address like tcp://127.0.0.1:8786"
                    said = f"{address}, not {quoted(fault['input'])}"
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
        faults.add(place, f"must be text, a number, true or false, not {quoted(str(value))}")
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
