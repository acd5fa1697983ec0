"""``compactlab score``: which facts of a conversation another product's context keeps."""

from __future__ import annotations

from pathlib import Path

import click

from compactlab.cli.options import conversation_option, format_option, redact, setting_option
from compactlab.cli.output import acquaint, print_json, say, shown, shown_json, write_file


@click.command()
@click.argument("original", metavar="ORIGINAL")
@click.argument("compacted", metavar="COMPACTED")
@click.option(
    "--facts",
    type=click.Path(),
    metavar="FILE",
    help="Facts and needs that replace the labels of the original.",
)
@click.option(
    "--model", default="", metavar="NAME", help="Count tokens with the tokenizer of this model."
)
@setting_option("models_file")
@conversation_option
@format_option("table", "md", "json")
@redact
@click.option(
    "--facts-out",
    type=click.Path(),
    metavar="FILE",
    help="Write every fact with its state and its place to FILE, as CSV.",
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
    """Score a conversation that another product compacted.

    Nothing is replayed.

    ORIGINAL is a transcript of any format, or a scenario's spec. Facts are its labels, or those of
    --facts; without either, they are inferred from later actions. COMPACTED is a file of messages
    of any format, or of plain text. If its parts name messages of the original (native format),
    these are its sources; otherwise compactlab searches for the origin of its words, and the output
    says so. docs/facts.md explains both.
    """
    from compactlab.api import score as scored_of
    from compactlab.reports.render.write import WRITERS
    from compactlab.reports.score import facts_as_csv, report

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
        write_file(Path(facts_out), facts_as_csv(shown(result.found)))
    if form == "json":
        print_json(shown_json(text))
    else:
        say(text, styled=True)
