"""Tuning: settings are tried over the same conversations, and looked for where they pay."""

from __future__ import annotations

import ast
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args, get_origin, get_type_hints

from compactlab.naming import metrics_of, planned_strategy
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.tune.choice import ratio
from compactlab.reports.tune.found import Found, Work
from compactlab.reports.tune.search import around, coarse, next_value, span
from compactlab.reports.tune.settings import CLIENTS, Model
from compactlab.reports.tune.survey import Picked, Surveyed, picked, surveyed
from compactlab.reports.tune.tuned import TRIGGER, Asked, Point, Subject, Tuned, told
from compactlab.scenarios.readers.transcript import NoCallsError
from compactlab.sim.core.errors import CompactlabError, UsageError, unknown
from compactlab.sim.experiment.foreign import Foreign
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.shard import Shard
from compactlab.sim.experiment.store import Store
from compactlab.sim.experiment.sweep import Done, Experiment
from compactlab.sim.experiment.workers import ALONE, Workers
from compactlab.sim.metrics.lag import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import controls

METRICS = (
    "cost_usd",
    "cost_with_recovery_usd",
    "cost_with_recovery_worst_usd",
    "compactions",
    "amnesia_need",
    "unmet_needs",
    *(f"recall_{lag // 1000}k" for lag in LONG),
)
TABLES = ("calls", "lags")
_KEEP_ALL = "keep_all"
# The highest trigger that is tried, as a share of the largest prompt: above it nothing happens.
_BELOW = 0.97
# So many triggers are tried at once, the largest; then smaller ones, one by one, while the smallest
# costs no more than this over the cheapest.
AT_ONCE, _RISE = 3, 1.25
_SIZE = 1000  # values from here on are sizes, between which one can look


# What is asked for.


@dataclass(frozen=True)
class Axis:
    """A field of a strategy that is looked for, and the values to try; none for a row of them."""

    field: str
    values: tuple[Any, ...] = ()

    @classmethod
    def parsed(cls, text: str) -> Axis:
        """Read ``trigger`` or ``files=0,5,10``.

        Examples
        --------
        >>> Axis.parsed("files=0,5"), Axis.parsed("trigger")
        (Axis(field='files', values=(0, 5)), Axis(field='trigger', values=()))
        """
        name, equals, rest = text.partition("=")
        return cls(name.strip(), tuple(_value(text, each) for each in rest.split(",") if equals))


def _value(text: str, written: str) -> Any:
    try:
        return ast.literal_eval(written.strip())
    except (ValueError, SyntaxError):
        raise UsageError(
            f"--over {text}: {written.strip()!r} is no value: write FIELD=VALUE,VALUE with numbers "
            "in digits alone, True, False, or text in quotes"
        ) from None


@dataclass(frozen=True)
class Search:
    """How widely and how finely to look.

    Parameters
    ----------
    over
        The fields, one after the other: each at the best values of those before it. Of one whose
        values are named, no others are tried.
    first, points
        How many values are tried at first, and how many in all, of each field and strategy.
    race
        Whether strategies are alternatives: who is shown to cost more is not looked at finely.
    sessions
        How many sessions are replayed at most under one window: the longest.
    since, project
        Only sessions with a call after that time, in seconds since 1970; only of that project.
    controls
        Whether null summarisers tell, at the end, whether summaries say anything.
    """

    over: tuple[Axis, ...] = (Axis(TRIGGER),)
    first: int = 6
    points: int = 12
    race: bool = False
    sessions: int = 40
    since: float = 0.0
    project: str = ""
    controls: bool = True

    @property
    def named(self) -> bool:
        """Whether all values that are tried are named."""
        return all(axis.values for axis in self.over)


Say = Callable[[str], object]
"""Is told what is being done, in lines."""
Watch = Callable[[Sequence[Shard]], Callable[[Done], object]]
"""Is told what is about to be run, and gives what is called with every finished shard."""


# What there is.


