"""What people see of an audit: sums that add up, and words that are held fast."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.audit.causes import GROUNDS, WORDS, charged, headline, read_cost, shares
from compactlab.reports.audit.charts import largest_error, timeline
from compactlab.reports.audit.ledger import AuditedFile, Ledger, merge
from compactlab.reports.audit.report import moment, page, report
from compactlab.reports.audit.tables import signed, worst
from compactlab.reports.audit.tally import input_costs
from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html, terminal
from compactlab.reports.render.text import NONE
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.conversation import PassedOver
from tests.recordings import CALM, IDLE, Recorded, claude_code, codex, pi
from tests.reports.audited import entry as of
from tests.reports.audited import ledger as audits
from tests.reports.audited import loaded
from tests.reports.spoken import folded


def entry(path: Path) -> AuditedFile:
    return of(loaded(path))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Four sessions of three clients, and something passed over."""
    logs = [
        claude_code(tmp_path / "idle.jsonl"),
        claude_code(tmp_path / "calm.jsonl", CALM),
        pi(tmp_path / "talk.jsonl"),
        codex(tmp_path / "rollout.jsonl"),
    ]
    return audits(
        map(loaded, logs),
        passed_over={"no_usage": 2},
        failures=("torn.jsonl:3: not JSON",),
        not_understood=(PassedOver("line that is not JSON", 1, 40), PassedOver("field 'x'", 2)),
    )


def test_the_table_is_what_it_was(ledger, golden):
    golden("audit.txt", terminal.write(report(ledger, 2)) + "\n")


def test_a_narrow_table_says_what_it_leaves_out(ledger, golden, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = terminal.write(report(ledger, 0))
    golden("audit-narrow.txt", text + "\n")
    tables = [line for line in text.splitlines() if "─" in line]
    assert max(map(len, tables)) <= 80


def test_the_page_is_whole_and_alone(ledger):
    shown = html.write(page(ledger, 3), COLOURS)
    assert shown == html.write(page(ledger, 3), COLOURS)
    assert "://" not in shown
    assert "<script" not in shown
    assert re.findall(r'(?:href|src)="[^#]', shown) == []
    assert shown.count("<svg") == 2
    for words in ("$1.22 of input", "dollars of input", "call number", "torn.jsonl:3: not JSON"):
        assert words in shown


def test_the_page_escapes_what_logs_name(tmp_path):
    log = loaded(claude_code(tmp_path / "x.jsonl"), id="<b>bold</b>", source="<i>file</i>")
    poem = PassedOver("record '<u>poem</u>'", 1, 9)
    shown = html.write(page(audits([log], not_understood=(poem,)), 3), COLOURS)
    assert "<b>bold" not in shown
    assert "<i>file" not in shown
    assert "<u>poem" not in shown
    assert "&lt;b&gt;bold" in shown


def test_a_long_session_is_drawn_in_few_strokes(tmp_path):
    calls = [(0.0, 0, 30_000, True)]
    calls += [(10.0 * n, 30_000 + 100 * (n - 1), 100, False) for n in range(1, 700)]
    calls += [(7_000.0, 0, 100_000, False)]
    found = entry(claude_code(tmp_path / "long.jsonl", calls))
    drawing = timeline(found, "course")
    assert len(drawing) < 60_000
    assert largest_error([entry(claude_code(tmp_path / "calm.jsonl", CALM)), found]) == found


def test_every_cause_and_every_ground_has_its_words():
    replays_alone = {"compaction_call", "extra_turn", "churn"}
    assert set(CAUSES) - replays_alone <= set(WORDS)
    assert GROUNDS.keys() == {"provider", "log", "read", "pattern", "none"}


def test_sessions_without_a_price_are_in_no_sum_of_dollars(tmp_path):
    priced = entry(claude_code(tmp_path / "a.jsonl", CALM))
    found = entry(claude_code(tmp_path / "b.jsonl", IDLE)).audited
    bare = AuditedFile("b", replace(found, recorded=replace(found.recorded, cost=None)))
    both = merge("", [priced.audited.recorded, bare.audited.recorded])
    assert both.cost == priced.audited.recorded.cost
    assert read_cost([priced, bare]) == read_cost([priced])
    assert headline([priced, bare])[0] == snapshot(
        "$0.13 of input in 3 calls: cold starts 84 %, cache reads 14 % and new text 3 %."
    )
    expired = next(share for share in shares([priced, bare]) if share.cause == "ttl_expired")
    assert (expired.tokens, expired.dollars) == (41_500, None)


def test_a_cause_that_only_the_size_of_a_read_suggests_is_called_inferred(tmp_path):
    calls = [(0.0, 0, 40_000, True), (10.0, 40_000, 500, False), (20.0, 20_000, 21_000, False)]
    found = entry(claude_code(tmp_path / "a.jsonl", calls))
    assert folded(headline([found])[:1]) == snapshot("""\
$0.25 of input in 3 calls: cold starts 60 %, rebuilds after the client changed its system prompt
(inferred, not in the log) 31 %, cache reads 7 % and new text 2 %.\
""")
    logged = [
        replace(each, charges=tuple(charge._replace(ground="log") for charge in each.charges))
        for each in found.audited.findings
    ]
    log = AuditedFile("b", replace(found.audited, findings=tuple(logged)))
    assert folded(headline([found, log])[:1]) == snapshot("""\
$0.50 of input in 2 sessions and 6 calls: cold starts 60 %, rebuilds after the client changed
its system prompt (partly inferred) 31 %, cache reads 7 % and new text 2 %.\
""")
    assert "inferred" not in headline([log])[0]


@pytest.mark.parametrize(
    ("error", "said"),
    [(None, NONE), (0.0, "0.0%"), (-0.00001, "0.0%"), (0.05, "+5.0%"), (3, "+300%")],
)
def test_errors_have_a_sign(error, said):
    assert signed(error) == said


@pytest.mark.parametrize(
    ("time", "said"), [(0.0, "undated"), (1e20, "undated"), (86_400.0, "1970-01-02 00:00:00 UTC")]
)
def test_a_time_that_is_none_is_no_error(time, said):
    assert moment(time) == said


@st.composite
def sessions(draw: st.DrawFn) -> list[Recorded]:
    """Calls that lose now and then some of what the one before had left."""
    calls: list[Recorded] = []
    at, stored = 0.0, 0
    for _ in range(draw(st.integers(1, 8))):
        read = draw(st.one_of(st.just(stored), st.integers(0, stored)))
        new = stored - read + draw(st.integers(1, 20_000))
        calls.append((at, read, new, not calls or draw(st.booleans())))
        stored = read + new
        at += draw(st.sampled_from([10.0, 200.0, 400.0, 5_000.0]))
    return calls


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(sessions(), min_size=1, max_size=3))
def test_causes_and_reading_add_up_to_the_bill(tmp_path, drawn):
    entries = [
        entry(claude_code(tmp_path / f"{number}.jsonl", calls))
        for number, calls in enumerate(drawn)
    ]
    tally = merge("all", [each.audited.recorded for each in entries])
    found = shares(entries)
    assert tally.cost is not None
    assert sum(share.tokens for share in found) == tally.written.recorded
    paid = sum(share.dollars or 0.0 for share in found) + read_cost(entries)
    assert paid == pytest.approx(tally.cost.recorded)
    assert all(0 <= (share.avoidable_cost or 0.0) <= (share.dollars or 0.0) for share in found)
    assert tally.calls == sum(map(len, drawn))
    assert headline(entries)[0].startswith("$")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sessions(), st.integers(0, 9))
