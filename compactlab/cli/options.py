"""Options that several commands have, and what is said where nothing was found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from compactlab.reports.render.text import counted, listed

# Options that several commands have.


class Count(click.IntRange):
    """A whole number; what is none is told how to be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        try:
            int(value)
        except ValueError:
            self.fail(
                f"{value!r} is no whole number: write it in digits, without a unit", param, ctx
            )
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds; what is none is told how to be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what was typed."""
        try:
            float(value)
        except ValueError:
            self.fail(f"{value!r} is no number: write seconds, without a unit", param, ctx)
        return super().convert(value, param, ctx)


own_models = click.option(
    "--models",
    "models_file",
    type=click.Path(),
    metavar="FILE",
    help="A TOML file with models of your own.",
)


def _begin(context: click.Context, option: click.Parameter, given: bool | None) -> bool | None:
    if given:
        from compactlab.cli.disclosing import redact_from_here

        redact_from_here()
    return given


redact = click.option(
    "--redact",
    is_flag=True,
    default=None,
    is_eager=True,
    expose_value=False,
    callback=_begin,
    help="Hide what looks like keys, tokens and mail addresses in all that is written.",
)


# What is said where nothing was found.


def nothing_found(names: Iterable[object], skipped: int) -> str:
    """Say where no transcript was found, and what was there instead.

    Examples
    --------
    >>> nothing_found(["sessions", "more"], 2)
    'no transcript was found in sessions and more, only 2 files of no known format'
    """
    nowhere = f"no transcript was found in {listed(list(map(str, names)))}"
    return f"{nowhere}, only {counted(skipped, 'file')} of no known format" if skipped else nowhere
