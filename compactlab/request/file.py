"""Experiment files: the settings of ``compactlab run`` in TOML."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr, create_model

from compactlab.request.fields import (
    EMPTY,
    AnyStrategy,
    AnySummarizer,
    Choice,
    FilesTable,
    PipelineTable,
    Point,
    ScenarioTable,
    StrategyTable,
    SummarizerTable,
    Table,
    Text,
    adapter,
    fixed,
    list_in_file,
    names,
    pipe,
    read_apart,
    read_grid,
    scenarios,
    wording,
)
from compactlab.request.names import (
    churn_of,
    distance_of,
    loop_of,
    metrics_of,
    models_of,
    relative_class,
    relative_command,
    relative_conversation,
    relative_path,
    relative_profile,
    relative_strategy,
    tables_of,
)
from compactlab.request.settings import SETTINGS, SUBJECT, SettingInfo
from compactlab.request.toml_file import PLACE, Faults, Place, Project, each_of, parsed, quoted
from compactlab.scenarios.catalogue import (
    SCENARIOS,
    SUITE,
    USUAL,
    Seeded,
    is_pattern,
    is_there,
    meant,
)
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.experiment.foreign import kind_of
from compactlab.sim.metrics import FAMILIES, METRICS
from compactlab.sim.models.pricing import known_models
from compactlab.sim.store.tables import TABLES
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies import catalogue as strategies
from compactlab.strategies.catalogue import ALL
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, known_summarizer

# Expands an experiment file: texts and tables become specs.

_T = TypeVar("_T", bound=Table)

# The maximum of strategies, conversations or summarisers after expansion, and of entries in a list:
# more is a mistake.
LIMIT = 100_000
# The maximum of keys in a table: no class has as many fields.
_KEYS = 1_000
# After this many faults reading stops: suggestions of similar names take time.
_FAULTS = 1_000


@dataclass(frozen=True)
class Expansion:
    """Expands the names in a file, and collects its faults."""

    folder: Path
    faults: Faults
    allow_code: bool = False  # whether the file may name programs and classes in files

    def strategies(self, given: Any) -> list[str]:
        """The specs of the strategies, without duplicates."""
        choices = [
            self._strategy(each, place)
            for place, named in self._items("strategies", given)
            for each in (ALL_STRATEGIES if named == ALL else (named,))
        ]
        known: dict[tuple[Any, ...], str] = {}
        for text, made in self._points("strategies", choices):
            known.setdefault((made.spec, tuple(map(kind_of, made.parts))), text)
        return list(known.values())

    def _strategy(self, given: Any, place: Place) -> Choice | None:
        if isinstance(given, str):
            text = relative_strategy(self.folder, given)
            with self.faults.at(place):
                self._allow(text)
                return fixed(text, strategies.known_strategy(text))
            return None
        match self._table(given, place, StrategyTable, PipelineTable):
            case StrategyTable() as table:
                return self._grid(table, place)
            case PipelineTable() as table:
                return self._pipe(table, (*place, "pipeline"))
        return None

    def _grid(self, table: StrategyTable, place: Place) -> Choice | None:
        name, fields = relative_class(self.folder, table.name), table.model_extra or {}
        if set(name) & set("(+"):
            self.faults.add((*place, "name"), "write one name, with its fields as keys beside it")
            return None
        if name == strategies.EXEC and "command" in fields:
            fields = {**fields, "command": self._command(fields["command"])}
        foreign = strategies.is_foreign_name(name) and strategies.known_strategy
        return self._class(name, fields, place, strategies.find_class, foreign)

    def _class(
        self,
        name: str,
        fields: dict[str, Any],
        place: Place,
        find: Callable[[str], type],
        foreign: Callable[[str], Any] | Literal[False],
    ) -> Choice | None:
        """The specs of a table that names a class; ``foreign`` builds plug-in classes."""
        with self.faults.at((*place, "name")):
            self._allow(name)
            if foreign:
                here = partial(find, name)
                return read_apart(name, fields, place, self.faults, find=here, make=foreign)
            return read_grid(name, find(name), fields, place, self.faults)
        return None

    def _allow(self, text: str) -> None:
        """Refuse to start code that the receiver of this file may not have seen."""
        if not self.allow_code and (code := strategies.code_in(text)):
            raise UsageError(
                f"{code} is code, which a file may start only with --allow-code: read it first"
            )

    def _command(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self._command(each) for each in given]
        return relative_command(self.folder, given) if isinstance(given, str) else given

    def _pipe(self, table: PipelineTable, place: Place) -> Choice | None:
        parts: list[Choice | None] = []
        for at, each in each_of(table.pipeline, place).items():
            if isinstance(each, dict) and "pipeline" in each:
                self.faults.add(at, "a pipeline has no pipeline in it")
                parts.append(None)
            else:
                parts.append(self._strategy(each, at))
        whole = tuple(filter(None, parts))
        return pipe(place, whole) if len(whole) == len(parts) else None

    def conversations(self, given: Any) -> list[str | Seeded]:
        """Paths, patterns and specs of scenarios, with their own seeds if they have any."""
        choices: list[tuple[Choice, Sequence[int] | None]] = []
        for place, each in self._items("conversations", given):
            if isinstance(each, str):
                with self.faults.at(place):
                    text = relative_conversation(self.folder, each)
                    self._check(text, place)
                    choices.append((fixed(text, None), None))
                continue
            match self._table(each, place, FilesTable, ScenarioTable):
                case FilesTable() as table:
                    read = self._files(table.files, (*place, "files"))
                case ScenarioTable() as table:
                    read = self._scenarios(table, place)
                case _:
                    continue
            choices += [(choice, _seeds(table.seeds)) for choice in read]
        if not self._within_limit("conversations", sum(choice.size for choice, _ in choices)):
            return []
        return [
            text if seeds is None else Seeded(text, seeds)
            for choice, seeds in choices
            for text, _ in choice.points(self.faults)
        ]

    def _files(self, files: Any, place: Place) -> list[Choice]:
        named = each_of(files, place)
        if not named:
            self.faults.add(place, EMPTY)
        for at, each in named.items():
            with self.faults.at(at):
                adapter(str).validate_python(each)
                name = relative_path(self.folder, each)
                self._check(name, at, files=True)
                named[at] = name
        return [fixed(name, None) for name in named.values()]

    def _scenarios(self, table: ScenarioTable, place: Place) -> list[Choice]:
        name, fields = table.scenario, dict(table.model_extra or {})
        if name not in scenarios():
            self.faults.add((*place, "scenario"), unknown("scenario", name, (*SCENARIOS, SUITE)))
            return []
        if "profile" in fields:
            fields["profile"] = self._profile(fields["profile"])
        of = USUAL if name == SUITE else [name]
        grids = [read_grid(each, SCENARIOS.find(each), fields, place, self.faults) for each in of]
        return [grid for grid in grids if grid]

    def _profile(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self._profile(each) for each in given]
        is_file = isinstance(given, str) and given.endswith(".toml")
        return relative_path(self.folder, given) if is_file else given

    def _check(self, name: str, place: Place, files: bool = False) -> None:
        """Report invalid names of files; unless ``files``, scenarios are valid, too."""
        with self.faults.at(place):
            paths = [Path(name)] if files and not is_pattern(name) else meant(name)[0]
            for path in paths:
                if not is_there(path):
                    self.faults.add(place, f"{path}: there is no such file or folder")

    def summarizers(self, given: Any) -> list[str]:
        """The specs of the summarisers, without duplicates; a single one needs no list."""
        items: Iterable[tuple[Place, Any]] = [(("summarizer",), given)]
        if isinstance(given, list):
            items = self._items("summarizer", given)
        choices = [self._summarizer(each, place) for place, each in items]
        known: dict[str, str] = {}
        for text, made in self._points("summarizers", choices):
            known.setdefault(made.spec, text)
        return list(known.values())

    def _summarizer(self, given: Any, place: Place) -> Choice | None:
        if isinstance(given, str):
            text = relative_strategy(self.folder, relative_profile(self.folder, given))
            with self.faults.at(place):
                self._allow(text)
                return fixed(text, known_summarizer(text))
        elif table := self._table(given, place, SummarizerTable):
            name, fields = relative_class(self.folder, table.name), dict(table.model_extra or {})
            if "profile" in fields:
                fields["profile"] = self._profile(fields["profile"])
            foreign = SUMMARIZERS.is_foreign(name) and known_summarizer
            return self._class(name, fields, place, SUMMARIZERS.find_class, foreign)
        return None

    def _items(self, key: str, given: Any) -> Iterator[tuple[Place, Any]]:
        if not isinstance(given, list) or not given:
            self.faults.add((key,), f"must be a list of texts and tables, not {quoted(given)}")
            return
        for place, each in each_of(given, (key,)).items():
            if len(self.faults) > _FAULTS:
                return
            yield place, each

    def _table(self, given: Any, place: Place, *kinds: type[_T]) -> _T | None:
        """The table of the kind whose first key it has."""
        by_key = {next(iter(kind.model_fields)): kind for kind in kinds}
        if not isinstance(given, dict):
            self.faults.add(place, f"must be text or a table, not {quoted(given)}")
            return None
        kind = next((kind for key, kind in by_key.items() if key in given), None)
        if kind is None:
            self.faults.add(place, f"a table here has the key {' or '.join(by_key)}")
            return None
        with self.faults.at(place, kind.model_fields):
            return kind.model_validate(given)
        return None

    def _points(self, key: str, choices: Sequence[Choice | None]) -> Iterator[Point]:
        valid = [choice for choice in choices if choice]
        if self._within_limit(key, sum(choice.size for choice in valid)):
            for choice in valid:
                yield from choice.points(self.faults)

    def _within_limit(self, key: str, size: int) -> bool:
        if size > LIMIT:
            message = f"the file names {size:,} {key}; more than {LIMIT:,} are not run: name fewer"
            self.faults.add((key,), message)
        return size <= LIMIT


def _seeds(given: int | list[int] | None) -> Sequence[int] | None:
    if given is None:
        return None
    return range(given) if isinstance(given, int) else tuple(dict.fromkeys(given))


# TOML integers have 64 bits.
_LARGEST = 2**63


def _in_list(given: Any) -> Any:
    """A list from a single text or number."""
    return [given] if isinstance(given, str | int) else given


# A window is narrowed, so 0 is none.
_Window = Annotated[int, Field(ge=1)]


# Types of settings in a file, if the kind of the setting does not determine them.
_IN_FILE: dict[str, Any] = {
    "conversations": Annotated[
        list[str | Seeded], Field(min_length=1), list_in_file(Text | FilesTable | ScenarioTable)
    ],
    "strategies": Annotated[
        list[str], Field(min_length=1), list_in_file(AnyStrategy | PipelineTable)
    ],
    "summarizer": Annotated[
        list[str],
        Field(min_length=1),
        BeforeValidator(_in_list),
        list_in_file(AnySummarizer, alone=True),
    ],
    "window": Annotated[
        list[_Window],
        Field(min_length=1),
        BeforeValidator(_in_list),
        wording("a whole number from 1 on, or a list of them"),
        list_in_file(_Window, alone=True),
    ],
    "metrics": list[
        Annotated[
            str, Field(json_schema_extra=names(lambda: (*(f.name for f in FAMILIES), *METRICS)))
        ]
    ],
    "tables": list[Annotated[str, Field(json_schema_extra=names(lambda: TABLES))]],
    "dask": Annotated[
        str, Field(pattern=r"^[a-z]+://\S+$"), wording("an address like tcp://127.0.0.1:8786")
    ],
}
_BY_KIND: dict[str, Any] = {
    "text": str,
    "path": str,
    "folder": str,
    "texts": list[str],
    "integer": int,
    "integers": list[int],
    "number": float,
    "flag": bool,
}


def _field(name: str, setting: SettingInfo) -> tuple[Any, Any]:
    """The type of a setting in a file, and its pydantic field with default, range and help."""
    hint = _IN_FILE.get(name, _BY_KIND[setting.kind])
    if setting.default is None:
        hint = hint | None
    absent = f" Without it: {setting.absent}." if setting.absent else ""
    made = "default_factory" if callable(setting.default) else "default"
    given = {
        made: setting.default,
        "description": setting.help + absent,
        "ge": None if setting.kind == "integers" else setting.least,
        "gt": setting.above,
        "le": setting.most,
    }
    # A limit of None is no limit; a default of None is a default.
    field: Any = Field
    return hint, field(**{k: v for k, v in given.items() if v is not None or k == made})


# Keys of an experiment for compactlab gate, which a run ignores.
_RULES = ("rules", "rule")


class _Loaded(BaseModel, extra="forbid", strict=True, frozen=True):
    _of_project: list[str] = PrivateAttr(default_factory=list)

    @property
    def of_project(self) -> list[str]:
        """The project's settings that neither file nor options override."""
        return self._of_project

    @classmethod
    def load(
        cls,
        path: Path | None,
        options: dict[str, Any],
        *,
        allow_code: bool = False,
        project: Project | None = None,
    ) -> Any:
        """Read a file; options override it, and it overrides what the project sets.

        The file may name programs and classes in files only with ``allow_code``. Its paths are
        relative to its folder. Seeds among the options apply to all conversations. Raises an
        InputError that lists all faults of the file.
        """
        faults = Faults()
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
        data: dict[str, Any] = {}
        if path is not None:
            given = {*options, *_RULES}
            in_file = {k: v for k, v in parsed(path, "experiment").items() if k not in given}
            data = _written_out(Expansion(path.parent, faults, allow_code), in_file)
            _check_names(data, options, faults)
        own: dict[str, Any] = {}
        if project is not None and not faults:
            own = cls._from_project(project, {*options, *data})
        if "seeds" in options and "conversations" in data:
            data["conversations"] = [
                each.name if isinstance(each, Seeded) else each for each in data["conversations"]
            ]
        settings = None
        with faults.at((), cls.model_fields):
            settings = cls.model_validate(own | data | options)
        if settings is None or faults:
            raise faults.error(str(path or ""))
        settings._of_project.extend(own)
        return settings

    @classmethod
    def _from_project(cls, project: Project, given: Container[str]) -> dict[str, Any]:
        """The project's settings that nothing overrides."""
        faults = Faults()
        own = {key: value for key, value in project.settings.items() if key not in given}
        data = _written_out(Expansion(project.path.parent, faults, allow_code=False), own)
        _check_names(data, {}, faults)
        with faults.at((), cls.model_fields):
            cls.model_validate(data)
        if faults:
            raise faults.error(str(project.path), PLACE)
        return data


