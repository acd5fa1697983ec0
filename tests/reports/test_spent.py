"""The whole recorded bill: every call once, output included, by all that tells calls apart."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from pathlib import Path

import pytest

from compactlab.reports.audit.audit import audit
from compactlab.reports.audit.ledger import AuditedFile
from compactlab.reports.bill.spent import Session, Spending, spent
from compactlab.reports.bill.sums import Sums, sums
from compactlab.reports.render import terminal
from compactlab.scenarios.readers.transcript import read
from compactlab.sim.models.model import find_model
from tests.recordings import CALM, IDLE, claude_code


def entry(file: Path) -> AuditedFile:
    (conversation,) = read(file)
    audited = audit(conversation, find_model)
    assert audited is not None
    return AuditedFile(str(file), audited)


def session(file: Path, project: str = "", *, subagent: bool = False) -> Session:
    return replace(entry(file), project=project, subagent=subagent).spent


def test_a_bill_as_on_paper(tmp_path: Path) -> None:
    """Sonnet 4.5: 3.75, 0.30 and 15 dollars for a million tokens written, read and answered."""
    whole = spent(session(claude_code(tmp_path / "calm.jsonl", CALM)).calls)
    written, read, output = 30_900, 60_600, 60
    assert (whole.calls, whole.usage.cache_write, whole.usage.cache_read) == (3, written, read)
    assert whole.usage.output == output
    assert whole.bill is not None
    assert whole.bill == pytest.approx((0, read * 0.3e-6, written * 3.75e-6, output * 15e-6))
    assert whole.total == pytest.approx(fsum(whole.bill))


def test_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    late = [(90_000, 0, 9_000, True)]
    spending = Spending([
        session(claude_code(tmp_path / "one.jsonl", IDLE), "/work/cheap"),
        session(claude_code(tmp_path / "two.jsonl", CALM, model="claude-opus-4-5"), "/work/dear"),
        session(claude_code(tmp_path / "late.jsonl", late), "/work/dear", subagent=True),
    ])  # fmt: skip
    whole = spending.whole
    for parts, names in (
        (spending.by_model(), ["claude-opus-4-5", "claude-sonnet-4-5"]),
        (spending.by_day(), ["2026-03-01", "2026-03-02"]),
        (spending.by_project(), ["/work/cheap", "/work/dear"]),
        (spending.by_agent(), ["main agents", "sub-agents"]),
        ({each.name: sum for each, sum in spending.by_session()}, ["one", "two", "late"]),
    ):
        assert [*parts] == names
        assert sum(each.calls for each in parts.values()) == whole.calls
        assert fsum(each.total or 0.0 for each in parts.values()) == pytest.approx(whole.total)


def test_the_dearest_project_comes_first(tmp_path: Path) -> None:
    cheap = session(claude_code(tmp_path / "calm.jsonl", CALM), "/a")
    dear = session(claude_code(tmp_path / "idle.jsonl", IDLE), "/b")
    assert [*Spending([cheap, dear]).by_project()] == ["/b", "/a"]


def test_of_nothing_nothing_was_spent() -> None:
    assert (spent(()).calls, spent(()).total) == (0, 0.0)


def test_a_call_without_a_time_stands_under_no_day(tmp_path: Path) -> None:
    file = claude_code(tmp_path / "calm.jsonl", CALM)
    bare = file.read_text("utf-8").replace('"timestamp"', '"moment"')
    file.write_text(bare, encoding="utf-8")
    assert [*Spending([session(file)]).by_day()] == ["undated"]


def test_calls_without_a_price_are_told_apart(tmp_path: Path) -> None:
    """What is known of the bill is not hidden by what is not."""
    known = session(claude_code(tmp_path / "calm.jsonl", CALM))
    other = session(claude_code(tmp_path / "idle.jsonl", IDLE, model="gpt-5.3-codex-spark"))
    both, none = Spending([known, other]), Spending([other]).whole
    assert both.whole.total == Spending([known]).whole.total
    assert (both.whole.calls, both.whole.unpriced) == (9, 6)
    assert (none.total, none.unpriced) == (None, 6)
    said = terminal.write(sums(Sums(both, {}, ())))
    assert "without 6 calls of unknown prices" in said
    assert "\N{GREATER-THAN OR EQUAL TO}0.13" in said