def survey(
    planned: Experiment, search: Search, narrowed: int | None, step: Callable[[int], object]
) -> tuple[list[Surveyed], list[str]]:
    """Read all sources once; what cannot be read is told, and costs itself alone."""
    found, failures = [], []
    model = planned.models[0] if planned.models and planned.models[0] != "recorded" else ""
    for number, source in enumerate(planned.sources, 1):
        try:
            conversations = [c for c in source.conversations() if _asked_for(c.project, search)]
            each = surveyed(source, conversations, planned.setting.catalogue, model, narrowed)
            if conversations and each.models and (not each.newest or each.newest >= search.since):
                found.append(each)
        except NoCallsError:
            pass
        except CompactlabError as fault:
            failures.append(str(fault))
        step(number)
    return found, failures


def _asked_for(project: str, search: Search) -> bool:
    """Whether a conversation is of the project that was asked for."""
    wanted, own = search.project.rstrip("/\\"), project.rstrip("/\\").replace("\\", "/")
    return not wanted or own == wanted or own.endswith(f"/{wanted}")


def picks(every: Sequence[Surveyed], search: Search) -> list[Picked]:
    """Those that are replayed, by window; the largest window comes last."""
    named = [axis.values for axis in search.over if axis.field == TRIGGER and axis.values]
    by_window: dict[int, list[Surveyed]] = {}
    for each in every:
        by_window.setdefault(each.window, []).append(each)
    found = []
    for window, those in sorted(by_window.items()):
        whole = picked(window, those, 0, len(those))
        least = span(whole.first, min(window, whole.peak or window) * _BELOW)[0]
        if named:
            least = min(_tokens(value, window) for values in named for value in values)
        some = picked(window, those, least, search.sessions)
        found.append(some)
    return [each for each in found if each.chosen and each.window]


def _unfit(every: Sequence[Surveyed]) -> str:
    """Why none of them is replayed."""
    peaks = [each.peak for each in every if each.window]
    if not peaks:
        return "no session has calls of a model whose window is known"
    return (
        "no session grows beyond the smallest trigger: "
        f"the largest prompt has {max(peaks):,} tokens"
    )


def _tokens(value: Any, window: int) -> float:
    """A trigger in tokens."""
    return float(value * window if value <= 1 else value)


# Looking for settings, round by round; what a store holds is never run again.


