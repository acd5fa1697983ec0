"""What people see of a tuning, of sessions whose figures are made up."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.analysis.preservation import Share
from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html, markdown, terminal
from compactlab.reports.render.write import write_json
from compactlab.reports.tune.choice import Choice, ratio
from compactlab.reports.tune.report import TuningResult, page, report
from compactlab.reports.tune.settings import Model
from compactlab.reports.tune.survey import Selection, Surveyed
from compactlab.reports.tune.tuned import SummaryEffect, Target, Tried, Tuned
from compactlab.sim.experiment.sources import Source
from tests.lines import lines_with

Check = Callable[[str, str], None]

TRIGGERS = (60_000, 85_000, 120_000, None)
# Dollars a session under each, its recovery, the share of needs missed, and compactions.
COSTS, RECOVERED = (12.0, 9.0, 9.8, 11.0), (14.0, 9.6, 9.9, 11.0)
MISSED, COMPACTED = (0.4, 0.15, 0.05, 0.02), (90, 50, 30, 12)
OPUS = Model(200_000, 64_000, "anthropic", "claude-opus-4-5")


def spec(trigger: int | None) -> str:
    return f"claude_code(trigger={trigger}, clear_first=True, files=5)"


def tuned(sessions: int = 12, *, inferred: bool = False, recall: float = 0.8) -> Tuned:
    """Four settings over sessions that are alike but for their size."""
    sizes = np.linspace(0.5, 1.5, sessions)
    wobble = 1 + 0.04 * np.sin(np.arange(4 * sessions)).reshape(4, sessions)
    costs = np.array(RECOVERED)[:, None] * sizes * wobble
    missed = np.repeat(np.array(MISSED)[:, None], sessions, axis=1)
    tried = tuple(
        Tried(
            spec(trigger),
            {"trigger": trigger} if trigger else {},
            trigger or 167_000.0,
            COSTS[row] * sessions,
            float(costs[row].sum()),
            ratio(costs[row], costs[-1]),
            Share(MISSED[row], MISSED[row] / 2, MISSED[row] + 0.1),
            COMPACTED[row],
            0.0,
        )
        for row, trigger in enumerate(TRIGGERS)
    )
    return Tuned(
        spec(None),
        "claude_code",
        ("trigger",),
        OPUS,
        tried,
        Choice(costs, missed, None if inferred else recall, None, 3, 0.02),
        20_000,
        inferred,
        Target(recall),
        tuple(f"session-{n}" for n in range(sessions)),
        15.0 * sessions,
        runs=4 * sessions,
    )


def found(*each: Tuned) -> TuningResult:
    source = Surveyed(Source("one", list), 200_000, Counter({"claude-opus-4-5": 9}), 9, 9, 9)
    selection = Selection(200_000, (source,) * 12, quiet=30, shorter=4, share=0.9)
    failures = ("bad.jsonl: line 3 is no JSON",)
    return TuningResult(each, (selection,), 47, failures, Target(), 50, 8_000, 61.0)


@pytest.fixture
def labelled() -> TuningResult:
    return found(tuned())


def test_a_report_on_labelled_facts(labelled, golden):
    golden("tune.txt", terminal.write(report(labelled)))


def test_a_report_on_inferred_needs(golden):
    told = SummaryEffect(spec(85_000), 12, Share(0.4, 0.2, 0.6), Share(0.3, 0.1, 0.5))
    own = SummaryEffect(spec(None), 12, Share(0.1, 0.0, 0.3), Share(0.1, -0.2, 0.4))
    golden("tune-inferred.txt", terminal.write(report(found(
        replace(tuned(inferred=True), summaries=(told, own)), tuned(6, inferred=True)
    ))))  # fmt: skip


def test_a_narrow_terminal_says_what_it_leaves_out(labelled, golden, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    golden("tune-narrow.txt", terminal.write(report(labelled)))


def test_a_report_in_markdown(labelled, golden):
    golden("tune.md", markdown.write(report(labelled)))


def test_a_limit_that_nobody_keeps_to_leaves_nothing_to_paste():
    text = terminal.write(report(found(tuned(recall=0.99))))
    assert lines_with(text, "99.0%") == snapshot("""\
