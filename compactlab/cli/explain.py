"""``compactlab explain``: one session under one strategy, call by call."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from compactlab.cli.disclosing import acquaint, say, shown
from compactlab.cli.options import Count, own_models, redact
from compactlab.sim.core.errors import UsageError


@click.command()
@click.argument("path", metavar="PATH_OR_SCENARIO")
@click.option(
    "--strategy",
    required=True,
    metavar="SPEC",
    help="The strategy, e.g. auto_compact; as_recorded is what the recorded agent did.",
)
@click.option(
    "--model",
    default="",
    metavar="NAME",
    help="The model.  [default: the recorded one, call by call]",
)
@own_models
@click.option(
    "--conversation", default="", metavar="ID", help="Which one, where there are several."
)
@click.option("--call", type=Count(1), metavar="N", help="All about this one call.")
@click.option("--all", "everything", is_flag=True, help="All calls, not only the eventful ones.")
@click.option("--window", type=Count(1), help="Narrow the context window to so many tokens.")
@click.option(
    "--summarizer", default="lexrank", metavar="SPEC", help="Who makes the summaries.  [lexrank]"
)
@click.option("--seed", type=Count(0), default=0, help="Of a scenario, and of all draws.")
@click.option(
    "--churn",
    type=click.Path(),
    metavar="FILE",
    help="How often the client changes its prompt unasked, as compactlab audit measured it.",
)
@click.option("--lenient", is_flag=True, help="Pass over lines that cannot be read.")
@redact
@click.option("--json", "form", flag_value="json", help="All requests and figures, as JSON.")
@click.option("--csv", "form", flag_value="csv", help="A row a request, as CSV.")
def explain(
    path: str,
    *,
    strategy: str,
    model: str,
    conversation: str,
    call: int | None,
    everything: bool,
    form: str | None,
    **options: Any,
) -> None:
    """Say of every call of one session under one strategy what it cost and why.

    A line a request: seconds since the call before, tokens of the prompt, read from the cache,
    written to it, and at the plain price; dollars, and dollars so far; cache-miss tokens by cause
    (`compactlab list metrics` says what each is), and what the strategy did. Side calls, for
    summaries and the like, stand where they were made. Calls where something was only appended are
    put together, unless --all is given. At the end stand the figures that `compactlab run` gives.
    With --call, what a compaction kept, cut and wrote is told message by message, and which facts
    were lost with it; in JSON that is the `view`.
    """
    from compactlab import api
    from compactlab.reports.explain.explanation import entries_as_csv, explanation, one_call
    from compactlab.reports.render.write import WRITERS
    from compactlab.scenarios.catalogue import find_conversation

    seed, lenient = options["seed"], options.pop("lenient")
    session = find_conversation(path, conversation, seed, lenient=lenient)
    acquaint(session)
    to_stderr = partial(say, err=True)
    account = shown(api.explain(session, strategy, model, call=call, say=to_stderr, **options))
    calls = len({entry.call for entry in account.entries})
    if call is not None and call > calls:
        raise UsageError(f"there is no call {call:,}: the session has {calls:,}")
    if form == "csv":
        click.echo(entries_as_csv(account, call), nl=False)
        return
    if call is not None:
        document = one_call(account, call)
    else:
        document = explanation(account, everything=everything)
    if form == "json":
        click.echo(WRITERS["json"](document))
    else:
        say(WRITERS["table"](document), styled=True)