@dataclass
class Seeker:
    """A strategy on the way to its settings."""

    strategy: Strategy
    model: Model
    search: Search
    points: dict[str, Point] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)  # what earlier fields have been set to
    axis: int = 0
    begun: bool = False  # whether the first values of the field have been tried
    below: list[int] = field(default_factory=list)  # smaller triggers that may be tried yet
    done: bool = False
    dropped: bool = False

    def __post_init__(self) -> None:
        self._add({})

    @property
    def over(self) -> tuple[str, ...]:
        """The fields that are looked for."""
        return tuple(axis.field for axis in self.search.over)

    @property
    def subject(self) -> Subject:
        """What has been tried so far."""
        spec, label = self.strategy.spec, self.strategy.label
        points = tuple(self.points.values())
        return Subject(spec, label, self.over, self.model, points, self.dropped)

    def ask(self, tuned: Tuned | None, low: float, high: float) -> None:
        """Add what is to be tried next, if anything."""
        while not self.done:
            if not self.begun:
                self.begun = True
                values = self._first(low, high)
            else:
                values = self._next(tuned)
            before = len(self.points)
            for value in values:
                self._add({**self.fixed, self._field: value})
            if len(self.points) > before:
                return
            self._settle(tuned)

    @property
    def _field(self) -> str:
        return self.search.over[self.axis].field

    def _first(self, low: float, high: float) -> Sequence[Any]:
        axis = self.search.over[self.axis]
        if axis.values:
            return axis.values
        if axis.field == TRIGGER:
            client = CLIENTS.get(self.strategy.spec.partition("(")[0])
            highest = min(high, client.highest(self.model) if client else math.inf)
            self.below = coarse(min(low, highest), highest, self.search.first)
            return [self.below.pop() for _ in range(min(AT_ONCE, len(self.below)))]
        return _usual(self.strategy, axis.field)

    def _next(self, tuned: Tuned | None) -> Sequence[Any]:
        """The next value between those of this field that are known."""
        known = self._known(tuned) if tuned else {}
        tried = sum(self._varies(point) for point in self.points.values())
        named = self.search.over[self.axis].values
        sizes = self._field == TRIGGER or min(known, default=0) >= _SIZE
        if self.dropped or named or not sizes or len(known) < 2 or tried >= self.search.points:
            return ()
        if self.below and self._falls(known):
            return (self.below.pop(),)
        value = next_value(known, tuned.asked.margin / 2) if tuned else None
        return () if value is None else (value,)

    @staticmethod
    def _falls(known: Mapping[float, float]) -> bool:
        """Whether something may be gained by a smaller trigger than any that is known.

        Small ones are the dearest to run: where a compaction leaves more than the trigger, every
        call compacts. So one looks from above.
        """
        return known[min(known)] <= min(known.values()) * _RISE < math.inf

    def _varies(self, point: Point) -> bool:
        return {**self.fixed, self._field: None} == {**point.values, self._field: None}

    def _known(self, tuned: Tuned) -> dict[float, float]:
        """The cost by value of the field, infinite for what is not allowed."""
        allowed = tuned.choice.allowed()
        costs: dict[float, float] = {}
        for place, each in enumerate(tuned.tried):
            value = each.values.get(self._field)
            at = each.place if self._field == TRIGGER else value
            rest = {k: v for k, v in each.values.items() if k != self._field}
            if rest == self.fixed and isinstance(at, int | float) and not isinstance(at, bool):
                cost = each.recovery if allowed[place] else math.inf
                costs[at] = min(cost, costs.get(at, math.inf))
        return costs

    def _settle(self, tuned: Tuned | None) -> None:
        """Keep the best value of a field, and go on to the next one."""
        if tuned and tuned.candidate is not None:
            self.fixed = dict(tuned.tried[tuned.candidate].values)
        self.axis, self.begun = self.axis + 1, False
        self.done = self.axis == len(self.search.over)

    def _add(self, values: Mapping[str, Any]) -> None:
        strategy = replace_fields(self.strategy, values)
        number = values.get(TRIGGER)
        size = _tokens(number, self.model.window) if isinstance(number, int | float) else None
        own = self.strategy.spec
        if values and strategy.spec == own:  # the value that it has anyway
            return
        self.points.setdefault(
            strategy.spec, Point(strategy.spec, strategy.label, dict(values), size)
        )


def replace_fields(strategy: Strategy, values: Mapping[str, Any]) -> Strategy:
    """A strategy with other values of some of its fields.

    Raises
    ------
    UsageError
        If it has no such field, or the value does not fit.
    """
    if not values:
        return strategy
    if isinstance(strategy, Foreign | Pipeline):
        raise UsageError(f"{strategy.spec}: only a single built-in strategy can be tuned")
    for name in values:
        _check_field(strategy, name)
    names = [each.name for each in fields(strategy)]  # type: ignore[arg-type]
    written = {each: getattr(strategy, each) for each in names} | dict(values)
    inside = ", ".join(f"{key}={value!r}" for key, value in written.items())
    return find_strategy(f"{strategy.spec.partition('(')[0]}({inside})")


def _check_field(strategy: Strategy, name: str) -> None:
    names = [each.name for each in fields(strategy)]  # type: ignore[arg-type]
    if name not in names:
        raise UsageError(f"{strategy.label}: {unknown('field', name, names)}")


def _usual(strategy: Strategy, field: str) -> Sequence[Any]:
    """Values of a field of which none were named: all that there are, or around the default."""
    _check_field(strategy, field)
    hint = get_type_hints(type(strategy)).get(field)
    value = getattr(strategy, field, None)
    if get_origin(hint) is Literal:
        return get_args(hint)
    if isinstance(value, bool):
        return (False, True)
    if isinstance(value, int | float) and value > 0:
        return around(value)
    raise UsageError(f"--over {field}: name the values to try, e.g. {field}=10,20,40")


