"""Options of several commands, and messages on files that cannot be used."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compactlab.cli.disclosing import complain, redact_from_here, say
from compactlab.reports.render.text import counted, listed
from compactlab.scenarios.readers.homes import CLIENTS, here, places
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError
from compactlab.sim.core.limits import LONGEST_WAIT

if TYPE_CHECKING:
    from compactlab.sim.experiment.results import Results

_Command = TypeVar("_Command", bound="Callable[..., Any] | click.Command")


class Count(click.IntRange):
    """A whole number; the error says how to write one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        if not _is(int, value):
            self.fail(f"{value!r} is not a whole number: write digits, without a unit", param, ctx)
        return super().convert(value, param, ctx)


class Distance(Count):
    """A distance at which recall is measured."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        from compactlab.naming import distance_of

        return distance_of(super().convert(value, param, ctx))


class Seconds(click.FloatRange):
    """A number of seconds to wait; the error says how to write one."""

    def __init__(self) -> None:
        super().__init__(0, LONGEST_WAIT, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        if not _is(float, value) or math.isnan(float(value)):
            self.fail(f"{value!r} is not a number: write seconds, without a unit", param, ctx)
        return super().convert(value, param, ctx)


def _is(kind: type[float], value: Any) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True


own_models = click.option(
    "--models",
    "models_file",
    type=click.Path(),
    metavar="FILE",
    help="A TOML file with your own models.",
)


strict_option = click.option(
    "--strict/--lenient",
    default=False,
    help="Refuse what is not understood. By default it is passed over and counted.",
)
window_option = click.option(
    "--window", type=Count(1), metavar="N", help="Narrow the context window to N tokens."
)
distance_option = click.option(
    "--distance",
    type=Distance(1),
    metavar="TOKENS",
    help="Tell recall of facts last stated so many tokens ago or earlier.  [default: 20000; 40000 "
    "from a window of 200,000 tokens on, 80000 from a million on]",
)


def at_distance(results: Results, distance: int | None) -> Results:
    """Results of which reports tell recall at a distance; None for that of the store."""
    if distance is None:
        return results
    return replace(results, manifest={**results.manifest, "distance": distance})


churn_option = click.option(
    "--churn",
    type=click.Path(),
    metavar="FILE",
    help="How often the client changes its prompt unasked: a file of compactlab audit --churn-out.",
)
answers_option = click.option(
    "--answers",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Folder of recorded answers of language models, for the summariser llm.",
)
ask_option = click.option(
    "--ask",
    type=click.Choice(["replay", "record", "refuse"]),
    default="replay",
    show_default=True,
    help="record: ask language models for answers that --answers lacks, which costs money, and "
    "record them. replay: fail what is not recorded. refuse: allow no language model at all.",
)
budget_option = click.option(
    "--budget",
    type=click.FloatRange(0),
    metavar="USD",
    help="Dollars that all answers in --answers may cost together, earlier ones included.",
)
conversation_option = click.option(
    "--conversation", default="", metavar="ID", help="The conversation, if there are several."
)


def file_option(name: str, help: str) -> Callable[[_Command], _Command]:
    """An option that names a file."""
    return click.option(name, type=click.Path(dir_okay=False), metavar="FILE", help=help)


def format_option(*forms: str) -> Callable[[_Command], _Command]:
    """The format of an output; the first is the default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True
    )


def _begin(context: click.Context, option: click.Parameter, given: bool | None) -> bool | None:
    if given:
        redact_from_here()
    return given


redact = click.option(
    "--redact",
    is_flag=True,
    default=None,
    is_eager=True,
    expose_value=False,
    callback=_begin,
    help="Hide what looks like keys, tokens and mail addresses in all output.",
)


# What is read where no path was named.

client_option = click.option(
    "--client",
    type=click.Choice(CLIENTS),
    help="Without PATH: read the folders of this client alone.",
)


def named_or_usual(paths: Sequence[str], client: str | None) -> list[str]:
    """The paths that were named; without any, the folders of the clients that are here, told."""
    if paths and client:
        raise UsageError("--client picks among the usual folders: give it or a PATH, not both")
    if paths:
        return list(paths)
    usual = here(client or "")
    if not usual:
        tried = listed([str(folder) for _, folder in places(client or "")])
        raise UsageError(f"name a PATH: none of the usual folders is here ({tried})")
    for name, folder in usual:
        say(f"reading {folder} ({name})", err=True)
    return [str(folder) for _, folder in usual]


# Messages on files that were not found, skipped, or wrong.


def nothing_found(names: Iterable[object], skipped: int) -> str:
    """Say where no transcript was found, and what was there instead.

    Examples
    --------
    >>> nothing_found(["sessions", "more"], 2)
    'no transcript was found in sessions and more, only 2 files of unknown format'
    """
    named = list(map(str, names))
    nowhere = f"no transcript was found in {listed(named)}"
    only = f", only {counted(skipped, 'file')} of unknown format" if skipped else ""
    return f"{nowhere}{only}{not_read(named)}"


def not_read(names: Iterable[str]) -> str:
    """Say which clients' files are there that are not read; nothing if there are none."""
    from compactlab.scenarios.readers.transcript import strangers

    clients = strangers(names)
    return f" (not read: {listed(clients)})" if clients else ""


def finish(
    paths: Sequence[str], skipped: int, errors: Sequence[CompactlabError], *, nothing: bool = False
) -> None:
    """Say which of the named files were skipped or wrong, and exit if any is wrong."""
    if skipped:
        say(f"skipped: {counted(skipped, 'file')} of unknown format", err=True)
    for error in errors:
        complain(error)
    if errors:
        # What was named must be good; in a folder a bad file costs itself alone.
        named = any(not isinstance(e, InputError) or e.path in ("", *paths) for e in errors)
        sys.exit(2 if named or nothing else 1)
