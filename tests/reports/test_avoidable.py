"""What of a bill could be avoided, and what entries of an hour would have changed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.reports.audit.causes import AVOIDABLE, advice, avoidable, longer
from compactlab.reports.audit.ledger import AuditedFile
from compactlab.reports.render.fields import data_of
from compactlab.sim.cache.causes import CAUSES
from tests.recordings import CALM, IDLE, Recorded, claude_code, codex
from tests.reports import audited
from tests.reports.spoken import folded


def entry(file: Path) -> AuditedFile:
    return audited.entry(audited.loaded(file))


WRITE, HOUR, READ = 3.75e-6, 6e-6, 0.3e-6  # Sonnet 4.5, dollars a token
# After eleven minutes everything has expired.
BREAK: Sequence[Recorded] = ((0, 0, 40_000, True), (660, 0, 41_000, True))


def test_the_dearest_cause_comes_first_and_sums_are_those_on_paper(tmp_path):
    found = avoidable([entry(claude_code(tmp_path / "idle.jsonl"))])
    costs = {each.cause: each.avoidable_cost for each in found}
    assert [*costs] == ["unexplained", "ttl_expired"]
    assert costs["unexplained"] == pytest.approx(42_400 * (WRITE - READ))
    assert costs["ttl_expired"] == pytest.approx(41_500 * (WRITE - READ))
    told = {each.cause: data_of(AVOIDABLE, each)["helps"] for each in found}
    assert ("compact" in told["ttl_expired"], told["unexplained"]) == (True, "")


def test_where_nothing_was_lost_nothing_is_avoidable(tmp_path):
    assert avoidable([entry(claude_code(tmp_path / "calm.jsonl", CALM))]) == []


def test_a_longer_lifetime_is_priced_both_ways(tmp_path):
    priced = longer([entry(claude_code(tmp_path / "break.jsonl", BREAK))])
    assert priced is not None
    assert priced.cost == pytest.approx(81_000 * (HOUR - WRITE))
    assert priced.saved == pytest.approx(40_000 * (WRITE - READ))


def test_after_more_than_an_hour_a_longer_lifetime_saves_nothing(tmp_path):
    file = claude_code(tmp_path / "long.jsonl", [BREAK[0], (4_000, 0, 41_000, True)])
    priced = longer([entry(file)])
    assert priced is not None
    assert priced.saved == 0
    (told,) = advice([entry(file)])
    assert folded(told) == snapshot("""\
With entries of an hour instead of five minutes, writes would have cost $0.18 more and rebuilds
after breaks of up to an hour $0 less: more expensive by $0.18 in all.\
""")


def test_where_nobody_asked_for_five_minutes_nothing_is_said(tmp_path):
    rollout = [entry(codex(tmp_path / "rollout.jsonl"))]
    assert longer(rollout) is None
    assert [*advice(rollout)] == []


def test_advice_is_about_causes_that_there_are(tmp_path):
    found = avoidable([entry(claude_code(tmp_path / "idle.jsonl", IDLE))])
    assert {each.cause for each in found} <= CAUSES.keys()
