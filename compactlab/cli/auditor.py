"""Reads and audits what was named: one conversation at a time, for there may be thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.cli.missing import nothing_found
from compactlab.reports.text import clean, enumerated
from compactlab.sim.errors import CompactlabError, InputError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.audit.ledger import Entry, Ledger
    from compactlab.sim.audit import Audited, Key
    from compactlab.sim.conversation import Conversation
    from compactlab.sim.model import Catalogue
    from compactlab.sim.source import Source


class Auditor:
    """Reads and audits transcripts.

    Parameters
    ----------
    catalogue
        The models that may be named.
    lenient
        Whether lines that cannot be read are passed over.

    Attributes
    ----------
    misnamed
        Whether something that was named, and not only found in a folder, could not be read.
    """

    def __init__(self, catalogue: Catalogue, lenient: bool = False) -> None:
        self._catalogue, self._lenient = catalogue, lenient
        self._counted: set[Key] = set()
        self._passed: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._failures: list[CompactlabError | str] = []
        self.misnamed = False

    def ledger(self, paths: Iterable[str]) -> Ledger:
        """Audit everything below some paths.

        Raises
        ------
        UsageError
            If nothing of it can be audited; the text says why.
        """
        from compactlab.cli.bar import Bar
        from compactlab.reports.audit.ledger import Ledger

        paths = list(paths)
        sources = self._sources(paths)
        entries: list[Entry] = []
        with Bar(len(sources)) as bar:
            for number, source in enumerate(sources, 1):
                entries += self._entries(source)
                bar.show(number, f"{sum(each.audited.recorded.calls for each in entries):,} calls")
        failures = [str(failure) for failure in self._failures]
        if not entries:
            reasons = ["there is nothing to audit", *self._reasons(), *failures]
            if not sources and not failures:
                reasons[0] += f": {nothing_found(paths, 0)}"
            raise UsageError("\n  ".join(reasons))
        return Ledger.of(entries, dict(self._passed), failures, dict(self._unknown))

    def _sources(self, paths: Iterable[str]) -> list[Source]:
        """What can be read of what was named."""
        from compactlab.scenarios.catalogue import sources

        good = []
        for path in paths:
            try:
                if not Path(path).exists():
                    raise InputError("there is no such file or folder", path)
                if not Path(path).is_dir():
                    sources([path])
                good.append(path)
            except (CompactlabError, OSError, ValueError) as fault:
                self._failures.append(fault if isinstance(fault, CompactlabError) else str(fault))
                self.misnamed = True
        found, skipped = sources(good, lenient=self._lenient)
        self._passed.update({"no_known_format": skipped} if skipped else {})
        return found

    def _entries(self, source: Source) -> list[Entry]:
        """The audits of a file; what is wrong with it costs itself alone."""
        from compactlab.reports.audit.ledger import Entry
        from compactlab.scenarios.transcript import NoCallsError
        from compactlab.sim.blocks import forget_blocks
        from compactlab.sim.isolation import told
        from compactlab.sim.tokens import forget_counts

        entries = []
        try:
            for conversation in source.load():
                audited = self._audit(source.named(conversation))
                if audited is not None:
                    entries.append(Entry(conversation.source, audited))
        except NoCallsError:
            self._passed["no_usage"] += 1
        except CompactlabError as fault:
            self._failures.append(fault)
        except Exception as error:
            self._failures.append(f"{source.name}: {told(error)}")
        finally:
            forget_blocks()
            forget_counts()
        return entries

    def _audit(self, conversation: Conversation) -> Audited | None:
        from compactlab.sim.audit import audit

        if conversation.skipped:
            self._passed["unreadable_lines"] += conversation.skipped
        audited = audit(conversation, self._catalogue.find, self._counted)
        if audited is None:
            self._passed[self._why_not(conversation)] += 1
            return None
        self._counted.update(audited.keys)
        return audited.bare()

    def _why_not(self, conversation: Conversation) -> str:
        from compactlab.sim.audit.exchange import exchanges

        calls = list(exchanges(conversation))
        if not calls:
            return "no_usage"
        if all(each.key in self._counted for each in calls):
            return "counted_elsewhere"
        self._unknown.update(each.call.model for each in calls)
        return "unknown_model"

    def _reasons(self) -> list[str]:
        from compactlab.reports.audit.headline import passed_over

        reasons = passed_over(self._passed)
        if self._unknown:
            names = enumerated([clean(name) or "(not named)" for name in self._unknown], 5)
            reasons.append(f"write {names} into a file with prices, and name it with --models")
        return reasons
