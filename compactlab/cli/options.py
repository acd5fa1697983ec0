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
