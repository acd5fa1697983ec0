"""Options that several commands have."""

from __future__ import annotations

import click

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
