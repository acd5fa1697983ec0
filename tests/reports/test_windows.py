"""Several windows in one store: the table of strategies by windows, and its sentences."""

from dataclasses import replace
from functools import cache

from inline_snapshot import snapshot

import compactlab
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.analysis.scope import sweeps
from compactlab.reports.charts.gallery import save_charts
from compactlab.reports.page.brief import brief, brief_markdown
from compactlab.reports.page.page import page
from compactlab.reports.render.text import NONE
from compactlab.sim.store.results import Results
from tests.lines import lines_with

SESSION = "coding_agent(turns=6, tokens=40000)"


@cache
def swept() -> Results:
    return compactlab.run(
        SESSION, ["claude_code", "codex"], ["claude-sonnet-4-5"], window=[60_000, 40_000],
        controls=False,
    )  # fmt: skip


def test_a_table_has_cost_and_recall_under_each_window_at_one_distance():
    results = swept()
    assert brief(results) == snapshot("""\
Model claude-sonnet-4-5; windows of 40k and 60k tokens; 2 strategies over 1 conversation
                       at 40k            at 60k
              at 40k   recall   at 60k   recall
strategy         USD     ≥20k      USD     ≥20k
───────────────────────────────────────────────
claude_code     2.17       0%     2.16       0%
codex           1.93       0%     2.21       0%
At 40k: cheapest codex (1.93 USD, recall 0%).
At 60k: cheapest claude_code (2.16 USD, recall 0%).
Recall: the share held of needed facts last stated 20,000 tokens ago or earlier, at each window.\
""")
    lags = {each.lag for each in comparisons(results)}
    assert lags == {20_000}
    (sweep,) = sweeps(comparisons(results))
    assert [each.window for each in sweep] == [40_000, 60_000]


def test_markdown_has_the_same_table():
    assert lines_with(brief_markdown(swept()), "| strategy") == snapshot(
        "| strategy | at 40k USD | at 40k recall ≥20k | at 60k USD | at 60k recall ≥20k |"
    )


def test_one_window_is_no_sweep():
    results = swept()
    one = replace(results, runs=[run for run in results.runs if run.window == 40_000])
    assert sweeps(comparisons(one)) == []
    assert "at 40k" not in brief(one)


def test_a_strategy_that_failed_under_a_window_has_no_figure_there():
    results = swept()
    left = [r for r in results.runs if (r.window, r.label) != (60_000, "codex")]
    (line,) = (
        each for each in brief(replace(results, runs=left)).splitlines() if "codex  " in each
    )
    assert line.split()[-2:] == [NONE, NONE]


def test_models_have_a_table_each():
    results = compactlab.run(
        SESSION, "codex", ["claude-sonnet-4-5", "gpt-5"], window=[40_000, 60_000], controls=False
    )
    text = brief(results)
    assert lines_with(text, "40k and 60k") == snapshot("""\
Model claude-sonnet-4-5; windows of 40k and 60k tokens; 1 strategy over 1 conversation
Model gpt-5; windows of 40k and 60k tokens; 1 strategy over 1 conversation\
""")


def test_a_page_of_windows_ranks_by_window_and_speaks_of_no_models():
    text = page(swept())
    assert "Ranks by window" in text
    assert "better depends on the window." in " ".join(text.split())
    assert "differ only in the model" not in text


def test_a_window_that_is_the_models_own_is_not_called_narrowed():
    results = compactlab.run(SESSION, "codex", window=200_000, controls=False, loop="open")
    assert brief(results).splitlines()[0] == snapshot(
        "Model claude-sonnet-4-5; window 200,000 tokens; 1 strategy over 1 conversation"
    )


def test_who_counts_turns_says_why_it_exceeds_the_window_and_what_helps():
    results = compactlab.run(
        SESSION, ["turn_slice", "pi"], window=40_000, controls=False, loop="open"
    )
    text = " ".join(brief(results).split())
    assert "of calls: it counts turns, not tokens; auto_compact + turn_slice fits" in text
    assert text.count("counts turns") == 1


def test_charts_of_two_models_are_named_by_them_and_say_their_scope(tmp_path):
    results = compactlab.run(
        "coding_agent(turns=4, tokens=20000)", ["claude_code", "codex"],
        ["claude-sonnet-4-5", "gpt-5-mini"], window=[30_000, 20_000], controls=False,
    )  # fmt: skip
    drawn = save_charts(results, tmp_path, only=["cost-and-recall-by-window"])
    assert [path.name for path in drawn] == snapshot(
        [
            "model-claude-sonnet-4-5-cost-and-recall-by-window.svg",
            "model-claude-sonnet-4-5-cost-and-recall-by-window.png",
            "model-gpt-5-mini-cost-and-recall-by-window.svg",
            "model-gpt-5-mini-cost-and-recall-by-window.png",
        ]
    )
    said = [path.read_text("utf-8") for path in drawn if path.suffix == ".svg"]
    assert all("windows of 20k and 30k tokens; 2 strategies over" in text for text in said)
