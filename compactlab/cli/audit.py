"""``compactlab audit``: what recorded sessions cost, why, and what the cache model predicts."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from compactlab.cli.disclosing import complain, print_json, say, shown, write_aside
from compactlab.cli.options import (
    Count,
    client_option,
    file_option,
    named_or_usual,
    nothing_found,
    own_models,
    redact,
    strict_option,
)
from compactlab.reports.render.text import clean, enumerated
from compactlab.sim.core.errors import CompactlabError, InputError, ModelError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.audit.ledger import AuditedFile, Ledger
    from compactlab.reports.audit.spent import Session
    from compactlab.reports.audit.sums import Sums
    from compactlab.reports.render.document import Document
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.experiment.sources import Source
    from compactlab.sim.models.model import Catalogue, Model
    from compactlab.sim.replay.recording import Key

_Taken = TypeVar("_Taken")
_Take = Callable[["Conversation"], _Taken | None]


class Auditor:
    """Reads and audits transcripts."""

    def __init__(
        self, catalogue: Catalogue, strict: bool = False, since: float = 0.0, project: str = ""
    ) -> None:
        self._catalogue, self._strict, self._since = catalogue, strict, since
        self._project = project
        self._counted: set[Key] = set()
        self._passed: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._failures: list[CompactlabError | str] = []
        self.misnamed = False

    def ledger(self, paths: Iterable[str]) -> Ledger:
        """Audit everything below some paths."""
        from compactlab.reports.audit.ledger import Ledger

        entries = self._all(paths, self._audit)
        return Ledger.of(entries, dict(self._passed), map(str, self._failures), dict(self._unknown))

    def sums(self, paths: Iterable[str]) -> Sums:
        """Add up what was spent in everything below some paths, and no more."""
        from compactlab.reports.audit.spent import Spending
        from compactlab.reports.audit.sums import Sums

        spending = Spending(self._all(paths, self._sum))
        return Sums(spending, dict(self._passed), tuple(map(str, self._failures)))

    def _all(
        self, paths: Iterable[str], take: Callable[[Conversation], _Taken | None]
    ) -> list[_Taken]:
        """What is made of each conversation; it is an error if nothing is."""
        from compactlab.cli.progress import Bar

        paths = list(paths)
        sources = self._sources(paths)
        taken: list[_Taken] = []
        with Bar(len(sources)) as bar, _seldom_collected():
            for number, source in enumerate(sources, 1):
                taken += self._of_source(source, take)
                bar.show(number, f"{len(self._counted):,} calls")
        if not taken:
            failures = [str(failure) for failure in self._failures]
            reasons = ["there is nothing to audit", *self._reasons(), *failures]
            if not sources and not failures:
                reasons[0] += f": {nothing_found(paths, 0)}"
            raise UsageError("\n  ".join(reasons))
        return taken

    def _sources(self, paths: Iterable[str]) -> list[Source]:
        """What can be read of what was named."""
        from compactlab.scenarios.catalogue import is_there, sources

        good = []
        for path in paths:
            try:
                if not is_there(path):
                    raise InputError("there is no such file or folder", path)
                if not Path(path).is_dir():
                    sources([path])
                good.append(path)
            except (CompactlabError, OSError, ValueError) as fault:
                self._failures.append(fault if isinstance(fault, CompactlabError) else str(fault))
                self.misnamed = True
        inputs, skipped = sources(good, strict=self._strict)
        self._passed.update({"no_known_format": skipped} if skipped else {})
        return inputs

    def _of_source(self, source: Source, take: _Take[_Taken]) -> list[_Taken]:
        """What is made of a file; what is wrong with it costs itself alone."""
        from compactlab.scenarios.readers.transcript import NoCallsError
        from compactlab.sim.core.blocks import forget_blocks
        from compactlab.sim.core.isolation import described
        from compactlab.sim.core.tokens import forget_counts

        taken = []
        try:
            for conversation in source.load():
                if not self._is_asked(conversation):
                    self._passed["other_project"] += 1
                elif (made := take(source.named(conversation))) is not None:
                    taken.append(made)
        except NoCallsError:
            self._passed["no_usage"] += 1
        except CompactlabError as fault:
            self._failures.append(fault)
        except Exception as error:
            self._failures.append(f"{source.name}: {described(error)}")
        finally:
            forget_blocks()
            forget_counts()
        return taken

    def _is_asked(self, conversation: Conversation) -> bool:
        """Whether it is of the project that was asked for, by its folder or the end of that."""
        wanted, own = self._project.rstrip("/\\"), conversation.project.rstrip("/\\")
        return not wanted or own == wanted or own.replace("\\", "/").endswith(f"/{wanted}")

    def _audit(self, conversation: Conversation) -> AuditedFile | None:
        from compactlab.reports.audit.audit import audit
        from compactlab.reports.audit.ledger import AuditedFile

        if conversation.passed_over:
            self._passed["unreadable_lines"] += sum(each.count for each in conversation.passed_over)
        audited = audit(conversation, self._catalogue.find, self._counted, self._since)
        if audited is None:
            self._passed[self._why_not(conversation)] += 1
            return None
        self._counted.update(audited.keys)
        where = conversation.source, audited.bare(), conversation.project, conversation.subagent
        return AuditedFile(*where)

    def _sum(self, conversation: Conversation) -> Session | None:
        from compactlab.reports.audit.spent import Billed, Session
        from compactlab.sim.replay.recording import exchanges

        if conversation.passed_over:
            self._passed["unreadable_lines"] += sum(each.count for each in conversation.passed_over)
        calls = []
        for each in exchanges(conversation):
            if each.key in self._counted or each.time < self._since:
                continue
            calls.append(Billed(each.bare(), self._billed_as(each.call.model)))
        if not calls:
            self._passed[self._why_not(conversation)] += 1
            return None
        self._counted.update(call.exchange.key for call in calls if call.exchange.answer.time)
        where = conversation.source, conversation.project, conversation.subagent
        return Session(conversation.id, *where, calls)

    def _billed_as(self, name: str) -> Model:
        """A model by its name; its tokens count also where nothing else is known of it."""
        from compactlab.sim.core.tokens import Tokenizer
        from compactlab.sim.models.model import Model

        try:
            return self._catalogue.find(name)
        except ModelError:
            return Model(name or "(not named)", 0, 0, Tokenizer(), "", None)

    def _why_not(self, conversation: Conversation) -> str:
        from compactlab.sim.replay.recording import exchanges

        calls = list(exchanges(conversation))
        if not calls:
            return "no_usage"
        if all(each.key in self._counted for each in calls):
            return "counted_elsewhere"
        if all(each.time < self._since for each in calls):
            return "too_old"
        self._unknown.update(each.call.model for each in calls)
        return "unknown_model"

    def _reasons(self) -> list[str]:
        from compactlab.reports.audit.causes import passed_over

        reasons = passed_over(self._passed)
        if self._unknown:
            names = enumerated([clean(name) or "(not named)" for name in self._unknown], 5)
            reasons.append(f"write {names} into a file with prices and name it with --models")
        return reasons


# So many objects are made before the garbage collector looks at them: at Python's own 700 it takes
# a fifth of an audit, and nearly all that is read is freed without it.
_OBJECTS = 1_000_000


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the garbage collector look less often."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Count only calls from this day on (UTC), e.g. 2026-11-01.",
)
@click.option(
    "--project",
    default="",
    metavar="NAME",
    help="Count only sessions of one project: the folder in which the agent worked, or its name.",
)
@click.option("--sums", is_flag=True, help="Only add up what was spent, and explain nothing.")
@own_models
@redact
@click.option("--json", "as_json", is_flag=True, help="Print all figures, of every call, as JSON.")
@file_option("--html", "Write an HTML page to FILE.")
@file_option(
    "--churn-out",
    "Write the measured churn to FILE, for --churn of other commands. Several clients: one file "
    "per client.",
)
@click.option(
    "--worst",
    type=Count(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Show the N calls with the largest errors.",
)
@strict_option
def audit(
    paths: tuple[str, ...],
    *,
    client: str | None,
    since: datetime | None,
    project: str,
    sums: bool,
    models_file: str | None,
    as_json: bool,
    html: str | None,
    churn_out: str | None,
    worst: int,
    strict: bool,
) -> None:
    """Explain what recorded sessions cost, and why.

    \b
    compactlab audit
    compactlab audit ~/.claude/projects --html audit.html

    PATH is a transcript or a folder of transcripts: of Claude Code, pi, Codex, or any other format
    with recorded usage. Without PATH, the folders of the clients that are here are read
    (CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, KIMI_CODE_HOME, HERMES_HOME, or the usual
    ones).

    The audit says what was spent, compares what the cache was expected to do with what it did,
    gives every cache-miss token a cause, and measures how often the client changed its prompt
    unasked (churn).
    """  # noqa: D301
    from compactlab.sim.models.pricing import known_models

    for name in filter(None, (html, churn_out)):
        if sums:
            raise UsageError("--sums explains nothing: leave out --html and --churn-out")
        _check(Path(name))
    start = since.replace(tzinfo=UTC).timestamp() if since else 0.0
    auditor = Auditor(known_models(models_file), strict, start, project)
    places = named_or_usual(paths, client)
    if sums:
        from compactlab.reports.audit.sums import sums as document

        found = shown(auditor.sums(places))
        _tell(document(found), as_json=as_json)
        _end(found.failures, auditor)
        return
    from compactlab.reports.audit.report import page, report

    ledger = shown(auditor.ledger(places))
    _tell(report(ledger, worst), as_json=as_json)
    if html:
        from compactlab.reports.charts.palette import COLOURS
        from compactlab.reports.render import html as pages

        write_aside(Path(html), pages.write(page(ledger, worst), COLOURS).encode())
    if churn_out:
        _write_churn(ledger, Path(churn_out))
    _end(ledger.failures, auditor)


def _tell(document: Document, *, as_json: bool) -> None:
    from compactlab.reports.render import json, terminal

    if as_json:
        print_json(json.write(document, indent=1))
    else:
        say(terminal.write(document), styled=True)


def _end(failures: tuple[str, ...], auditor: Auditor) -> None:
    """Name what could not be read, and end accordingly."""
    for failure in failures:
        complain(failure)
    if failures:
        sys.exit(2 if auditor.misnamed else 1)


def _check(path: Path) -> None:
    """Fail before the work and not after it, if a file cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {str(path)!r}: there is no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {str(path)!r}: the folder is not writable")


def _write_churn(ledger: Ledger, path: Path) -> None:
    """A file holds one client; of several, each gets a file with its name, as files may have it."""
    from compactlab.reports.charts.chart import safe
    from compactlab.sim.replay.client import write_churn

    alone = len(ledger.churns) == 1
    taken: set[str] = set()
    for client, churn in ledger.churns.items():
        called = safe(client) or "other"
        numbered = (f"{called}-{number}" for number in count(2))
        name = next(each for each in chain([called], numbered) if each not in taken)
        taken.add(name)
        named = path if alone else path.with_stem(f"{path.stem}-{name}")
        write_aside(named, write_churn(churn))
