"""Figures that look at whole contexts, against naive recounts, and laws that they keep."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.metrics.context import MOMENTS, moments, spread
from compactlab.sim.metrics.continuity import kendall
from compactlab.sim.metrics.drift import divergence
from tests.sim.replayed.naive_contexts import Naive, diverged, named, tau, tools
from tests.sim.replayed.rewritten import replays


def same(one: float | None, other: float | None) -> bool:
    return one == other if one is None or other is None else one == pytest.approx(other, abs=1e-9)


@settings(max_examples=150)
@given(data=st.data())
def test_all_is_as_in_a_naive_recount(kit, data):
    script, trace = data.draw(replays(kit))
    naive, reading = Naive(trace, script), RunData(trace, script)
    assert len(naive.compactions) <= MOMENTS
    messages, tokens = naive.tails()
    requests, pending = naive.missing()
    expected = {
        "verbatim_tail_messages": messages,
        "verbatim_tail_tokens": tokens,
        "verbatim_11_20": naive.by_age(10, 20),
        "verbatim_21_50": naive.by_age(20, 50),
        "verbatim_51_100": naive.by_age(50, 100),
        "reference_closure": naive.closure(),
        "order_fidelity": naive.order(),
        "drift_words": naive.turned(),
        "drift_identifiers": naive.drifts(named),
        "drift_tools": naive.drifts(tools),
        "novelty": naive.novelty(),
        "request_missing": requests,
        "pending_missing": pending,
    }
    for name, value in expected.items():
        assert same(METRICS[name].compute(reading), value), name


@given(st.lists(st.integers(0, 12), max_size=30))
def test_kendall_is_that_of_all_pairs(places):
    assert same(kendall(places), tau(places))


@given(st.dictionaries(st.text("abc", max_size=2), st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_divergence_is_that_of_its_definition(counts):
    one, other = (Counter({k: n[side] for k, n in counts.items() if n[side]}) for side in (0, 1))
    assert same(divergence(counts.values()), diverged(one, other))


@given(st.integers(0, 200), st.integers(2, 30))
def test_some_of_many_are_spread_evenly(count, most):
    chosen = spread(range(count), most)
    assert len(chosen) == min(count, most)
    gaps = {after - before for before, after in pairwise(chosen)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
    assert count == 0 or (chosen[0], chosen[-1]) == (0, count - 1)


def test_of_many_compactions_some_are_looked_at(kit, story):
    story.user("go")
    for _ in range(80):
        story.acts().result("ok")
    script = story.answer("done").script()
    window = kit.act(lambda view, host: view.with_messages(view.messages[-1:]))
    reading = RunData(kit.replayed(script, window), script)
    looked_at = moments(reading)
    assert METRICS["compactions"].compute(reading) == 80
    assert len(looked_at) == MOMENTS
    assert [m.step.answer for m in looked_at[:: MOMENTS - 1]] == ["a2", "a81"]
    assert kit.ids_of(looked_at[-1].before) == "r79 a80 r80"


SHARES = ("forward_need_1", "forward_need", "forward_need_20", "structural_validity")
OF_COMPACTIONS = ("reference_closure", "order_fidelity", "verbatim_recency_1", "verbatim_11_20")
DRIFTS = ("drift_words", "drift_identifiers", "drift_tools", "novelty")
COUNTS = ("rejected_calls", "request_missing", "pending_missing")


def sound(kit: Any, errands: int = 12) -> Any:
    """A script without a fault of its own."""
    story = kit.Story()
    for number in range(errands):
        story.user(f"see src/m{number // 3}.py").acts(f'{{"path": "src/m{number // 2}.py"}}')
        story.result(f"AB-12{number:02} fails").answer(f"AB-12{number // 2:02} and parse_args")
    return story.script()


def test_who_keeps_everything_has_everything(kit):
    script = sound(kit)
    reading = RunData(kit.replayed(script, kit.keep), script)
    assert all(METRICS[name].compute(reading) == 1 for name in (*SHARES, "continuity_minimum"))
    assert all(METRICS[name].compute(reading) is None for name in (*OF_COMPACTIONS, *DRIFTS))
    assert all(METRICS[name].compute(reading) == 0 for name in COUNTS)


@settings(max_examples=50)
@given(data=st.data())
def test_who_keeps_everything_misses_nothing_on_any_script(kit, data):
    script = data.draw(kit.stories())
    reading = RunData(kit.replayed(script, kit.keep), script)
    assert METRICS["request_missing"].compute(reading) == 0
    assert METRICS["pending_missing"].compute(reading) == 0
    assert METRICS["continuity_minimum"].compute(reading) == pytest.approx(
        METRICS["structural_validity"].compute(reading)
    )


@settings(max_examples=40)
@given(fewer=st.integers(1, 40), more=st.integers(0, 20), at=st.sampled_from([15, 31, 47]))
def test_a_longer_tail_never_says_less(kit, fewer, more, at):
    script = sound(kit)
    small, large = (
        RunData(kit.replayed(script, kit.at(at, lambda m, n=n: m[-n:])), script)  # type: ignore[misc]
        for n in (fewer, fewer + more)
    )
    for name, metric in METRICS.items():
        if name.startswith("verbatim_"):
            less, much = metric.compute(small), metric.compute(large)
            assert less is None or much is None or much >= less, name


@settings(max_examples=40)
@given(data=st.data())
def test_what_holds_more_never_closes_less(kit, data):
    """The same tail, and before it some of the messages, or these and others."""
    script = sound(kit)
    some = data.draw(st.sets(st.integers(0, 36)))
    others = data.draw(st.sets(st.integers(0, 36)))

    def keeping(wanted: set[int]) -> RunData:
        strategy = kit.at(47, lambda m: [*(m[n] for n in sorted(wanted)), *m[-10:]])
        return RunData(kit.replayed(script, strategy), script)

    small, large = keeping(some), keeping(some | others)
    assert METRICS["reference_closure"].compute(small) is not None
    for name in ("reference_closure", "forward_need_1", "forward_need", "forward_need_20"):
        less, much = METRICS[name].compute(small), METRICS[name].compute(large)
        assert less is None or much is None or much >= less, name