@dataclass
class Tuner:
    """Runs settings of strategies over the sessions of one window."""

    planned: Experiment
    strategies: Sequence[Strategy]
    pick: Picked
    search: Search
    asked: Asked
    folder: Path
    workers: Workers = ALONE
    say: Say = lambda line: None
    watch: Watch | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        self._model = model_of(self.pick, self.planned.setting.catalogue)
        self.seekers = [Seeker(each, self._model, self.search) for each in self.strategies]
        self.cells = self.calls = 0

    def first(self) -> Experiment:
        """The first round: everything that is known to be run."""
        low, high = self._span()
        for seeker in self.seekers:
            seeker.ask(None, low, high)
        return self._experiment()

    def tune(self) -> tuple[Tuned, ...]:
        """Try settings until nothing is gained by more, and say what was found."""
        experiment, number = self.first(), 1
        while True:
            self._run(experiment, self.folder, number)
            found = self._tuned(self.folder)
            if number == 1 and self.search.race:
                drop(self.seekers, found)
            before = len(self._specs())
            for seeker in self.seekers:
                seeker.ask(found.get(seeker.strategy.spec), *self._span())
            if len(self._specs()) == before:
                break
            experiment, number = self._experiment(), number + 1
        return tuple(self._with_controls(each) for each in found.values())

    def _span(self) -> tuple[float, float]:
        return span(self.pick.first, min(self.pick.window, self.pick.peak or math.inf) * _BELOW)

    def _specs(self) -> list[str]:
        return [spec for seeker in self.seekers for spec in seeker.points]

    def _experiment(self) -> Experiment:
        settings = map(find_strategy, dict.fromkeys([_KEEP_ALL, *self._specs()]))
        return replace(
            self.planned,
            sources=tuple(each.source for each in self.pick.chosen),
            strategies=tuple(settings),
        )

    def _run(self, experiment: Experiment, folder: Path, number: int) -> None:
        store = Store(folder)
        with store.locked():
            todo = experiment.missing(store, self.timeout)
            cells = sum(len(shard.cells) for shard in todo)
            if cells:
                settings = len(experiment.conditions)
                what = f"round {number}: {settings} settings" if number else "null summarisers"
                self.say(f"{what}, {cells} runs to do")
            watched = self.watch(todo) if self.watch and cells else None

            def progress(done: Done) -> None:
                self.cells += done.cells
                self.calls += done.calls
                if watched is not None:
                    watched(done)

            experiment.fill(store, self.workers, progress, todo=todo)

    def _comparison(self, folder: Path) -> Comparison:
        results = Results.load(folder)
        compared = comparisons(results)
        if not compared or not compared[0].cases:
            reasons = dict.fromkeys(run.error for run in results.failed if run.error)
            raise UsageError(
                "\n  ".join(["no session could be replayed under all settings", *reasons])
            )
        return max(compared, key=lambda each: len(each.cases))

    def _tuned(self, folder: Path) -> dict[str, Tuned]:
        comparison = self._comparison(folder)
        found = {s.strategy.spec: s.subject.tuned(comparison, self.asked) for s in self.seekers}
        return {spec: each for spec, each in found.items() if each is not None}

    def _with_controls(self, tuned: Tuned) -> Tuned:
        """Whether the summaries of what is chosen say more than summaries without content."""
        if not self.search.controls or not tuned.acts:
            return tuned
        places = dict.fromkeys([tuned.own, tuned.candidate])
        specs = [tuned.tried[place].spec for place in places if place is not None]
        setting = replace(self.planned.setting, loop=None, controls=controls())
        experiment = replace(
            self._experiment(), strategies=tuple(map(find_strategy, specs)), setting=setting
        )
        folder = self.folder / "controls"
        self._run(experiment, folder, 0)
        comparison = self._comparison(folder)
        apart = (told(comparison, spec, tuned.lag) for spec in specs)
        return replace(tuned, told=tuple(each for each in apart if each is not None))


def model_of(pick: Picked, catalogue: Catalogue) -> Model:
    """The model that most calls of some sessions went to, as settings depend on it."""
    name, _ = pick.models.most_common(1)[0]
    try:
        known = catalogue.find(name)
    except CompactlabError:
        return Model(pick.window, name=name)
    narrow = pick.window < known.window
    return Model(pick.window, known.max_output, known.provider, known.name, narrow)


