"""``compactlab calibrate``: what recorded summaries keep, and a model of it for ``calibrated``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.disclosing import print_json, say, shown, write_aside
from compactlab.cli.options import finish, format_option, nothing_found, redact, strict_option
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import NONE, counted, listed
from compactlab.sim.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from compactlab.sim.experiment.sources import Source
    from compactlab.strategies.summarizers.calibrated import Calibration
    from compactlab.strategies.summarizers.calibration import Observed, Trial

SESSIONS = "sessions"
_TRIALS = {SESSIONS: "session", "repositories": "repository"}
_BARS = 0.05  # by which a fifth may be off, to be called calibrated
_TEXTS = {
    "messages": "short messages of the user, word for word",
    "before": "those that the summary before quoted",
    "commands": "commands, 60 % of their words",
    "errors": "lines of errors, 60 % of their words",
}


@dataclass(frozen=True)
class Fitted:
    """What was read, the model, and how it does on what it was not fitted to."""

    summaries: Sequence[Observed]
    model: Calibration
    trials: dict[str, Trial | None]  # by what was left out

    @cached_property
    def clients(self) -> dict[str, list[Observed]]:
        """Summaries by client; the one that was fitted first."""
        clients: dict[str, list[Observed]] = {self.model.client: []}
        for summary in self.summaries:
            clients.setdefault(summary.client, []).append(summary)
        return clients

    def fates(self) -> list[dict[str, Any]]:
        """What became of facts by kind, age, mentions and use, beside what was predicted."""
        from compactlab.strategies.summarizers.calibration import groups_of, share

        every = {c: [f for s in each for f in s.facts] for c, each in self.clients.items()}
        found = []
        for heading, called, test in groups_of([f for each in every.values() for f in each]):
            row: dict[str, Any] = {"by": heading, "group": called, "clients": {}}
            for client, facts in every.items():
                some = [fact for fact in facts if test(fact)]
                row["clients"][client] = {
                    "facts": len(some),
                    "kept": share(fact.kept for fact in some) if some else None,
                }
            if trial := self.trials[SESSIONS]:
                own = every[self.model.client]
                chances = [
                    chance for chance, fact in zip(trial.chances, own, strict=True) if test(fact)
                ]
                row["predicted"] = round(float(sum(chances)) / len(chances), 3) if chances else None
            found.append(row)
        return found

    def versions(self) -> list[dict[str, Any]]:
        """What became of facts by client, its version and its model."""
        from compactlab.strategies.summarizers.calibration import share

        groups: defaultdict[tuple[str, str, str], list[Observed]] = defaultdict(list)
        for summary in self.summaries:
            groups[summary.client, summary.model, summary.version].append(summary)
        return [
            {
                "client": client,
                "model": model,
                "version": version,
                "summaries": len(each),
                "facts": sum(len(summary.facts) for summary in each),
                "kept": share(fact.kept for summary in each for fact in summary.facts),
                "tokens": sorted(summary.tokens for summary in each)[len(each) // 2],
            }
            for (client, model, version), each in sorted(groups.items())
        ]

    def texts(self) -> list[dict[str, Any]]:
        """How much of messages, commands and errors stands in summaries, by client."""
        from compactlab.strategies.summarizers.calibration import share

        found: list[dict[str, Any]] = []
        for field, words in _TEXTS.items():
            row: dict[str, Any] = {"text": words, "clients": {}}
            for client, summaries in self.clients.items():
                hits = [hit for summary in summaries for hit in getattr(summary, field)]
                row["clients"][client] = {"n": len(hits), "there": share(hits) if hits else None}
            found.append(row)
        row = {"text": "runs of 8 words that are copied", "clients": {}}
        for client, summaries in self.clients.items():
            copied = round(sum(each.copied for each in summaries) / len(summaries), 3)
            row["clients"][client] = {"n": len(summaries), "there": copied}
        return [*found, row]

    def data(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "calibration": asdict(self.model),
            "fates": self.fates(),
            "versions": self.versions(),
            "texts": self.texts(),
            "left_out": {name: _trial(trial) for name, trial in self.trials.items()},
        }


def _trial(trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    fifths = [{"predicted": round(p, 3), "kept": round(kept, 3)} for p, kept in trial.fifths]
    return {
        "groups": trial.groups,
        "facts": len(trial.kept),
        "auc": round(trial.auc, 3),
        "fifths": fifths,
    }


def calibration_report(fitted: Fitted) -> Document:
    """What recorded summaries keep, and how well the model says it."""
    return Document(tuple(_blocks(fitted)), fitted.data)


def _blocks(fitted: Fitted) -> Iterator[Block]:
    model = fitted.model
    clients = list(fitted.clients)
    yield sentences([name(f"The model was {model.source}."), _others(fitted)], bullets=False)
    yield Heading("What is kept of each fact")
    predicted = fitted.trials[SESSIONS] is not None
    columns = [Column("by", words=True), Column("facts that are", words=True)]
    columns += [Column(head, group=name(c)) for c in clients for head in ("facts", "kept")]
    columns += [Column("left out", group="predicted")] if predicted else []
    yield Table(tuple(columns), rows(_fates(fitted.fates(), predicted)))
    yield Heading("By client, model and version")
    heads = ("client", "model", "version"), ("summaries", "facts", "kept", "median tokens")
    by = (*(Column(each, words=True) for each in heads[0]), *map(Column, heads[1]))
    yield Table(by, rows(map(_version, fitted.versions())))
    yield Heading("What else stands in summaries")
    columns = [Column("text", words=True)]
    columns += [Column(head, group=name(c)) for c in clients for head in ("n", "share")]
    yield Table(tuple(columns), rows(map(_text, fitted.texts())))
    yield Heading("How paths are shortened")
    parts = "kept", "shortened", "lost", "two components or more", "name alone, of files"
    columns = [Column("paths", words=True), *map(Column, parts)]
    yield Table(tuple(columns), rows(_paths(model)))
    yield Heading("Lengths in tokens (o200k)")
    lengths = ("summaries", "median at 100k", "slope", "sigma", "shortest", "longest")
    columns = [Column("client", words=True), *map(Column, lengths)]
    yield Table(tuple(columns), rows(_lengths(model)))
    yield Heading("Coefficients (log odds)")
    coefficients = (Column("of", words=True), Column("coefficient"))
    pairs = ((name(key), f"{value:+.2f}") for key, value in model.coefficients.items())
    yield Table(coefficients, rows(pairs))
    yield Heading("On what was left out of the fit")
    columns = [Column("left out", words=True), *map(Column, ("groups", "facts", "AUC"))]
    columns += [Column(f"fifth {number}") for number in range(1, 6)]
    if predicted:
        yield sentences(["Fifths of the facts, by chance: predicted / kept."], bullets=False)
        yield Table(tuple(columns), rows(_trials(fitted.trials)))
    yield sentences(_verdicts(fitted.trials))


def _others(fitted: Fitted) -> str:
    others = [
        f"{counted(len(each), 'summary')} of {name(client)}"
        for client, each in fitted.clients.items()
        if client != fitted.model.client
    ]
    return f"Not fitted, figures only: {listed(others)}." if others else ""


def _fates(fates: Sequence[dict[str, Any]], predicted: bool) -> Iterator[Sequence[str]]:
    for row in fates:
        cells = [row["by"], name(row["group"])]
        for each in row["clients"].values():
            cells += [f"{each['facts']:,}", _percent(each["kept"])]
        yield cells + ([_percent(row["predicted"])] if predicted else [])


def _version(row: dict[str, Any]) -> Sequence[str]:
    words = [name(row[key]) for key in ("client", "model", "version")]
    counts = f"{row['summaries']:,}", f"{row['facts']:,}", _percent(row["kept"])
    return *words, *counts, f"{row['tokens']:,}"


def _text(row: dict[str, Any]) -> Sequence[str]:
    cells = [row["text"]]
    for each in row["clients"].values():
        cells += [f"{each['n']:,}", _percent(each["there"])]
    return cells


def _paths(model: Calibration) -> Iterator[Sequence[str]]:
    words = {"root": "told from the root on", "other": "others"}
    for called, each in model.paths.items():
        shares = _percent(each.shortened), _percent(each.several), _percent(each.base)
        yield words[called], f"{each.kept:,}", shares[0], f"{each.lost:,}", *shares[1:]


def _lengths(model: Calibration) -> Iterator[Sequence[str]]:
    for client, each in model.clients.items():
        ends = f"{each.shortest:,}", f"{each.longest:,}"
        figures = f"{each.tokens:,.0f}", f"{each.slope:+.2f}", f"{each.sigma:.2f}"
        yield name(client), f"{each.summaries:,}", *figures, *ends


def _trials(trials: dict[str, Trial | None]) -> Iterator[Sequence[str]]:
    for called, trial in trials.items():
        if trial:
            fifths = [f"{chance:.1%} / {kept:.1%}" for chance, kept in trial.fifths]
            fifths += [NONE] * (5 - len(fifths))
            yield called, f"{trial.groups:,}", f"{len(trial.kept):,}", f"{trial.auc:.3f}", *fifths


def _verdicts(trials: dict[str, Trial | None]) -> Iterator[str]:
    for called, trial in trials.items():
        if trial is None:
            if called in _TRIALS:
                yield f"Too few to leave out {called}."
            continue
        off = max(abs(chance - kept) for chance, kept in trial.fifths)
        fit = "within" if off <= _BARS else "more than"
        yield (
            f"Leaving out {called}: AUC {trial.auc:.3f} (0.5: chance). The largest difference "
            f"between predicted and kept in a fifth is {off:.3f}, {fit} {_BARS}."
        )


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1%}"


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the model to FILE, for \"calibrated(profile='FILE')\".",
)
@click.option(
    "--date", default="", help="Date of the fit, for the source of the model.  [default: none]"
)
@format_option("table", "json")
@redact
@strict_option
def calibrate(
    paths: tuple[str, ...], *, out: str | None, date: str, form: str, strict: bool
) -> None:
    """Measure what recorded summaries keep, and fit a summariser.

    The summariser is `calibrated`. LOG is a transcript of any format or a folder of them. The
    command compares each summary that a recorded agent wrote with what it was made of: which of the
    facts that the agent's actions use it keeps, by kind, by how long ago and how often they were
    said, and by the summary before; how many short messages of the user it quotes; how it shortens
    paths; and how long it is.

    The model is fitted to the client with most summaries. It is tried on sessions and on
    repositories (folders of logs) that were left out of the fit: the area under the curve (AUC;
    0.5: chance, 1: perfect), and predicted against kept shares in five groups of equal size.
    """
    from compactlab.cli.progress import Bar
    from compactlab.reports.render.write import WRITERS
    from compactlab.scenarios.catalogue import sources
    from compactlab.strategies.summarizers.calibration import calibrate as fit
    from compactlab.strategies.summarizers.calibration import left_out

    readable, skipped = sources(paths, strict=strict)
    errors: list[InputError] = []
    summaries = _observed(readable, errors)
    if not summaries:
        reason = "no log has a summary that can be read, with what it was made of"
        if not readable:
            reason = nothing_found(paths, skipped)
        raise errors[0] if errors else UsageError(f"there is nothing to fit: {reason}")
    model = fit(summaries, date)
    own = [summary for summary in summaries if summary.client == model.client]
    trials: dict[str, Trial | None] = {}
    with Bar(len(_TRIALS)) as bar:
        for done, (called, group) in enumerate(_TRIALS.items()):
            bar.show(done, f"leaving out {called}")
            pair = left_out(own, attrgetter(group))
            trials[called], trials[f"{called}, length known"] = pair or (None, None)
    if out:
        write_aside(Path(out), shown(model.toml()))
    document = calibration_report(Fitted(summaries, model, trials))
    if form == "json":
        print_json(WRITERS["json"](shown(document)))
    else:
        say(WRITERS["table"](document), styled=True)
    finish(paths, skipped, errors)


def _observed(readable: Sequence[Source], errors: list[InputError]) -> list[Observed]:
    """The recorded summaries of the sources; a source that cannot be read is kept as its error."""
    from compactlab.cli.progress import Bar
    from compactlab.strategies.summarizers.calibration import observe

    summaries: list[Observed] = []
    with Bar(len(readable)) as bar:
        for done, source in enumerate(readable):
            bar.show(done, f"{counted(len(summaries), 'summary')}")
            try:
                for conversation in source.load():
                    summaries += observe(source.named(conversation))
            except InputError as fault:
                errors.append(fault)
    return summaries
