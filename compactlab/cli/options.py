"""Options that several commands have."""

from __future__ import annotations

from typing import Any

import click


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