def test_the_worst_calls_are_those_that_sorting_finds(tmp_path, calls, most):
    found = entry(claude_code(tmp_path / "drawn.jsonl", calls))
    gaps = []
    for finding in found.audited.findings:
        expected, recorded = input_costs(finding.forecast)
        if expected != recorded or finding.forecast.read != finding.read:
            gaps.append(abs(expected - recorded))
    told = [abs(miss.dollars or 0.0) for miss in worst([found], most)]
    assert told == sorted(gaps, reverse=True)[:most]


def test_what_was_there_before_stands_in_front_of_what_is_new(tmp_path):
    # Expired: 41,500 tokens to write again at 3.75 dollars a million, where reading costs 0.30.
    finding = entry(claude_code(tmp_path / "idle.jsonl")).audited.findings[3]
    (old, dollars, avoidable_cost), (new, *_) = charged(finding)
    assert (old.cause, old.tokens, new.cause, new.tokens) == ("ttl_expired", 41_500, "append", 500)
    assert dollars == pytest.approx(41_500 * 3.75e-6)
    assert avoidable_cost == pytest.approx(41_500 * 3.45e-6)


def test_from_ten_sessions_on_bills_are_told_with_their_chance(tmp_path):
    logs = [CALM, CALM, IDLE, IDLE, *[CALM] * 6]
    read = [loaded(claude_code(tmp_path / f"{n}.jsonl", log)) for n, log in enumerate(logs)]
    few, many = audits(read[:9]), audits(read)
    assert len(few.bills) == 4  # of nine, the others of these are five
    assert len(many.bills) == 10
    assert all(each.low <= each.expected <= each.high for each in many.bills.values())
    lost = [bill for bill in many.bills.values() if bill.recorded > bill.rules + 0.01]
    assert len(lost) == 2
    assert all(bill.expected > bill.rules for bill in many.bills.values())
    text = terminal.write(report(many, 0))
    assert "with chance" in text
    assert " to 0." in text
