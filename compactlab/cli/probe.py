"""``compactlab probe``: what a real model recalls from a compacted context."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.options import (
    Count,
    Tokens,
    format_option,
    nothing_found,
    one_window,
    redact,
    setting_option,
    setting_options,
)
from compactlab.cli.output import acquaint, print_json, say, shown
from compactlab.reports.render.text import counted, printed_by
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.llm.asker import Asker, Mode
    from compactlab.llm.recorded import Request
    from compactlab.reports.probe.actions import NextAction
    from compactlab.reports.probe.evaluator import Log, Samples, Scored
    from compactlab.reports.probe.reader import Price, Reader
    from compactlab.reports.probe.recall import Recall
    from compactlab.reports.render.document import Document
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.replay.replay import Options
    from compactlab.sim.replay.strategy import Strategy
    from compactlab.sim.replay.summarize import Summarizer

# A typical length, if the answer to judge is not yet known.
_SENTENCE = "What was decided for the region of the cache?"


@click.command()
@click.argument("conversations", nargs=-1, required=True, metavar="PATH_OR_SCENARIO...")
@click.option(
    "--strategies",
    multiple=True,
    required=True,
    metavar="SPEC",
    help="A strategy whose prompts the model gets. Repeatable.",
)
@click.option(
    "--what",
    type=click.Choice(["recall", "next-action"]),
    default="recall",
    show_default=True,
    help="recall: how many labelled facts it recalls. next-action: whether it chooses the recorded "
    "tool call.",
)
@click.option("--reader", required=True, metavar="MODEL", help="The model under test.")
@click.option("--judge", default="", metavar="MODEL", help="A model that judges the answers.")
@click.option(
    "--base-url",
    default="",
    metavar="URL",
    help="The endpoint of both.  [default: the provider's own]",
)
@click.option(
    "--api",
    type=click.Choice(["openai", "anthropic"]),
    help="The form of its requests.  [default: by the model's name]",
)
@setting_option("answers", required=True)
@setting_options("ask", "budget")
@click.option(
    "--questions",
    type=Count(1),
    default=20,
    show_default=True,
    help="Maximum number of questions per conversation.",
)
@click.option("--draws", type=Count(1), default=1, show_default=True, help="Answers to each.")
@click.option(
    "--temperature",
    type=click.FloatRange(0, 2),
    help="Sampling temperature.  [default: the endpoint's own]",
)
@click.option(
    "--max-tokens",
    type=Tokens(1),
    metavar="N",
    help="Tokens of an answer, thinking included.  [default: 128 to recall, 1,024 to act, 8 to "
    "judge]",
)
@click.option(
    "--reader-window",
    type=Tokens(1),
    metavar="N",
    help="Tokens of the reader's context; longer prompts lose their oldest messages.  "
    "[default: the model's, if known]",
)
@click.option("--jobs", type=Count(1), default=1, show_default=True, help="Requests at once.")
@click.option(
    "--model", default="", metavar="NAME", help="The agent's model, as for compactlab run."
)
@setting_option("models_file")
@one_window
@setting_option("summarizer", multiple=False, default="calibrated", absent="")
@setting_option("seeds")
@click.option("--seed", type=Count(0), default=0, help="Seed of the choice of questions.")
@setting_option("strict")
@click.option("--dry-run", is_flag=True, help="Print the number of requests and their price.")
@click.option(
    "--export",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the requests to FILE as samples of Inspect, an evaluator, instead of sending them.",
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Record the answers in a log of Inspect, and show the results of its scorers.",
)
@format_option("table", "json", "csv", "md")
@redact
def probe(
    conversations: tuple[str, ...],
    *,
    answers: str,
    ask: Mode,
    budget: float | None,
    form: str,
    dry_run: bool,
    export: str | None,
    log: str | None,
    **options: Any,
) -> None:
    """Ask a model what it still recalls, or what it does next.

    Recall: the model is asked for facts that calls after a compaction need, in four conditions:
    with the full context, without the fact, with the strategy's prompt, and with this prompt plus
    the fact. An answer recalls a fact if it gives the value in any notation; a --judge then judges.
    If a reader's recall with a fact is less than 20 points above its recall without it, it is too
    weak for a result.

    Next action: at calls after a compaction the model chooses a tool and its arguments, with the
    full context and with the strategy's prompt, and is compared with the log.

    Answers are recorded in --answers. Requests are only sent with --ask record. An evaluator can
    ask instead: --export, inspect eval, --log.
    """
    from compactlab.cli.progress import accounted
    from compactlab.reports.probe.evaluator import Log, Samples
    from compactlab.reports.probe.reader import Price
    from compactlab.reports.render.write import WRITERS
    from compactlab.request.names import asker_of
    from compactlab.sim.core.files import replace_file

    ways = {"--export": export, "--log": log, "--dry-run": dry_run, "--ask record": ask == "record"}
    chosen = [way for way, value in ways.items() if value]
    if len(chosen) > 1 and (export or log):
        raise UsageError(f"{' and '.join(chosen)} are different ways: choose one")
    # A dry run never calls a model, whatever --ask says.
    mode: Mode = "replay" if dry_run and ask == "record" else ask
    asker = asker_of(answers, mode, budget, options["models_file"])
    assert asker is not None
    probing = _Probing(
        _task(asker, **options),
        Price() if dry_run else None,
        options["jobs"],
        Samples() if export else None,
        Log.read(Path(log)) if log else None,
    )
    with accounted(asker) if asker.mode == "record" else nullcontext():
        probing.all_of(conversations, asker, **options)
    if probing.price is not None:
        _say_price(probing.price, probing.judgements, len(probing.summaries))
        return
    if export and probing.samples is not None:
        replace_file(Path(export), probing.samples.lines)
        say(f"{counted(len(probing.samples.by_id), 'sample')} written to {shown(export)}")
        return
    document, table = _written(probing, options)
    if form == "csv":
        click.echo(table, nl=False)
    elif form == "json":
        print_json(WRITERS[form](document))
    else:
        say(WRITERS[form](document), styled=True)


def _task(asker: Asker, **options: Any) -> Recall | NextAction:
    """The requested task, if its answers are available."""
    from compactlab.reports.probe.actions import NextAction
    from compactlab.reports.probe.recall import Recall

    reader = _reader(asker, options["reader"], options, options["draws"])
    if options["what"] == "next-action":
        if options["judge"]:
            raise UsageError("the log judges the next action: leave out --judge")
        return NextAction(reader, options["questions"], options["seed"])
    judge = _reader(asker, options["judge"], options, 1) if options["judge"] else None
    return Recall(reader, judge, options["questions"], options["seed"])


def _written(probing: _Probing, options: dict[str, Any]) -> tuple[Document, str]:
    """The result as a document and as CSV."""
    from compactlab.reports.probe import actions, recall_report
    from compactlab.reports.probe.evaluator import with_scores

    reader, outcomes = options["reader"], shown(probing.outcomes)
    left_out = shown(probing.left_out)
    if options["what"] == "next-action":
        document = actions.report(outcomes, reader, left_out)
        table = actions.answers_as_csv(outcomes)
    else:
        document = recall_report.report(outcomes, reader, options["judge"], left_out)
        table = recall_report.answers_as_csv(outcomes)
    if probing.log is not None:
        document = with_scores(document, shown(probing.scored))
    return document, table


def _reader(asker: Asker, model: str, options: dict[str, Any], draws: int) -> Reader:
    from compactlab.llm.endpoint import Endpoint
    from compactlab.reports.probe.reader import Reader

    endpoint = Endpoint.of(model, options["api"] or "", options["base_url"])
    room, most = options["reader_window"] or 0, options["max_tokens"] or 0
    reader = Reader(model, endpoint, asker, options["temperature"], draws, room, most)
    reader.check()
    return reader


def _say_price(price: Price, judgements: int, summaries: int) -> None:
    """Print the number and price of requests."""
    say(f"would ask for {counted(price.requests, 'answer')} not yet recorded")
    if judgements:
        say(f"of these, {judgements:,} of the judge, at most")
    if summaries:
        say(f"of these, {counted(summaries, 'summary')}: computed with summaries by calibrated")
    if price.unknown:
        say(f"no price is known for {price.unknown:,}: write it into a file of models (--models)")
    if price.requests > price.unknown:
        say(f"for about {price.likely:.4f} USD, and {price.most:.4f} USD at most")


def _noting(writer: Summarizer) -> Summarizer:
    """A stand-in for a summariser that counts requests to the model instead of sending them."""
    from compactlab.strategies.summarizers.catalogue import find_summarizer
    from compactlab.strategies.summarizers.llm import Expected, Llm

    return Expected(writer, find_summarizer()) if isinstance(writer, Llm) else writer


@dataclass
class _Probing:
    """Runs a probe over conversations: plans, asks, judges."""

    task: Recall | NextAction
    price: Price | None  # for a dry run
    jobs: int
    samples: Samples | None = None  # for the export to an evaluator
    log: Log | None = None  # from an evaluator
    scored: list[Scored] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # ids of conversations
    judgements: int = 0  # number that would be requested
    summaries: Sequence[tuple[float, float] | None] = ()  # the cost of each

    def all_of(self, names: Sequence[str], asker: Asker, **options: Any) -> None:
        """Probe every conversation."""
        from compactlab.request.names import (
            answered_by,
            models_of,
            planned_strategy,
            summarizers_of,
        )
        from compactlab.scenarios.catalogue import sources
        from compactlab.sim.experiment.shard import DEFAULT_MODEL
        from compactlab.sim.replay.replay import RECORDED, Options

        strategies = [planned_strategy(each) for each in options["strategies"]]
        (writer,) = answered_by(asker, summarizers_of(options["summarizer"]))
        writer = writer if self.price is None else _noting(writer)
        listed, skipped = sources(names, options["seeds"], strict=options["strict"])
        if not listed:
            raise UsageError(f"there is nothing to ask about: {nothing_found(names, skipped)}")
        for source in listed:
            for loaded in source.load():
                conversation = source.named(loaded)
                acquaint(conversation)
                model = options["model"] or (RECORDED if loaded.recorded else DEFAULT_MODEL)
                (model,) = models_of([model], asker.catalogue)
                self.one_of(
                    conversation,
                    strategies,
                    Options(model, writer, options["window"], source.seed, asker.catalogue),
                )
        if self.price is not None:
            self.summaries = [*getattr(writer, "noted", {}).values()]
            for dollars in self.summaries:
                self.price.count(dollars)

    def one_of(
        self, conversation: Conversation, strategies: Sequence[Strategy], options: Options
    ) -> None:
        task: Any = self.task
        reader: Reader = task.reader
        probes, printed = task.plan(conversation, strategies, options)
        for strategy, text in zip(strategies, printed, strict=False):
            if text:
                say(printed_by(strategy.label, text), err=True)
        if not probes:
            self.left_out.append(conversation.id)
            return
        if self.samples is not None:
            self.samples.add(probes)
            return
        if self.log is not None:
            self.log.record(reader, (each for probe in probes for each in probe.asked.values()))
            self.scored += self.log.scored(probes)
        missing = reader.missing(each for probe in probes for each in probe.asked.values())
        if self.price is not None:
            self._note(self.price, probes, missing)
            return
        if reader.asker.mode == "record":
            self._ask(reader, missing, conversation.id)
            if (judge := task.judge) is not None:
                self._ask(judge, judge.missing(task.judgements(probes)), conversation.id)
        self.outcomes += task.outcomes(probes)

    def _note(self, price: Price, probes: Sequence[Any], missing: Sequence[Request]) -> None:
        """Count the requests; every answer that is still unknown may need a judgement."""
        from compactlab.reports.probe.conditions import judgement

        task: Any = self.task
        for request in missing:
            price.add(task.reader.asker, request, task.usual)
        judge: Reader | None = task.judge
        if judge is None:
            return
        if missing:
            answers = {
                r.key for probe in probes for each in probe.asked.values() for r in each.draws
            }
            judged = list(judgement(judge, _SENTENCE, _SENTENCE, _SENTENCE).draws) * len(answers)
        else:
            judged = judge.missing(task.judgements(probes))
        self.judgements += len(judged)
        for request in judged:
            price.add(judge.asker, request, 1)

    def _ask(self, reader: Reader, requests: Sequence[Request], title: str) -> None:
        from compactlab.cli.progress import Bar

        with Bar(len(requests)) as bar:
            reader.ask(requests, self.jobs, lambda done: bar.show(done, title))
