"""Options of several commands, and messages on files that cannot be used."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from compactlab.cli.disclosing import complain, redact_from_here, say
from compactlab.reports.render.text import counted, listed
from compactlab.sim.core.errors import CompactlabError, InputError

# Options that several commands have.


class Count(click.IntRange):
    """A whole number; the error says how to write one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number: write digits, without a unit", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds; the error says how to write one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        try:
            float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number: write seconds, without a unit", param, ctx)
        return super().convert(value, param, ctx)


own_models = click.option(
    "--models",
    "models_file",
    type=click.Path(),
    metavar="FILE",
    help="A TOML file with your own models.",
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


# Messages on files that were not found, skipped, or wrong.


def nothing_found(names: Iterable[object], skipped: int) -> str:
    """Say where no transcript was found, and what was there instead.

    Examples
    --------
    >>> nothing_found(["sessions", "more"], 2)
    'no transcript was found in sessions and more, only 2 files of unknown format'
    """
    nowhere = f"no transcript was found in {listed(list(map(str, names)))}"
    return f"{nowhere}, only {counted(skipped, 'file')} of unknown format" if skipped else nowhere


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