No setting keeps to the limit: recall of at least 99.0%, of facts last stated 20,000
tokens ago or earlier. The highest recall is 98.0%.
Limit: recall of at least 99.0%, of facts last stated 20,000 tokens ago or earlier. 0 of 4
settings keep to it here; of none that is shown for others: it takes at least 651
sessions.\
""")


def drawn(costs: list[list[float]], *, inferred: bool) -> Tuned:
    """Four settings with these costs in these sessions."""
    made = tuned(len(costs[0]), inferred=inferred)
    every = np.array(costs)
    tried = tuple(
        replace(each, recovery=float(row.sum()), of_own=ratio(row, every[-1]))
        for each, row in zip(made.tried, every, strict=True)
    )
    limit = None if inferred else 0.8
    choice = Choice(every, made.choice.missed, limit, None, 3, 0.02)
    return replace(made, tried=tried, choice=choice)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), sessions=st.integers(1, 14), inferred=st.booleans())
def test_what_is_led_with_follows_from_the_figures(data, sessions, inferred):
    """A setting is named to be set, and pasted, only if sessions without a say show that it saves;
    else the own rule is kept, and nothing is there to paste."""
    shift = data.draw(st.floats(0.5, 1.5))
    some = st.lists(st.floats(5.0, 15.0), min_size=sessions, max_size=sessions)
    rows = [[shift * each for each in data.draw(some)] for _ in range(3)]
    made = drawn([*rows, data.draw(some)], inferred=inferred)
    (told,) = json.loads(write_json(report(found(made))))["strategies"]
    saved = told["of_own_left_out"] or {"high": None}
    shown = saved["high"] is not None and saved["high"] < 1
    kept = told["advised"] == spec(None)
    assert told["candidate"] == spec(None) or kept == (not shown)
    assert (told["paste"] is None) == kept
    text = terminal.write(report(found(made)))
    assert ("CLAUDE_" in text) == (not kept)
    assert [each["setting"] for each in told["settings"] if each["advised"]] == [told["advised"]]


@pytest.mark.parametrize("sessions", [2, 12])
def test_the_first_line_is_what_follows(sessions):
    lines = terminal.write(report(found(tuned(sessions, inferred=True)))).splitlines()
    first = next(line for line in lines if line.startswith(("Keep ", "Set ")))
    assert first.startswith("Set trigger=85,000" if sessions == 12 else "Keep its own rule")


def test_a_limit_that_the_own_rule_breaks_is_kept_by_another():
    few = tuned(3, recall=0.8)
    missed = few.choice.missed[[0, 1, 2, 0]]
    broken = replace(few, choice=replace(few.choice, missed=missed))
    assert not broken.choice.allowed()[broken.own]
    assert (broken.advised, broken.candidate) == (1, 1)


def test_a_limit_moves_the_choice():
    assert tuned(recall=0.5).best == 1
    assert tuned(recall=0.9).best == 2
    assert tuned(recall=0.97).best == 3


def test_the_safest_within_the_margin_misses_least():
    plain = tuned()
    near = replace(
        plain, target=Target(0.8, margin=0.05), choice=replace(plain.choice, margin=0.05)
    )
    assert near.best == 1
    assert near.flat == (1, 2)
    assert (plain.advised, near.advised) == (1, 2)


def test_the_page_has_a_chart_and_nothing_from_elsewhere(labelled):
    text = html.write(page(labelled), COLOURS)
    assert text.count("<svg") == 1
    assert "http" not in text.replace("http-equiv", "")
    assert "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" in text
    condition = labelled.tuned[0].pasted(1).condition
    assert text.count(condition) > len(TRIGGERS) - 1  # at the paste, and at each of the slider


def test_programs_get_all_that_is_said(labelled):
    told = json.loads(write_json(report(labelled)))
    (strategy,) = told["strategies"]
    assert strategy["best"] == strategy["advised"] == spec(85_000)
    assert strategy["knee"] == spec(120_000)
    assert strategy["held_out"]["chosen_on"] == 6
    assert strategy["paste"]["file"] == "~/.claude/settings.json"
    assert {each["within_limit"] for each in strategy["settings"]} == {True, False}


def test_a_frame_has_a_row_a_setting(labelled):
    frame = labelled.frame()
    assert frame["best"].tolist() == [False, True, False, False]
    assert frame["cost_with_recovery_usd"].idxmin() == 1
