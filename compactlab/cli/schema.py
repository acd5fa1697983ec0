"""``compactlab schema``: the JSON Schema of experiment files, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from compactlab.cli.disclosing import say, write_file


@click.command()
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it to FILE."
)
def schema(out: str | None) -> None:
    """Print the JSON Schema of experiment files. Editors use it to complete and check them."""
    text = json.dumps(experiment_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    write_file(Path(out), text)
    say(f"wrote {out}")


def experiment_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an experiment file."""
    from compactlab.cli.experiment import ExperimentSettings
    from compactlab.cli.fields import TomlSchema

    return {
        "$schema": TomlSchema.schema_dialect,
        **ExperimentSettings.model_json_schema(schema_generator=TomlSchema),
        "title": "compactlab experiment",
        "description": "The settings of compactlab run.",
    }
