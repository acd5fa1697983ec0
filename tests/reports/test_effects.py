"""Parameters that changed nothing are named, and so are defaults that a narrowed window caps."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.effects import caps, without_effect
from compactlab.reports.page.brief import brief
from compactlab.reports.page.page import render
from compactlab.sim.store.results import Results
from tests.reports.conftest import CUT, KEPT, SUMMED, WINDOW, Make, Store
from tests.reports.spoken import capped, folded, only, unused

NAMES = ("one", "two")


@pytest.fixture
def over(make: Make, store: Store) -> Callable[..., Results]:
    """A store of strategies over two conversations, each with the places where it compacts."""

    def made(*strategies: tuple[str, list[int]], **manifest: Any) -> Results:
        runs = [
            make(spec, CUT if cut else KEPT, name, cut=cut, model="claude-sonnet-4-5")
            for spec, cut in (("keep_all()", []), *strategies)
            for name in NAMES
        ]
        return store(*runs, **manifest)

    return made


def test_a_parameter_without_a_compaction_never_mattered(over):
    results = over(("claude_code(buffer_tokens=880000)", []))
    sentence = "claude_code(buffer_tokens=880000): buffer_tokens never mattered: 0 compactions."
    assert unused(only(results)) == [sentence]
    assert sentence in render(results, "table")
    assert "never mattered: 0 compactions." in render(results, "md")
    assert sentence in " ".join(brief(results).split())


def test_what_stands_at_its_default_is_no_parameter(over):
    assert not without_effect(only(over(("claude_code()", []))))


def test_of_a_pipeline_the_parameters_of_all_its_parts_are_named(over):
    results = over(("memory_flush(trigger=9) + auto_compact(trigger=9, version='0.49.3')", []))
    assert without_effect(only(results))[0].parameters == ("trigger", "version")


def test_one_compaction_is_enough_to_say_nothing(make, store, over):
    results = over(("claude_code(trigger=9)", [2]))
    assert not without_effect(only(results))


def test_rows_that_are_equal_in_every_conversation_are_named(over):
    few, many = (
        "full_summary(buffer_tokens=13000, files=5)",
        "full_summary(buffer_tokens=26000, files=5)",
    )
    (sentence,) = unused(only(over((few, [2]), (many, [2]))))
    assert folded(sentence) == snapshot("""\
full_summary(buffer_tokens=13000, files=5) and full_summary(buffer_tokens=26000, files=5) made
the same runs in all 2 conversations: buffer_tokens never mattered.\
""")


def test_rows_that_differ_in_one_figure_are_not(make, store):
    specs = [f"full_summary(buffer_tokens={n})" for n in (1, 2)]
    runs = [make(spec, CUT, name, cut=[2]) for spec in specs for name in NAMES]
    assert without_effect(only(store(*runs)))
    runs[-1] = replace(runs[-1], metrics={**runs[-1].metrics, "recall_20k": 0.4})
    assert not without_effect(only(store(*runs)))


def test_other_strategies_are_other_strategies_however_equal(over):
    assert not without_effect(only(over(("turn_slice(n=1)", [2]), ("sliding_window(n=2)", [2]))))


def test_of_three_those_that_are_equal_are_named(make, store):
    told = [(1, CUT), (2, SUMMED), (3, CUT)]
    runs = [make(f"pi(trigger={n})", prompts, cut=[2]) for n, prompts in told]
    (found,) = without_effect(only(store(*runs)))
    assert {row.spec for row in found.rows} == {"pi(trigger=1)", "pi(trigger=3)"}
    assert (found.parameters, found.idle) == (("trigger",), False)


def test_a_strategy_of_ones_own_may_have_any_name(over):
    assert not without_effect(only(over(("mine (best", []), ("mine (worst", [2]))))


def test_a_capped_default_is_told_with_what_it_counts_as(over):
    told = {"claude_code()": {"buffer_tokens": 13_000}, "codex()": {"user_tokens": 300}}
    results = over(("claude_code()", [2]), ("codex()", [2]), caps=told)
    (cap,) = caps(only(results))
    assert (cap.what, cap.tokens, cap.counts) == ("buffer_tokens", 13_000, WINDOW // 4)
    (sentence,) = capped(only(results))
    assert folded(sentence) == snapshot("""\
In the window narrowed to 2,000 tokens these defaults count as a quarter of it, 500:
buffer_tokens of claude_code, not 13,000. What is set counts as it is.\
""")
    assert sentence in render(results, "table")


def test_in_the_models_own_window_nothing_is_capped(over):
    results = over(("claude_code()", [2]), caps={"claude_code()": {"buffer_tokens": 13_000}})
    for run in results.runs:
        run.window = 0
    assert not caps(only(results))
    for run in results.runs:
        run.window = 200_000
    assert not caps(only(results))


def test_programs_read_the_same(over):
    results = over(("pi(trigger=9)", []), ("codex()", [2]), caps={"codex()": {"user_tokens": 9000}})
    (found,) = json.loads(render(results, "json"))["parameters"]
    assert found["without_effect"] == [
        {"strategies": ["pi(trigger=9)"], "parameters": ["trigger"], "why": "0 compactions"}
    ]
    assert found["capped"] == [
        {"strategies": ["codex()"], "what": "user_tokens", "tokens": 9000, "counts_as": 500}
    ]
