"""``compactlab explain``: one session under one strategy, call by call."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from compactlab.cli.options import (
    Count,
    conversation_option,
    format_option,
    one_window,
    redact,
    setting_option,
    setting_options,
)
from compactlab.cli.output import acquaint, print_json, say, shown
from compactlab.reports.render.text import counted
from compactlab.sim.core.errors import UsageError


@click.command()
@click.argument("path", metavar="PATH_OR_SCENARIO")
@click.option(
    "--strategies",
    multiple=True,
    required=True,
    metavar="SPEC",
    help="The strategy, e.g. auto_compact; as_recorded repeats the recorded agent's compactions.",
)
@click.option(
    "--model",
    default="",
    metavar="NAME",
    help="The model.  [default: the recorded one, call by call]",
)
@setting_option("models_file")
@conversation_option
@click.option(
    "--files",
    "folder",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Also write the strategy's files into this folder, e.g. payloads of tool results.",
)
@click.option("--call", type=Count(1), metavar="N", help="Show only this call, in full.")
@click.option(
    "--all", "everything", is_flag=True, help="Show all calls, also those that only append."
)
@one_window
@setting_option("summarizer", multiple=False, default="calibrated", absent="")
@setting_option("answers")
@click.option(
    "--seed", type=Count(0), default=0, help="Seed of a scenario and of all random draws."
)
@setting_options("churn", "strict")
@format_option("table", "json", "csv")
@redact
def explain(
    path: str,
    *,
    strategies: tuple[str, ...],
    model: str,
    conversation: str,
    call: int | None,
    everything: bool,
    form: str,
    folder: str | None,
    **options: Any,
) -> None:
    """Explain one session under one strategy, call by call.

    Each request is a row: time since the previous call; tokens of the prompt, read from the cache,
    written to it, and uncached; dollars, and cumulative dollars; the strategy's action, and
    cache-miss tokens by cause (`compactlab list metrics` explains each). Side calls, e.g. for
    summaries, are in order. Calls that only append are folded without --all. The last lines have
    the figures of `compactlab run`. If call N was a compaction, --call N shows the messages that it
    kept, removed and wrote, and the lost facts. JSON has all requests and figures, and the
    compaction as `view`; CSV has one row per request.
    """
    from compactlab import api
    from compactlab.reports.explain.explanation import explanation, one_call, requests_as_csv
    from compactlab.reports.render.write import WRITERS
    from compactlab.scenarios.catalogue import find_conversation
    from compactlab.sim.core.notes import Folder

    if len(strategies) > 1:
        raise UsageError(f"explain shows one strategy, and {len(strategies)} are named: name one")
    seed, strict = options["seed"], options.pop("strict")
    session = find_conversation(path, conversation, seed, strict=strict)
    acquaint(session)
    to_stderr = partial(say, err=True)
    files: dict[str, str] = {}
    account = api.explain(
        session, strategies[0], model, call=call, files=files, say=to_stderr, **options
    )
    account = shown(account)
    calls = len({entry.call for entry in account.entries})
    if call is not None and call > calls:
        raise UsageError(f"there is no call {call:,}: the session has {calls:,} calls")
    if folder is not None:
        Folder(folder).update(shown(files))
        say(f"wrote {counted(len(files), 'file')} into {folder}", err=True)
    if form == "csv":
        click.echo(requests_as_csv(account, call), nl=False)
        return
    if call is not None:
        document = one_call(account, call)
    else:
        document = explanation(account, everything=everything)
    if form == "json":
        print_json(WRITERS["json"](document))
    else:
        say(WRITERS["table"](document), styled=True)
