"""Fit the summariser ``calibrated`` to summaries that real agents wrote, and say how good it is.

``python examples/calibrate.py LOG... -o FILE --date DATE``: transcripts of any format, or folders
of them. ``make calibration`` writes the model of the package, ``calibrated(profile='FILE')`` reads
any.

Each summary of a recorded agent is compared with what it was made of: which of the facts that the
agent's actions use it keeps, by kind, age, mentions and the summary before; how many short messages
of the user it quotes; how it shortens paths; and how long it is. The client with most summaries is
fitted. The fit is tried on sessions and on repositories (folders of logs) that were left out: the
area under the curve (AUC; 0.5: chance, 1: perfect), and predicted and kept shares in five groups.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from calibration import Observation, Observed, Trial, calibrate, groups_of, left_out, observe, share

from compactlab import CompactlabError
from compactlab.reports.render import terminal
from compactlab.reports.render.document import Block, Column, Document, Heading, Table, rows
from compactlab.reports.render.document import name as quoted
from compactlab.reports.render.text import NONE
from compactlab.scenarios.catalogue import sources
from compactlab.strategies.summarizers.calibrated import Calibration

BARS = 0.05  # by which a fifth may be off, to be called calibrated
TEXTS = {
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
    trials: dict[str, Trial]  # by what was left out

    @classmethod
    def to(cls, summaries: Sequence[Observed], date: str) -> Fitted:
        model = calibrate(summaries, date)
        own = [summary for summary in summaries if summary.client == model.client]
        trials = {}
        for called, group in (("sessions", "session"), ("repositories", "repository")):
            if pair := left_out(own, attrgetter(group)):
                trials[called], trials[f"{called}, length known"] = pair
        return cls(summaries, model, trials)

    @cached_property
    def clients(self) -> dict[str, list[Observed]]:
        """Summaries by client; the one that was fitted first."""
        clients: dict[str, list[Observed]] = {self.model.client: []}
        for summary in self.summaries:
            clients.setdefault(summary.client, []).append(summary)
        return clients

    def document(self) -> Document:
        fates = ("by", "facts that are"), [*self._heads("facts", "kept"), "predicted"]
        versions = ("client", "model", "version"), ("summaries", "facts", "kept", "median tokens")
        paths = "kept", "shortened", "lost", "two components or more", "name alone, of files"
        lengths = "summaries", "median at 100k", "slope", "sigma", "shortest", "longest"
        fifths = [f"fifth {number}" for number in range(1, 6)]
        return Document(
            (
                *_table(f"What is kept of each fact ({self.model.source})", *fates, self._fates()),
                *_table("By client, model and version", *versions, self._versions()),
                *_table(
                    "What else stands in summaries",
                    ("text",),
                    self._heads("n", "share"),
                    self._texts(),
                ),
                *_table("How paths are shortened", ("paths",), paths, self._paths()),
                *_table("Lengths in tokens (o200k)", ("client",), lengths, self._lengths()),
                *_table(
                    "Coefficients (log odds)",
                    ("of",),
                    ("coefficient",),
                    ((key, f"{value:+.2f}") for key, value in self.model.coefficients.items()),
                ),
                *_table(
                    f"What was left out of the fit: predicted / kept; the bar is {BARS} apart",
                    ("left out",),
                    ("groups", "facts", "AUC", *fifths),
                    self._trials(),
                ),
            )
        )

    def _heads(self, *heads: str) -> list[str]:
        return [f"{head}, {client}" for client in self.clients for head in heads]

    def _fates(self) -> Iterator[Sequence[str]]:
        every = {c: [f for s in each for f in s.facts] for c, each in self.clients.items()}
        own, trial = every[self.model.client], self.trials.get("sessions")
        for heading, called, test in groups_of([f for each in every.values() for f in each]):
            cells = [heading, called]
            for facts in every.values():
                cells += [f"{len(some := list(filter(test, facts))):,}", _kept(some)]
            chances = zip(trial.chances, own, strict=True) if trial else ()
            predicted = [chance for chance, fact in chances if test(fact)]
            mean = sum(predicted) / len(predicted) if predicted else None
            yield [*cells, NONE if mean is None else f"{mean:.1%}"]

    def _versions(self) -> Iterator[Sequence[str]]:
        groups: defaultdict[tuple[str, str, str], list[Observed]] = defaultdict(list)
        for summary in self.summaries:
            groups[summary.client, summary.model, summary.version].append(summary)
        for names, each in sorted(groups.items()):
            facts = [fact for summary in each for fact in summary.facts]
            middle = sorted(summary.tokens for summary in each)[len(each) // 2]
            yield *names, f"{len(each):,}", f"{len(facts):,}", _kept(facts), f"{middle:,}"

    def _texts(self) -> Iterator[Sequence[str]]:
        for field, words in TEXTS.items():
            cells = [words]
            for summaries in self.clients.values():
                hits = [hit for summary in summaries for hit in getattr(summary, field)]
                cells += [f"{len(hits):,}", f"{share(hits):.1%}" if hits else NONE]
            yield cells
        cells = ["runs of 8 words that are copied"]
        for summaries in self.clients.values():
            copied = sum(summary.copied for summary in summaries) / len(summaries)
            cells += [f"{len(summaries):,}", f"{copied:.1%}"]
        yield cells

    def _paths(self) -> Iterator[Sequence[str]]:
        words = {"root": "told from the root on", "other": "others"}
        for called, each in self.model.paths.items():
            lost = f"{each.lost:,}", f"{each.several:.1%}", f"{each.base:.1%}"
            yield words[called], f"{each.kept:,}", f"{each.shortened:.1%}", *lost

    def _lengths(self) -> Iterator[Sequence[str]]:
        for client, each in self.model.clients.items():
            figures = f"{each.tokens:,.0f}", f"{each.slope:+.2f}", f"{each.sigma:.2f}"
            yield client, f"{each.summaries:,}", *figures, f"{each.shortest:,}", f"{each.longest:,}"

    def _trials(self) -> Iterator[Sequence[str]]:
        for called, trial in self.trials.items():
            fifths = [f"{chance:.1%} / {kept:.1%}" for chance, kept in trial.fifths]
            fifths += [NONE] * (5 - len(fifths))
            yield called, f"{trial.groups:,}", f"{len(trial.kept):,}", f"{trial.auc:.3f}", *fifths


def _table(
    title: str, words: Sequence[str], figures: Sequence[str], lines: Iterator[Sequence[str]]
) -> tuple[Block, Block]:
    columns = (*(Column(each, words=True) for each in words), *map(Column, figures))
    cells = [[*map(quoted, line[: len(words)]), *line[len(words) :]] for line in lines]
    return Heading(title), Table(columns, rows(cells))


def _kept(facts: Sequence[Observation]) -> str:
    return f"{share(fact.kept for fact in facts):.1%}" if facts else NONE


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("-o", "--out", type=Path, help="the file of the model")
    parser.add_argument("--date", default="", help="of the fit, for the source of the model")
    given = parser.parse_args(arguments)
    try:
        loaded = (source.named(c) for source in sources(given.logs)[0] for c in source.load())
        fitted = Fitted.to([found for each in loaded for found in observe(each)], given.date)
    except CompactlabError as error:
        print(error, file=sys.stderr)
        return 2
    if given.out:
        given.out.write_text(fitted.model.toml(), encoding="utf-8")
    print(terminal.write(fitted.document()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
