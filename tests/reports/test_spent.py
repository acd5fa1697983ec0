"""The whole recorded bill: every call once, output included, by model and by day."""

from __future__ import annotations

from math import fsum
from pathlib import Path

import pytest

from compactlab.reports.audit.audit import audit
from compactlab.reports.audit.ledger import AuditedFile
from compactlab.reports.audit.spent import day_of, model_of, spent, spent_by
from compactlab.scenarios.readers.transcript import read
from compactlab.sim.models.model import find_model
from tests.recordings import CALM, IDLE, claude_code


def entry(file: Path) -> AuditedFile:
    (conversation,) = read(file)
    audited = audit(conversation, find_model)
    assert audited is not None
    return AuditedFile(str(file), audited)


def test_a_bill_as_on_paper(tmp_path: Path) -> None:
    """Sonnet 4.5: 3.75, 0.30 and 15 dollars for a million tokens written, read and answered."""
    whole = spent(entry(claude_code(tmp_path / "calm.jsonl", CALM)).audited.findings)
    written, read, output = 30_900, 60_600, 60
    assert (whole.calls, whole.usage.cache_write, whole.usage.cache_read) == (3, written, read)
    assert whole.usage.output == output
    assert whole.bill is not None
    assert whole.bill == pytest.approx((0, read * 0.3e-6, written * 3.75e-6, output * 15e-6))
    assert whole.total == pytest.approx(fsum(whole.bill))


def test_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    entries = [
        entry(claude_code(tmp_path / "one.jsonl", IDLE)),
        entry(claude_code(tmp_path / "two.jsonl", CALM, model="claude-opus-4-5")),
        entry(claude_code(tmp_path / "late.jsonl", [(90_000, 0, 9_000, True)])),
    ]
    findings = [finding for each in entries for finding in each.audited.findings]
    whole = spent(findings)
    for key, names in (
        (model_of, ["claude-opus-4-5", "claude-sonnet-4-5"]),
        (day_of, ["2026-03-01", "2026-03-02"]),
    ):
        parts = spent_by(key, findings)
        assert [*parts] == names
        assert sum(each.calls for each in parts.values()) == whole.calls
        assert fsum(each.total or 0.0 for each in parts.values()) == pytest.approx(whole.total)


def test_of_nothing_nothing_was_spent() -> None:
    assert (spent(()).calls, spent(()).total) == (0, 0.0)


def test_a_call_without_a_time_stands_under_no_day(tmp_path: Path) -> None:
    file = claude_code(tmp_path / "calm.jsonl", CALM)
    bare = file.read_text("utf-8").replace('"timestamp"', '"moment"')
    file.write_text(bare, encoding="utf-8")
    assert [*spent_by(day_of, entry(file).audited.findings)] == ["undated"]
