"""The figures of cost, each on calls that one can add up by hand."""

from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Usage
from compactlab.sim.metrics import METRICS, RunData, measure
from compactlab.sim.replay.trace import SideCall


def figure(name: str, trace: Any, script: Any = None) -> float | None:
    return METRICS[name].compute(RunData(trace, script))


def side(usage: Usage, model: str = "claude-sonnet-4-5") -> tuple[SideCall, ...]:
    return (SideCall("summary", model, 1_760_000_000.0, usage, {}),)


# Dollars of claude-sonnet-4-5 per million tokens: input 3, read 0.3, written for five minutes 3.75,
# for an hour 6, output 15 (September 2025).
EVERY = Usage(1000, 2000, 3000, 4000, 500)
ASKED = side(Usage(uncached=1000, output=100))
MANY = side(Usage(1, 10, 100, 1000, 10_000))


@pytest.mark.parametrize(
    ("usages", "sides", "expected"),
    [
        ([EVERY], [()], {
            "cost_input_usd": 1000 * 3e-6, "cost_read_usd": 2000 * 0.3e-6,
            "cost_write_usd": 3000 * 3.75e-6 + 4000 * 6e-6, "cost_output_usd": 500 * 15e-6,
            "cost_usd": 3e-3 + 0.6e-3 + 11.25e-3 + 24e-3 + 7.5e-3, "side_cost_usd": 0,
        }),
        # Side calls are part of the bill, and of the tokens by class.
        ([Usage(output=10), Usage()], [(), ASKED], {
            "side_cost_usd": 1000 * 3e-6 + 100 * 15e-6, "cost_usd": 1000 * 3e-6 + 110 * 15e-6,
        }),
        ([Usage(2, 20, 200, 2000, 20_000), Usage()], [(), MANY * 2], {
            "tokens_uncached": 4, "tokens_cache_read": 40, "tokens_cache_write": 4400,
            "tokens_output": 40_000,
        }),
        # The peak is the largest prompt of the script.
        ([Usage(uncached=5, output=900), Usage(1, 2, 3, 4)], [side(Usage(uncached=9999)), ()],
         {"prompt_tokens_peak": 10}),
        # What was read, over all prompt tokens.
        ([Usage(cache_write_5m=100), Usage(cache_read=90, cache_write_5m=10), Usage(uncached=100)],
         [()] * 3, {"prefix_reuse": 90 / 300}),
        ([Usage(output=5)], [()], {"prefix_reuse": None}),
        ([], [], {"prefix_reuse": None, "prompt_tokens_peak": None, "over_window": None,
                  "write_spike": None, "tokens_rewritten": 0}),
    ],
)  # fmt: skip
def test_what_calls_cost(usages, sides, expected, kit):
    trace = kit.trace_of(*usages, model="claude-sonnet-4-5", side=sides)
    found = {name: figure(name, trace) for name in expected}
    assert found == {n: None if v is None else pytest.approx(v) for n, v in expected.items()}


CLASSES = ("cost_input_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd")


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-pro", "self-hosted-70b"])
def test_classes_and_side_calls_add_up_to_the_bill(model, kit):
    usages = [Usage(900, 2000, 300, 0, 50, 7), Usage(0, 210_000, 0, 40, 9), Usage()]
    extra = side(Usage(uncached=1000, output=100), model)
    trace = kit.trace_of(*usages, model=model, side=[(), extra, ()])
    parts = [figure(name, trace) or 0.0 for name in (*CLASSES, "side_cost_usd")]
    assert sum(parts) == pytest.approx(figure("cost_usd", trace), rel=1e-12)


@pytest.mark.parametrize(
    ("usages", "rewritten"),
    [
        ([Usage(cache_write_5m=100)], 0),  # the first call rewrites nothing
        # The last prompt was read, and more came, or not.
        ([Usage(cache_write_5m=100), Usage(cache_read=100, cache_write_5m=20)], 0),
        ([Usage(cache_write_5m=100), Usage(cache_read=100)], 0),
        ([Usage(cache_write_5m=100), Usage(cache_write_5m=120)], 100),  # everything again
        ([Usage(uncached=100), Usage(uncached=120)], 100),  # the same where writes are free
        # From the middle on; if it has shrunk, no more was written than that.
        ([Usage(cache_write_5m=100), Usage(cache_read=30, cache_write_5m=90)], 70),
        ([Usage(cache_write_5m=100), Usage(cache_read=30, cache_write_5m=20)], 20),
        # More was read than the last prompt held.
        ([Usage(cache_write_5m=100), Usage(cache_read=110, cache_write_5m=20)], 0),
    ],
)
def test_what_was_sent_and_is_fresh_was_rewritten(usages, rewritten, kit):
    assert figure("tokens_rewritten", kit.trace_of(*usages)) == rewritten


SPIKES = ("write_spike", "write_spike_max", "write_spike_ratio", "write_spike_ratio_max")


@pytest.mark.parametrize(
    ("tokens", "compactions", "spikes"),
    [
        # On the median of the five calls before; with fewer, of those.
        ([9000, 1, 5, 3, 2, 4, 103], (6,), (100, 100, 103 / 3, 103 / 3)),
        ([10, 50], (1,), (40, 40, 5, 5)),
        ([10, 20, 50], (2,), (35, 35, 50 / 15, 50 / 15)),
        # Of several, the median and the worst.
        ([10, 30, 10, 10, 110, 10, 10, 10, 20], (1, 4, 8), (20, 100, 3, 11)),
        # A base of nothing has no ratio; it is told of those that have one.
        ([0, 0, 0, 50], (3,), (50, 50, None, None)),
        ([0, 50, 50, 50, 200], (1, 4), (100, 150, 4, 4)),
        ([10, 1000, 10], (), (None, None, None, None)),
        # A smaller prompt may make one below the ground.
        ([100, 40], (1,), (-60, -60, 0.4, 0.4)),
    ],
)
def test_spikes(tokens, compactions, spikes, kit):
    trace = kit.trace_of(*(kit.usage(cache_misses=n) for n in tokens), compactions=compactions)
    expected = [None if spike is None else pytest.approx(spike) for spike in spikes]
    assert [figure(name, trace) for name in SPIKES] == expected


TOKENS = st.integers(0, 10_000)
USAGES = st.lists(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS), max_size=12)


@given(usages=USAGES, data=st.data())
def test_figures_are_those_of_a_plain_count(usages, data, kit):
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
def test_a_replay_never_reads_and_pays_for_the_same_token(kit, data):
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
def test_keeping_everything_writes_nothing_twice_while_the_cache_lives(kit, data):
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


def test_the_recorded_bill_is_that_of_the_logs_own_usage(kit, story):
    data = logged(kit, story, model="recorded")
    prompts = 15 * 3e-6 + 3_000 * 0.3e-6 + 3_500 * 3.75e-6 + 200 * 6e-6
    assert METRICS["recorded_input_usd"].compute(data) == pytest.approx(prompts)
    assert METRICS["recorded_usd"].compute(data) == pytest.approx(prompts + 100 * 15e-6)


def test_at_other_prices_or_without_all_usage_there_is_none(kit, story):
    other = logged(kit, story, model="claude-opus-4-5")
    assert METRICS["recorded_usd"].compute(other) is None
    half = logged(kit, kit.Story(), model="recorded", usages=[LOGGED[0], None])
    assert METRICS["recorded_usd"].compute(half) is None
