"""The settings of a run: each is declared here, once, with its type, range, default and help.

Derived from it are the options of commands, the keys of an experiment file with their JSON Schema,
the arguments of :func:`compactlab.run`, and the table in docs/experiments.md.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from compactlab.reports.render.text import shorten
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.limits import LONGEST_WAIT

if TYPE_CHECKING:
    from compactlab.llm.asker import Mode
    from compactlab.sim.replay.client import Churn
    from compactlab.sim.replay.recovery import ClosedLoop
    from compactlab.sim.replay.summarize import Summarizer

Kind = Literal["text", "path", "folder", "texts", "integer", "integers", "number", "flag"]


@dataclass(frozen=True)
class SettingInfo:
    """The declaration of a setting, except its name and its type in Python.

    Parameters
    ----------
    kind
        The type of its option and of its key in a file.
    help
        Its effect, in one or two sentences.
    default
        Its default value, or a function that makes one.
    absent
        The behaviour without it, in words, if the default does not say that.
    least, above, most
        The range of a number: minimum, exclusive minimum, maximum.
    options
        The names of its option, if they differ from the setting's name.
    metavar
        The placeholder of its value in ``--help``.
    choices
        The valid values.
    in_python
        The default of :func:`compactlab.run`, if it differs.
    in_file
        Whether an experiment file may contain it.
    """

    kind: Kind
    help: str
    default: Any = None
    absent: str = ""
    least: int | None = None
    above: float | None = None
    most: float | None = None
    options: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    in_python: Any = ...
    in_file: bool = True

    def value(self, *, in_python: bool = False) -> Any:
        chosen = self.in_python if in_python and self.in_python is not ... else self.default
        return chosen() if callable(chosen) else chosen


def _usual_conversations() -> list[str]:
    from compactlab.scenarios.catalogue import DEFAULT

    return [DEFAULT]


def _usual_strategies() -> list[str]:
    from compactlab.strategies import DEFAULT_STRATEGIES

    return [*DEFAULT_STRATEGIES]


def _cores() -> int:
    return os.cpu_count() or 1


# The compared objects, which are the first arguments of `compactlab.run`.
SUBJECT = {
    "conversations": SettingInfo(
        "texts",
        "Transcripts, folders of them, patterns such as 'sessions/**/*.jsonl', and scenarios; "
        "suite is the ten usual ones.",
        default=_usual_conversations,
        absent="a built-in coding session",
        metavar="PATH_OR_SCENARIO",
    ),
    "strategies": SettingInfo(
        "texts",
        "Specs such as 'sliding_window(keep=20)', pipelines of several joined by ' + ', and your "
        "own classes, 'path/to/file.py:Class'; all is every built-in strategy.",
        default=_usual_strategies,
        absent="whole agents, and the subjects of this project's comparison",
        metavar="SPEC",
    ),
    "models": SettingInfo(
        "texts",
        "Names of models, NAME@none without a cache, NAME@pessimistic with a worse one, "
        "NAME+batch at batch prices, or recorded.",
        default=list,
        absent="as recorded, and a current one for synthetic conversations",
        options=("--model",),
        metavar="NAME",
    ),
}


class Settings(TypedDict, total=False):
    """How a run is made; :data:`SETTINGS` has the defaults."""

    models_file: Annotated[
        "str | Path | None",
        SettingInfo(
            "path", "A TOML file with your own models.", options=("--models",), metavar="FILE"
        ),
    ]
    churn: Annotated[
        "Churn | str | Path | None",
        SettingInfo(
            "path",
            "How often the client changes its prompt by itself: a file of compactlab audit "
            "--churn-out.",
            absent="never",
            metavar="FILE",
        ),
    ]
    summarizer: Annotated[
        "Summarizer | str | Iterable[Summarizer | str]",
        SettingInfo(
            "texts",
            "The summariser for strategies that request summaries; each of several is combined "
            "with every strategy.",
            default=lambda: ["calibrated"],
            absent="calibrated",
            metavar="SPEC",
        ),
    ]
    controls: Annotated[
        bool,
        SettingInfo(
            "flag",
            "Also replay strategies that request summaries with null summarisers: without content, "
            "random, and with all needed facts. Without them, there are no findings on memory.",
            default=True,
            options=("--controls/--no-controls",),
        ),
    ]
    answers: Annotated[
        "str | Path | None",
        SettingInfo(
            "folder",
            "Folder of recorded answers of language models, for the summariser llm.",
            metavar="FOLDER",
        ),
    ]
    ask: Annotated[
        "Mode",
        SettingInfo(
            "text",
            "record: request missing answers from language models, which costs money, and record "
            "them. replay: missing answers fail their runs. refuse: allow no language model.",
            default="replay",
            choices=("replay", "record", "refuse"),
            in_file=False,
        ),
    ]
    budget: Annotated[
        "float | None",
        SettingInfo(
            "number",
            "Maximum dollars for all answers in the folder, including earlier ones.",
            absent="no limit",
            least=0,
            metavar="USD",
            in_file=False,
        ),
    ]
    loop: Annotated[
        "ClosedLoop | str",
        SettingInfo(
            "text",
            "open: only replay the script. closed: also replay it with a simulated agent that "
            "fetches, asks for or misuses the facts it lacks.",
            default="closed",
            in_python="open",
            metavar="SPEC",
        ),
    ]
    metrics: Annotated[
        Iterable[str],
        SettingInfo(
            "texts",
            "Compute only these metrics or families of metrics, see compactlab list metrics.",
            default=list,
            absent="all",
            metavar="NAME",
        ),
    ]
    window: Annotated[
        "int | Iterable[int] | None",
        SettingInfo(
            "integers",
            "Narrow the context window to N tokens; with several, every strategy is replayed "
            "under each.",
            absent="the model's own",
            least=1,
            metavar="N",
        ),
    ]
    distance: Annotated[
        int,
        SettingInfo(
            "integer",
            "Report recall of facts last stated this many tokens ago or earlier.",
            default=0,
            absent="20000; 40000 from a window of 200,000 tokens on, 80000 from a million on",
            least=0,
            metavar="TOKENS",
        ),
    ]
    seeds: Annotated[
        int,
        SettingInfo(
            "integer",
            "Number of conversations of each scenario, and of replays of each recording.",
            default=1,
            least=1,
            metavar="N",
        ),
    ]
    jobs: Annotated[
        int,
        SettingInfo(
            "integer",
            "Number of workers; it does not change results.",
            default=_cores,
            in_python=1,
            absent="one per core",
            least=1,
            metavar="N",
        ),
    ]
    out: Annotated[
        "str | Path | None",
        SettingInfo(
            "folder",
            "Folder of the results. Existing runs in it are not run again.",
            default="compactlab-out",
            in_python=None,
            options=("--out", "-o"),
            metavar="DIR",
        ),
    ]
    strict: Annotated[
        bool,
        SettingInfo(
            "flag",
            "Refuse transcripts with unknown content, instead of skipping and counting it.",
            default=False,
            options=("--strict/--lenient",),
        ),
    ]
    timeout: Annotated[
        "float | None",
        SettingInfo(
            "number",
            "Seconds after which a run fails.",
            absent="no limit",
            above=0,
            most=LONGEST_WAIT,
            metavar="SECONDS",
        ),
    ]
    fail_fast: Annotated[
        bool, SettingInfo("flag", "Stop at the first run that fails.", default=False)
    ]
    tables: Annotated[
        Iterable[str],
        SettingInfo(
            "texts",
            "Tables to store beside the runs: calls, compactions, facts, lags, messages, views, or "
            "prompts, which is the whole trace.",
            default=list,
            absent="all but prompts",
            metavar="NAME",
        ),
    ]
    redact: Annotated[
        bool,
        SettingInfo(
            "flag",
            "Hide possible keys, tokens and mail addresses in all output.",
            default=False,
        ),
    ]
    dask: Annotated[
        str,
        SettingInfo(
            "text",
            "Address of a dask scheduler whose workers are used, such as tcp://127.0.0.1:8786.",
            in_python="",
            absent="workers on this machine",
            metavar="ADDRESS",
        ),
    ]
    isolate: Annotated[
        bool,
        SettingInfo(
            "flag",
            "Run foreign code in a separate process per run, so that it cannot harm other runs. "
            "Without it, a debugger can reach classes that were passed in.",
            default=True,
            in_file=False,
        ),
    ]


SETTINGS: dict[str, SettingInfo] = {
    name: hint.__metadata__[0] for name, hint in Settings.__annotations__.items()
}


# What compactlab run may print, by option and by project.
FORMATS = ("table", "md", "json")
# What a value of each kind is, and its name in messages.
_KINDS: dict[Kind, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "text"),
    "path": ((str, os.PathLike), "a path"),
    "folder": ((str, os.PathLike), "a path"),
    "texts": ((str,), "text or a list of texts"),
    "integer": ((Integral,), "a whole number"),
    "integers": ((Integral,), "a whole number or a list of them"),
    "number": ((Real,), "a number"),
    "flag": ((bool,), "True or False"),
}
_SEVERAL = ("texts", "integers")
# Classes that stand for no setting. Instances of any other may be an object instead of its spec.
_PLAIN = (str, bytes, Real, Mapping, Collection, NoneType)


def checked(name: str, value: Any) -> Any:
    """The value of a setting; of several values, their list.

    Raises a UsageError if it is of another kind, or out of the range.
    """
    setting = (SUBJECT | SETTINGS)[name]
    if value is None and None in (setting.default, setting.value(in_python=True)):
        return None
    if setting.kind not in _SEVERAL or isinstance(value, str) or not isinstance(value, Iterable):
        return _one(name, setting, value)
    values = [value] if isinstance(value, Mapping | bytes) else list(value)
    values = [_one(name, setting, each) for each in values]
    if setting.kind == "integers" and not values:
        raise UsageError(f"{name}: an empty list leaves nothing to run")
    return values


def _one(name: str, setting: SettingInfo, value: Any) -> Any:
    """A single value; a whole number of another library becomes one of Python."""
    kinds, words = _KINDS[setting.kind]
    fits = isinstance(value, kinds) and isinstance(value, bool) == (setting.kind == "flag")
    instead = setting.kind in ("text", "path", "texts") and not isinstance(value, _PLAIN)
    if not (fits or instead):
        raise UsageError(f"{name} must be {words}, not {shorten(repr(value), 60)}")
    if setting.choices and value not in setting.choices:
        raise UsageError(unknown(name, str(value), setting.choices))
    if not isinstance(value, int | float | Integral):
        return value
    value = int(value) if setting.kind in ("integer", "integers") else value
    if setting.least is not None and not value >= setting.least:
        raise UsageError(f"{name} must be at least {setting.least}")
    if setting.above is not None and not value > setting.above:
        raise UsageError(f"{name} must be more than {setting.above:g}")
    return value


def one_window(window: Any) -> int | None:
    """The only window, for commands that replay under one."""
    only: int | list[int] | None = checked("window", window)
    if isinstance(only, list):
        raise UsageError(f"window must be a whole number here, not {shorten(repr(window), 60)}")
    return only


def completed(given: Settings) -> Settings:
    """Settings, completed with the defaults of :func:`compactlab.run`.

    Raises a UsageError if a setting is unknown, of another kind, or out of its range.

    Examples
    --------
    >>> completed({"window": 40_000})["seeds"]
    1
    """
    for name in given:
        if name not in SETTINGS:
            raise UsageError(unknown("setting", name, SETTINGS))
    defaults = {name: each.value(in_python=True) for name, each in SETTINGS.items()}
    valid = {name: checked(name, value) for name, value in given.items()}
    return Settings(**{**defaults, **valid})  # type: ignore[typeddict-item]
