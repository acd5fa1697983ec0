"""What an experiment file names, written out: texts and tables become specs, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compactlab.cli.beside import beside, class_beside, conversation_beside, strategy_beside
from compactlab.cli.faults import Faults, Place, shown
from compactlab.cli.grid import Choice, Fixed, Grid, Pipe, read_apart, read_grid
from compactlab.scenarios.catalogue import (
    SCENARIOS,
    SUITE,
    Seeded,
    is_pattern,
    is_there,
    meant,
)
from compactlab.sim.errors import unknown
from compactlab.sim.foreign import kind_of
from compactlab.strategies import catalogue as strategies
from compactlab.summarizers import catalogue as summarizers

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
            self.faults.add(place, f"must be a list of parts, not {shown(listed)}")
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
                self.faults.add(at, f"must be text, not {shown(each)}")
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
            place, f"must be a number of seeds from 1 on, or a list of seeds, not {shown(given)}"
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
            self.faults.add((key,), f"must be a list of texts and tables, not {shown(given)}")
            return
        for number, each in enumerate(given):
            yield (key, number), each

    def _is_table(self, given: Any, place: Place, keys: tuple[str, ...]) -> bool:
        """Whether something is a table that has one of some keys."""
        if not isinstance(given, dict):
            self.faults.add(place, f"must be text or a table, not {shown(given)}")
        elif not any(key in given for key in keys):
            self.faults.add(place, f"a table here has the key {' or '.join(keys)}")
        return isinstance(given, dict) and any(key in given for key in keys)

    def _named(self, table: dict[str, Any], place: Place, key: str) -> tuple[str, dict[str, Any]]:
        """The name in a table, and what else stands in it."""
        name = table[key]
        if not isinstance(name, str) or not name:
            self.faults.add((*place, key), f"must be a name, not {shown(name)}")
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
