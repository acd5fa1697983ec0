"""The figures of cost, each on calls that one can add up by hand."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Usage
from compactlab.sim.metrics import METRICS, RunData, measure
from compactlab.sim.replay.trace import SideCall

# Dollars per token, from the list prices of September 2025.
SONNET = {"uncached": 3e-6, "read": 0.3e-6, "write_5m": 3.75e-6, "write_1h": 6e-6, "output": 15e-6}


def figure(name: str, trace: Any, script: Any = None) -> float | None:
    return METRICS[name].compute(RunData(trace, script))


def side(model: str, usage: Usage) -> tuple[SideCall, ...]:
    return (SideCall("summary", model, 1_760_000_000.0, usage, {}),)


def test_every_class_of_tokens_has_its_price(kit: Any) -> None:
    trace = kit.trace_of(Usage(1000, 2000, 3000, 4000, 500), model="claude-sonnet-4-5")
    dollars = 1000 * 3e-6 + 2000 * 0.3e-6 + 3000 * 3.75e-6 + 4000 * 6e-6 + 500 * 15e-6
    assert figure("cost_usd", trace) == pytest.approx(dollars)
    assert figure("side_cost_usd", trace) == 0


CLASSES = ("cost_input_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd")


def test_the_bill_is_told_by_class(kit: Any) -> None:
    trace = kit.trace_of(Usage(1000, 2000, 3000, 4000, 500), model="claude-sonnet-4-5")
    dollars = [1000 * 3e-6, 2000 * 0.3e-6, 3000 * 3.75e-6 + 4000 * 6e-6, 500 * 15e-6]
    assert [figure(name, trace) for name in CLASSES] == pytest.approx(dollars)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-pro", "self-hosted-70b"])
def test_classes_and_side_calls_add_up_to_the_bill(model: str, kit: Any) -> None:
    usages = [Usage(900, 2000, 300, 0, 50, 7), Usage(0, 210_000, 0, 40, 9), Usage()]
    extra = side(model, Usage(uncached=1000, output=100))
    trace = kit.trace_of(*usages, model=model, side=[(), extra, ()])
    parts = [figure(name, trace) or 0.0 for name in (*CLASSES, "side_cost_usd")]
    assert sum(parts) == pytest.approx(figure("cost_usd", trace), rel=1e-12)


def test_side_calls_are_part_of_the_bill(kit: Any) -> None:
    none, some = (), side("claude-sonnet-4-5", Usage(uncached=1000, output=100))
    trace = kit.trace_of(Usage(output=10), Usage(), model="claude-sonnet-4-5", side=[none, some])
    assert figure("side_cost_usd", trace) == pytest.approx(1000 * 3e-6 + 100 * 15e-6)
    assert figure("cost_usd", trace) == pytest.approx(1000 * 3e-6 + 110 * 15e-6)


def test_tokens_are_summed_by_class_side_calls_among_them(kit: Any) -> None:
    extra = side(kit.model, Usage(1, 10, 100, 1000, 10_000))
    trace = kit.trace_of(Usage(2, 20, 200, 2000, 20_000), Usage(), side=[(), extra * 2])
    assert figure("tokens_uncached", trace) == 4
    assert figure("tokens_cache_read", trace) == 40
    assert figure("tokens_cache_write", trace) == 4400
    assert figure("tokens_output", trace) == 40_000


def test_the_peak_is_the_largest_prompt_of_the_script(kit: Any) -> None:
    extra = side(kit.model, Usage(uncached=9999))
    trace = kit.trace_of(Usage(uncached=5, output=900), Usage(1, 2, 3, 4), side=[extra, ()])
    assert figure("prompt_tokens_peak", trace) == 10


def test_reuse_is_the_share_that_was_read(kit: Any) -> None:
    trace = kit.trace_of(
        kit.usage(cache_misses=100), kit.usage(read=90, cache_misses=10), Usage(uncached=100)
    )
    assert figure("prefix_reuse", trace) == pytest.approx(90 / 300)


@pytest.mark.parametrize(
    "name", ["prefix_reuse", "prompt_tokens_peak", "over_window", "write_spike"]
)
def test_without_calls_there_is_no_figure(name: str, kit: Any) -> None:
    assert figure(name, kit.trace_of()) is None


def test_without_prompt_tokens_there_is_no_reuse(kit: Any) -> None:
    assert figure("prefix_reuse", kit.trace_of(Usage(output=5))) is None


@pytest.mark.parametrize(
    ("before", "read", "cache_misses", "rewritten"),
    [
        (100, 100, 20, 0),  # the last prompt was read, and more came
        (100, 100, 0, 0),
        (100, 0, 120, 100),  # everything again
        (100, 30, 90, 70),  # from the middle on
        (100, 30, 20, 20),  # it has shrunk: no more was written than that
        (100, 110, 20, 0),  # more was read than the last prompt held
    ],
)
def test_what_was_sent_and_is_fresh_was_rewritten(
    before: int, read: int, cache_misses: int, rewritten: int, kit: Any
) -> None:
    trace = kit.trace_of(
        kit.usage(cache_misses=before), kit.usage(read=read, cache_misses=cache_misses)
    )
    assert figure("tokens_rewritten", trace) == rewritten


def test_the_first_call_rewrites_nothing(kit: Any) -> None:
    assert figure("tokens_rewritten", kit.trace_of(kit.usage(cache_misses=100))) == 0
    assert figure("tokens_rewritten", kit.trace_of()) == 0


def test_rewriting_costs_the_same_where_writes_are_free(kit: Any) -> None:
    trace = kit.trace_of(Usage(uncached=100), Usage(uncached=120))
    assert figure("tokens_rewritten", trace) == 100


# ------------------------------------------------------------------------------------------ spikes


def missing_calls(kit: Any, *tokens: int, compactions: tuple[int, ...]) -> Any:
    return kit.trace_of(*(kit.usage(cache_misses=n) for n in tokens), compactions=compactions)


def test_a_spike_stands_on_the_median_of_the_five_calls_before(kit: Any) -> None:
    trace = missing_calls(kit, 9000, 1, 5, 3, 2, 4, 103, compactions=(6,))
    assert RunData(trace, None).spikes == [(103, 3)]
    assert figure("write_spike", trace) == figure("write_spike_max", trace) == 100
    assert figure("write_spike_ratio", trace) == pytest.approx(103 / 3)


def test_with_fewer_calls_before_those_are_taken(kit: Any) -> None:
    assert figure("write_spike", missing_calls(kit, 10, 50, compactions=(1,))) == 40
    assert figure("write_spike", missing_calls(kit, 10, 20, 50, compactions=(2,))) == 35


def test_of_several_spikes_the_median_and_the_worst_are_told(kit: Any) -> None:
    trace = missing_calls(kit, 10, 30, 10, 10, 110, 10, 10, 10, 20, compactions=(1, 4, 8))
    assert figure("write_spike", trace) == 20
    assert figure("write_spike_max", trace) == 100
    assert figure("write_spike_ratio", trace) == 3
    assert figure("write_spike_ratio_max", trace) == 11


def test_a_base_of_nothing_has_no_ratio(kit: Any) -> None:
    trace = missing_calls(kit, 0, 0, 0, 50, compactions=(3,))
    assert figure("write_spike", trace) == 50
    assert figure("write_spike_ratio", trace) is None
    assert figure("write_spike_ratio_max", trace) is None


def test_a_ratio_is_told_of_those_that_have_one(kit: Any) -> None:
    trace = missing_calls(kit, 0, 50, 50, 50, 200, compactions=(1, 4))
    assert figure("write_spike_ratio", trace) == 4


def test_no_compaction_no_spike(kit: Any) -> None:
    trace = missing_calls(kit, 10, 1000, 10, compactions=())
    for name in ("write_spike", "write_spike_max", "write_spike_ratio", "write_spike_ratio_max"):
        assert figure(name, trace) is None


def test_a_smaller_prompt_may_make_a_spike_below_the_ground(kit: Any) -> None:
    assert figure("write_spike", missing_calls(kit, 100, 40, compactions=(1,))) == -60


TOKENS = st.integers(0, 10_000)
USAGES = st.lists(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS), max_size=12)


@given(usages=USAGES, data=st.data())
def test_figures_are_those_of_a_plain_count(usages: list[Usage], data: Any, kit: Any) -> None:
    acts = data.draw(st.sets(st.integers(1, max(1, len(usages) - 1)), max_size=4))
    trace = kit.trace_of(*usages, compactions=acts)
    cache_misses = [u.uncached + u.cache_write_5m + u.cache_write_1h for u in usages]
    rewritten = 0
    for i in range(1, len(usages)):
        gone = max(0, usages[i - 1].prompt - usages[i].cache_read)
        rewritten += min(gone, cache_misses[i])
    assert figure("tokens_rewritten", trace) == rewritten
    peaks = [
        cache_misses[i] - median(cache_misses[max(0, i - 5) : i])
        for i in sorted(acts)
        if i < len(usages)
    ]
    assert figure("write_spike", trace) == (median(peaks) if peaks else None)
    assert figure("write_spike_max", trace) == (max(peaks) if peaks else None)
    total = sum(u.prompt for u in usages)
    reuse = figure("prefix_reuse", trace)
    assert reuse == (pytest.approx(sum(u.cache_read for u in usages) / total) if total else None)


@settings(max_examples=40)
@given(data=st.data())
def test_a_replay_never_reads_and_pays_for_the_same_token(kit: Any, data: st.DataObject) -> None:
    script = data.draw(kit.stories())
    trace = kit.replayed(script, kit.whim(), seed=data.draw(st.integers(0, 99)))
    figures = measure(trace, script)
    cache_misses = figures["tokens_uncached"] + figures["tokens_cache_write"]
    assert cache_misses == sum(sum(step.causes.values()) for step in trace.steps)
    assert figures["tokens_rewritten"] <= cache_misses
    if trace.steps:
        assert 0 <= figures["prefix_reuse"] <= 1


@settings(max_examples=40)
@given(data=st.data())
def test_keeping_everything_writes_nothing_twice_while_the_cache_lives(
    kit: Any, data: st.DataObject
) -> None:
    story = kit.Story().user(kit.prose(1100))
    for _ in range(data.draw(st.integers(1, 8))):
        story.acts().result(kit.prose(data.draw(st.integers(1, 300))))
    script = story.answer("done").script()
    assert figure("tokens_rewritten", kit.replayed(script, kit.keep), script) == 0


# ------------------------------------------------------------------------------ the recorded bill

LOGGED = [Usage(10, 0, 3_000, 0, 40), Usage(5, 3_000, 500, 200, 60)]


def logged(kit: Any, story: Any, *, model: str, usages: Any = LOGGED) -> RunData:
    """What a script's log says beside a replay under a model."""
    for usage in usages:
        story.user(kit.prose(60)).answer("ok", usage=usage, model="claude-sonnet-4-5")
    script = story.script()
    return RunData(kit.replayed(script, kit.keep, model=model), script)


def test_the_recorded_bill_is_that_of_the_logs_own_usage(kit: Any, story: Any) -> None:
    data = logged(kit, story, model="recorded")
    prompts = 15 * 3e-6 + 3_000 * 0.3e-6 + 3_500 * 3.75e-6 + 200 * 6e-6
    assert METRICS["recorded_input_usd"].compute(data) == pytest.approx(prompts)
    assert METRICS["recorded_usd"].compute(data) == pytest.approx(prompts + 100 * 15e-6)


def test_at_other_prices_or_without_all_usage_there_is_none(kit: Any, story: Any) -> None:
    other = logged(kit, story, model="claude-opus-4-5")
    assert METRICS["recorded_usd"].compute(other) is None
    half = logged(kit, kit.Story(), model="recorded", usages=[LOGGED[0], None])
    assert METRICS["recorded_usd"].compute(half) is None
