"""``compactlab score``: what is left of a conversation in a context that somebody compacted."""

from __future__ import annotations

from pathlib import Path

import click

from compactlab.cli.disclosing import acquaint, say, shown, shown_json, write_file
from compactlab.cli.options import own_models, redact


@click.command()
@click.argument("original", metavar="ORIGINAL")
@click.argument("compacted", metavar="COMPACTED")
@click.option(
    "--facts",
    type=click.Path(),
    metavar="FILE",
    help="Facts and needs, in the place of the labels of the original.",
)
@click.option("--model", default="", metavar="NAME", help="By whose tokenizer tokens are counted.")
@own_models
@click.option(
    "--conversation", default="", metavar="ID", help="Which one, where there are several."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
)
@redact
@click.option(
    "--facts-out",
    type=click.Path(),
    metavar="FILE",
    help="Every fact with its state and where it was found, as CSV.",
)
def score(
    original: str,
    compacted: str,
    *,
    facts: str | None,
    model: str,
    models_file: str | None,
    conversation: str,
    form: str,
    facts_out: str | None,
) -> None:
    """Score what some other product made of a conversation, without replaying anything.

    ORIGINAL is a transcript of any format, or a scenario's spec. Its labels are used, or those of
    --facts; without any, facts are what its actions go on to use. COMPACTED are messages of any
    format, or plain text. A native conversation whose parts name messages of the original is taken
    at its word; of anything else it is found out where its words come from, and the output says so
    (docs/formats.md tells how to bring either).
    """
    from compactlab.api import score as scored_of
    from compactlab.reports.render.write import WRITERS
    from compactlab.reports.score.score import found_as_csv, report

    result = scored_of(
        original,
        compacted,
        facts=facts,
        model=model,
        id=conversation,
        models_file=models_file,
    )
    acquaint(result.original)
    text = WRITERS[form](report(result))
    if facts_out is not None:
        write_file(Path(facts_out), found_as_csv(shown(result.found)))
    if form == "json":
        click.echo(shown_json(text))
    else:
        say(text, styled=True)
