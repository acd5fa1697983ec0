"""``compactlab audit``: the cost of recorded sessions, its causes, and cache predictions."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.options import (
    Count,
    client_option,
    file_option,
    format_option,
    named_or_usual,
    nothing_found,
    redact,
    setting_option,
)
from compactlab.cli.output import complain, print_json, say, shown, write_aside
from compactlab.sim.core.conversation import added
from compactlab.sim.core.errors import (
    CompactlabError,
    InputError,
    NoCallsError,
    UsageError,
    unknown,
)

if TYPE_CHECKING:
    from compactlab.reports.audit.ledger import Audited, Ledger
    from compactlab.reports.bill import Session, Spending, Sums
    from compactlab.reports.render.document import Document
    from compactlab.sim.core.conversation import Conversation, PassedOver
    from compactlab.sim.experiment.sources import Source
    from compactlab.sim.models.model import Catalogue


class Auditor:
    """Reads and audits transcripts.

    Parameters
    ----------
    catalogue
        The known models.
    strict
        Whether unknown records are errors.
    since
        The earliest time of requests, in seconds since 1970.
    project
        The project's folder, or its name; "" for all.
    zone
        The time zone of days; None for that of the machine.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        strict: bool = False,
        since: float = 0.0,
        project: str = "",
        zone: tzinfo | None = UTC,
    ) -> None:
        self._catalogue, self._strict, self._since = catalogue, strict, since
        self._project, self._zone = project, zone
        self._passed: Counter[str] = Counter()
        self._unread: dict[str, PassedOver] = {}
        self._failures: list[CompactlabError | str] = []
        self._calls = 0
        self.misnamed = False

    def ledger(self, paths: Iterable[str]) -> Ledger:
        """Audit all transcripts below some paths."""
        from compactlab.reports.audit.ledger import AuditedFile, Ledger, audit

        audits: dict[tuple[str, str], Audited] = {}

        def explain(conversation: Conversation) -> None:
            audited = audit(conversation, self._catalogue.find)
            if audited is not None:
                audits[conversation.source, conversation.id] = audited.bare()

        spending = self._spending(paths, explain)
        entries = []
        for session in spending.sessions:
            audited = audits.get((session.file, session.name))
            answers = {call.request.answer for call in session.calls}
            if audited is not None and (own := audited.only(answers, self._since)) is not None:
                entries.append(AuditedFile(session.file, own, session.project, session.subagent))
        return Ledger.of(
            entries,
            spending,
            passed_over=dict(self._passed),
            failures=tuple(map(str, self._failures)),
            not_understood=tuple(self._unread.values()),
        )

    def sums(self, paths: Iterable[str]) -> Sums:
        """Add up the spending of all transcripts below some paths, without an audit."""
        from compactlab.reports.bill import Sums

        spending = self._spending(paths, lambda _: None)
        failures = tuple(map(str, self._failures))
        return Sums(spending, dict(self._passed), failures, tuple(self._unread.values()))

    def _spending(self, paths: Iterable[str], explain: Callable[[Conversation], None]) -> Spending:
        """The spending, each request once; raises an error if there is none."""
        from compactlab.cli.progress import Bar
        from compactlab.reports.bill import Spending, each_once

        paths = list(paths)
        sources = self._sources(paths)
        read: list[Session] = []
        with Bar(len(sources)) as bar:
            for number, source in enumerate(sources, 1):
                read += self._of_source(source, explain)
                bar.show(number, f"{self._calls:,} calls")
        sessions = [self._recent(session) for session in self._counted(read, each_once(read))]
        spending = Spending([each for each in sessions if each.calls], self._zone)
        if not spending.sessions:
            failures = [str(failure) for failure in self._failures]
            reasons = ["there is nothing to audit", *self._reasons(), *failures]
            if not sources and not failures:
                reasons[0] += f": {nothing_found(paths, 0)}"
            raise UsageError("\n  ".join(reasons))
        return spending

    def _counted(self, read: Sequence[Session], kept: Sequence[Session]) -> Iterator[Session]:
        """The sessions that still have requests after those in other files are removed."""
        for whole, own in zip(read, kept, strict=True):
            if whole.calls and not own.calls:
                self._passed["counted_elsewhere"] += 1
            elif not whole.calls:
                self._passed["no_usage"] += 1
            else:
                yield own

    def _recent(self, session: Session) -> Session:
        """A session without requests before ``since``."""
        recent = [call for call in session.calls if call.request.time >= self._since]
        if not recent:
            self._passed["too_old"] += 1
        return replace(session, calls=recent)

    def _sources(self, paths: Iterable[str]) -> list[Source]:
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

    def _of_source(self, source: Source, explain: Callable[[Conversation], None]) -> list[Session]:
        """The sessions of a file; an error skips only this file."""
        from compactlab.reports.bill import session_of
        from compactlab.sim.core.blocks import forget_blocks
        from compactlab.sim.core.isolation import described
        from compactlab.sim.core.tokens import forget_counts

        found: list[Session] = []
        try:
            for conversation in map(source.named, source.load()):
                if not self._is_asked(conversation):
                    self._passed["other_project"] += 1
                    continue
                session = session_of(conversation, self._catalogue.billed)
                explain(conversation)
                found.append(session)
                self._calls += len(session.calls)
                for each in conversation.passed_over:
                    known = self._unread.get(each.kind)
                    self._unread[each.kind] = added(known, each) if known else each
                # A database is one source with possibly a thousand sessions.
                forget_blocks()
                forget_counts()
        except NoCallsError:
            self._passed["no_usage"] += 1
        except CompactlabError as fault:
            self._failures.append(fault)
        except Exception as error:
            self._failures.append(f"{source.name}: {described(error)}")
        finally:
            forget_blocks()
            forget_counts()
        return found

    def _is_asked(self, conversation: Conversation) -> bool:
        """Whether it belongs to the requested project, by its folder or the end of that."""
        wanted, own = self._project.rstrip("/\\"), conversation.project.rstrip("/\\")
        return not wanted or own == wanted or own.replace("\\", "/").endswith(f"/{wanted}")

    def _reasons(self) -> list[str]:
        from compactlab.reports.bill import passed_over

        return passed_over(self._passed)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Count only calls since this day, e.g. 2026-11-01.",
)
@click.option(
    "--tz",
    default="UTC",
    show_default=True,
    metavar="ZONE",
    help="Time zone of days, e.g. Europe/Berlin; local is that of this machine.",
)
@click.option(
    "--project",
    default="",
    metavar="NAME",
    help="Count only sessions of one project: its folder or its name.",
)
@click.option("--sums", is_flag=True, help="Only add up the cost, without explanations.")
@setting_option("models_file")
@redact
@format_option("table", "json")
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
@setting_option("strict")
def audit(
    paths: tuple[str, ...],
    *,
    client: str | None,
    since: datetime | None,
    tz: str,
    project: str,
    sums: bool,
    models_file: str | None,
    form: str,
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
    with recorded usage. Without PATH, the folders of the installed clients are read
    (CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, KIMI_CODE_HOME, HERMES_HOME, or their
    defaults).

    The audit reports the cost, compares expected with recorded cache reads, gives every cache-miss
    token a cause, and measures how often the cache was lost and no rule predicted it (churn).
    """  # noqa: D301
    from compactlab.reports import bill
    from compactlab.sim.models.pricing import known_models

    for name in filter(None, (html, churn_out)):
        if sums:
            raise UsageError("--sums explains nothing: leave out --html and --churn-out")
        _check(Path(name))
    zone = _zone(tz)
    auditor = Auditor(known_models(models_file), strict, _start(since, zone), project, zone)
    places = named_or_usual(paths, client)
    ledger = None if sums else shown(auditor.ledger(places))
    if ledger is None or not ledger.entries:
        found = shown(auditor.sums(places)) if ledger is None else ledger.sums
        _tell(bill.sums(found), form)
        if html:
            _write_page(bill.page(found), Path(html))
        if churn_out:
            raise UsageError("no churn was measured: the cache policy of every model is unknown")
        _end(found.failures, auditor)
        return
    from compactlab.reports.audit.report import page, report

    _tell(report(ledger, worst), form)
    if html:
        _write_page(page(ledger, worst), Path(html))
    if churn_out:
        _write_churn(ledger, Path(churn_out))
    _end(ledger.failures, auditor)


def _zone(name: str) -> tzinfo | None:
    """A time zone by its IANA name; None for ``local``, that of the machine."""
    if name in ("UTC", "local"):
        return UTC if name == "UTC" else None
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = available_timezones()
    if known:
        raise UsageError(f"--tz: {unknown('time zone', name, [*known, 'local'])}")
    raise UsageError(
        "--tz: this machine has no database of time zones: install the package tzdata, or name UTC "
        "or local"
    )


def _start(since: datetime | None, zone: tzinfo | None) -> float:
    """The start of a day in a time zone, in seconds since 1970."""
    try:
        return since.replace(tzinfo=zone).timestamp() if since else 0.0
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--since {str(since)[:10]}: this machine cannot tell so early") from None


def _tell(document: Document, form: str) -> None:
    from compactlab.reports.render import terminal
    from compactlab.reports.render.write import write_json

    if form == "json":
        print_json(write_json(document, indent=1))
    else:
        say(terminal.write(document), styled=True)


def _write_page(document: Document, path: Path) -> None:
    from compactlab.reports.charts.palette import COLOURS
    from compactlab.reports.render import html

    write_aside(path, html.write(document, COLOURS).encode())


def _end(failures: tuple[str, ...], auditor: Auditor) -> None:
    """Print what could not be read, and set the exit code."""
    for failure in failures:
        complain(failure)
    if failures:
        sys.exit(2 if auditor.misnamed else 1)


def _check(path: Path) -> None:
    """Raise an error before the work if a file cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {str(path)!r}: there is no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {str(path)!r}: the folder is not writable")


def _write_churn(ledger: Ledger, path: Path) -> None:
    """Write the churn; if there are several clients, each gets its own file with its name."""
    from compactlab.reports.charts.catalogue import safe
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