_FIELDS = {
    name: _field(name, setting) for name, setting in (SUBJECT | SETTINGS).items() if setting.in_file
}
_create: Any = create_model
ExperimentSettings = _create(
    "ExperimentSettings",
    __base__=_Loaded,
    __doc__="The settings of ``compactlab run`` with their defaults; grids are written out.",
    **_FIELDS,
)


def _written_out(expansion: Expansion, data: dict[str, Any]) -> dict[str, Any]:
    """The data of a file with resolved paths and expanded grids, without invalid values."""
    folder, faults = expansion.folder, expansion.faults
    odd = {key for key, value in data.items() for _ in _oddities(value, (key,), faults)}
    data = {key: value for key, value in data.items() if key not in odd}
    for key in ("out", "models_file", "churn", "answers"):
        if isinstance(data.get(key), str):
            data[key] = str(folder / data[key])
    expand: dict[str, Callable[[Any], Any]] = {
        "conversations": expansion.conversations,
        "strategies": expansion.strategies,
        "summarizer": expansion.summarizers,
    }
    for key in [key for key in data if key in SETTINGS and not SETTINGS[key].in_file]:
        faults.add((key,), "no file may set this, only an option or an argument")
        del data[key]
    for key in (key for key in expand if key in data):
        before = len(faults)
        data[key] = expand[key](data[key])
        if len(faults) > before:
            del data[key]
    return data


def _oddities(value: Any, place: Place, faults: Faults) -> Iterator[Place]:
    """Values that TOML permits and no setting takes: dates, infinite numbers, huge lists."""
    if isinstance(value, dict | list):
        limit, entries = (_KEYS, "keys") if isinstance(value, dict) else (LIMIT, "entries")
        if len(value) > limit:
            message = f"has {len(value):,} {entries}; more than {limit:,} are not read: name fewer"
            faults.add(place, message)
            yield place
            return
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
    """Report unknown names in a file; pydantic reports wrong types."""

    def check(key: str, find: Callable[[str], object]) -> None:
        for place, each in each_of(data.get(key), (key,)).items():
            if isinstance(each, str) and len(faults) <= _FAULTS:
                with faults.at(place):
                    find(each)

    check("loop", loop_of)
    if isinstance(distance := data.get("distance"), int):
        with faults.at(("distance",)):
            distance_of(distance)
    check("churn", churn_of)
    check("metrics", lambda name: metrics_of([name]))
    check("tables", lambda name: tables_of([name], []))
    file = options.get("models_file", data.get("models_file"))
    with faults.at(("models_file",)):
        catalogue = known_models(file if isinstance(file, str) else None)
        check("models", lambda name: models_of([name], catalogue))