def drop(seekers: Sequence[Seeker], found: Mapping[str, Tuned]) -> None:
    """Of strategies that are alternatives, look no closer at those that are shown to cost more.

    At most half of them go (successive halving: Jamieson and Talwalkar 2016, AISTATS 51:240): the
    dearest first, if their best setting is shown to cost more than the best of all.
    """
    best = {
        spec: tuned.choice.costs[tuned.best]
        for spec, tuned in found.items()
        if tuned.best is not None
    }
    if not best:
        return
    cheapest = min(best, key=lambda spec: float(best[spec].sum()))
    dearest = sorted(best, key=lambda spec: -float(best[spec].sum()))[: len(best) // 2]
    for seeker in seekers:
        spec = seeker.strategy.spec
        if spec in dearest and ratio(best[spec], best[cheapest]).costs_more:
            seeker.dropped = True


# All of it.


class Tuning(Found):
    """What was found, with what one can make of it."""

    def text(self) -> str:
        """The report, as a terminal shows it."""
        from compactlab.reports.render import terminal
        from compactlab.reports.tune.report import report

        return terminal.write(report(self))

    def html(self) -> str:
        """The report as a page, with a chart of each strategy."""
        from compactlab.reports.charts.palette import COLOURS
        from compactlab.reports.render import html
        from compactlab.reports.tune.report import SCRIPTS, page

        return html.write(page(self), COLOURS, SCRIPTS)

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        from compactlab.reports.tune.data import data

        return data(self)


def tuned_all(
    planned: Experiment,
    strategies: Iterable[Strategy | str],
    search: Search,
    asked: Asked,
    out: str | Path | None,
    *,
    narrowed: int | None = None,
    workers: Workers = ALONE,
    say: Say = lambda line: None,
    watch: Watch | None = None,
    step: Callable[[int], object] = lambda number: None,
    timeout: float | None = None,
) -> Tuning:
    """Survey the sources, and tune strategies over those of each window."""
    began = time.monotonic()
    every, failures = survey(planned, search, narrowed, step)
    named = [planned_strategy(each) for each in strategies]
    check(named, search, asked)
    chosen = picks(every, search)
    if not chosen:
        raise UsageError("\n  ".join(["there is nothing to tune", *(failures or [_unfit(every)])]))
    with TemporaryDirectory() as spare:
        folder = Path(out) if out is not None else Path(spare)
        found: list[Tuned] = []
        cells = calls = 0
        for pick in chosen:
            tuner = Tuner(
                planned, named, pick, search, asked, folder / str(pick.window), workers, say, watch,
                timeout,
            )  # fmt: skip
            found += tuner.tune()
            cells, calls = cells + tuner.cells, calls + tuner.calls
    work = Work(cells, calls, time.monotonic() - began)
    return Tuning(tuple(found), tuple(chosen), len(every), tuple(failures), asked, work)


def check(strategies: Sequence[Strategy], search: Search, asked: Asked) -> None:
    """Fail before the work and not after it."""
    if not strategies:
        raise UsageError("name a strategy to tune, e.g. claude_code")
    for name, count in Counter(each.spec for each in strategies).items():
        if count > 1:
            raise UsageError(f"{name} is named {count} times")
    if asked.lag is not None and asked.lag not in LONG:
        raise UsageError(f"a lag is one of {', '.join(map(str, LONG))}, not {asked.lag}")
    for strategy in strategies:
        for axis in search.over:
            values = axis.values or ((100_000,) if axis.field == TRIGGER else ())
            for value in values or _usual(strategy, axis.field):
                replace_fields(strategy, {axis.field: value})


def planned_for(experiment: Experiment, *, redact: bool = False) -> Experiment:
    """An experiment with the figures and tables that tuning needs, and no more."""
    metrics = metrics_of(METRICS)
    setting = replace(
        experiment.setting, metrics=metrics, tables=TABLES, controls=(), redact=redact
    )
    return replace(experiment, setting=setting)
