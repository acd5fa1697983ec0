"""What is advised of real replays: nothing for what a summary kept that says nothing."""

import pytest

import compactlab
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.page.verdict import verdict

STRATEGIES = ("keep_all", "keep_none", "codex", "pi", "claude_code", "keep_none + memory_recall")
METRICS = (
    "cost_usd", "amnesia_need", "recall_20k", "over_window", "rejected_calls", "overflows",
    "calls", "compactions", "rewrites",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("summarizer", ["junk", "empty"])
def test_a_summary_that_says_nothing_is_no_reason_to_choose_a_strategy(summarizer):
    results = compactlab.run(
        "coding_agent(turns=8, tokens=50000)", STRATEGIES, ["claude-sonnet-4-5"],
        summarizer=summarizer, seeds=32, window=30_000, metrics=METRICS, tables=["lags", "calls"],
    )  # fmt: skip
    (comparison,) = comparisons(results)
    advice = Advice(comparison)
    assert advice.silent == ""
    assert [row.label for row in advice.choices if not row.summarises] == []
    assert advice.choices
    assert advice.advised is None
    for row in advice.choices:
        kept = advice.memory(row).preserved()
        assert kept is None or kept.value == pytest.approx(0, abs=0.02), row.label
    assert "No strategy is recommended" in verdict(comparison)[2]
