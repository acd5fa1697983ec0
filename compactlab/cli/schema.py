"""``compactlab schema``: the JSON Schema of experiment files, or of the protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from compactlab.cli.output import say, write_file


@click.command()
@click.argument(
    "what", type=click.Choice(("experiment", "protocol")), default="experiment", required=False
)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it to FILE."
)
def schema(what: str, out: str | None) -> None:
    """Print a JSON Schema: of experiment files, or of the protocol.

    Editors use the first to complete and check such files. The second describes the messages
    between compactlab and a program that is a strategy.
    """
    from compactlab.strategies.program import protocol

    made = protocol.schema() if what == "protocol" else experiment_schema()
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    write_file(Path(out), text)
    say(f"wrote {out}")


def experiment_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an experiment file."""
    from compactlab.request.fields import TomlSchema
    from compactlab.request.file import ExperimentSettings

    made = ExperimentSettings.model_json_schema(schema_generator=TomlSchema)
    made["properties"] |= {
        "rules": {
            "title": "Rules",
            "description": "Rules of compactlab gate, by metric.",
            "type": "object",
        },
        "rule": {
            "title": "Rule",
            "description": "The same for some runs, with selectors.",
            "type": "array",
        },
    }
    return {
        "$schema": TomlSchema.schema_dialect,
        **made,
        "title": "compactlab experiment",
        "description": "The settings of compactlab run.",
    }
