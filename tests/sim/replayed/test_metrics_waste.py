"""What goes beyond reading and appending: each figure on calls that one can add up by hand."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache.causes import ORDINARY
from compactlab.sim.cache.prompt import Place
from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import METRICS, RunData, measure
from compactlab.sim.models.rates import PRESETS, read_instead
from compactlab.sim.replay.strategy import Lifetime
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.sim.replay.trace import SideCall

SONNET = "claude-sonnet-4-5"
# Dollars per million tokens: input 3, read 0.3, written for five minutes 3.75, for an hour 6.
MILLION = 1e-6


def figure(name: str, trace: Any) -> float | None:
    return METRICS[name].compute(RunData(trace, None))  # type: ignore[arg-type]


def told(kit: Any, *calls: tuple[Usage, dict[str, int]], model: str = SONNET, **more: Any) -> Any:
    """A trace of calls with these usages and causes; each goes on from the one before."""
    trace = kit.trace_of(*(usage for usage, _ in calls), model=model, **more)
    trace.steps = [
        msgspec.structs.replace(step, causes=causes, place=Place(2 * n + 1, 2 * n - 1, kept))
        for n, (step, (_, causes), kept) in enumerate(
            zip(trace.steps, calls, [0, *(u.prompt for u, _ in calls)], strict=False)
        )
    ]
    return trace


def summary(number: int, usage: Usage, purpose: str = "summary", **causes: int) -> SideCall:
    """A side call that was made before the call of that index."""
    return SideCall(purpose, SONNET, 1_760_000_000.0, usage, causes, place=Place(2 * number))


@pytest.mark.parametrize(
    ("calls", "side", "model", "expected"),
    [
        # What expired is written again and could have been read.
        ([(Usage(cache_write_5m=1200), {"ttl_expired": 1000, "append": 200})], [()], SONNET,
         {"avoidable_cost_usd": 1000 * 3.45 * MILLION}),
        # 300 tokens moved: 250 were written for an hour, the other 50 for five minutes.
        ([(Usage(cache_read=7, cache_write_1h=250, cache_write_5m=100, uncached=50),
           {"compaction": 300, "append": 100})], [()], SONNET,
         {"avoidable_cost_usd": (250 * 5.7 + 50 * 3.45) * MILLION}),
        ([(Usage(cache_write_5m=10), {"cold_start": 10})],
         [(summary(0, Usage(uncached=500, output=20), compaction_call=500),)], SONNET,
         {"avoidable_cost_usd": 500 * 2.7 * MILLION, "cache_miss_compaction_call": 500,
          "cache_miss_cold_start": 10}),
        # Where nothing is stored, nothing could have been read.
        ([(Usage(uncached=1200), {"no_cache": 1000, "append": 200})], [()], f"{SONNET}@none",
         {"avoidable_cost_usd": 0, "cache_miss_no_cache": 1000}),
        # Summaries are told from other side calls.
        ([(Usage(), {})],
         [(summary(0, Usage(uncached=500, output=20)), summary(0, Usage(uncached=900), "flush"))],
         SONNET, {"summary_cost_usd": (500 * 3 + 20 * 15) * MILLION, "tokens_summary": 520}),
        # A write that nobody reads could have been plain input: of the first call's 500, 400 were
        # for five minutes at 0.75 above, 100 for an hour at 3.
        ([(Usage(cache_write_1h=600, cache_write_5m=400), {"cold_start": 1000}),
          (Usage(cache_read=500, cache_write_5m=200), {"append": 200})], [(), ()], SONNET,
         {"tokens_dead_writes": 500 + 200, "dead_writes_usd": (600 * 0.75 + 100 * 3) * MILLION}),
        # Nothing was compacted, so there is nothing to pay back.
        ([(Usage(cache_read=10), {})], [()], SONNET,
         {"spike_avoidable_cost_usd": 0, "break_even_calls": None, "paid_back": None}),
    ],
)  # fmt: skip
def test_what_goes_beyond_reading_and_appending(calls, side, model, expected, kit):
    trace = told(kit, *calls, model=model, side=side)
    found = {name: figure(name, trace) for name in expected}
    assert found == {n: None if v is None else pytest.approx(v) for n, v in expected.items()}


def compacted(kit: Any, later: int, after: int = 2000) -> Any:
    """10,000 tokens become `after`: 500 are read, the rest is fresh, for a summary of 0.0045 $."""
    grown = Usage(cache_read=10_000), {}
    cut = Usage(cache_read=500, cache_write_5m=after - 500), {"compaction": after - 500}
    calm = Usage(cache_read=after), {}
    ask = summary(1, Usage(uncached=1000, output=100))
    side = [(), (ask,), *[()] * later]
    return told(kit, grown, cut, *[calm] * later, side=side, compactions=(1,))


def test_a_compaction_pays_for_itself_by_what_later_calls_need_not_read(kit):
    avoidable_cost, ask, saved = 1500 * 3.45 * MILLION, 0.0045, 8000 * 0.3 * MILLION
    assert (avoidable_cost + ask) / saved == pytest.approx(4.03, abs=0.01)
    for later, paid in [(2, 0.0), (3, 0.0), (4, 1.0)]:  # and the compaction's own call
        trace = compacted(kit, later)
        assert figure("spike_avoidable_cost_usd", trace) == pytest.approx(avoidable_cost)
        assert figure("break_even_calls", trace) == pytest.approx((avoidable_cost + ask) / saved)
        assert figure("paid_back", trace) == paid


def test_what_saves_nothing_never_pays(kit):
    trace = compacted(kit, 9, after=10_500)
    assert figure("break_even_calls", trace) == math.inf
    assert figure("paid_back", trace) == 0


def test_expired_tokens_are_not_the_compactions_to_pay(kit):
    grown = Usage(cache_read=10_000), {}
    cut = Usage(cache_write_5m=2000), {"ttl_expired": 500, "compaction": 1500}
    trace = told(kit, grown, cut, compactions=(1,))
    assert figure("spike_avoidable_cost_usd", trace) == pytest.approx(1500 * 3.45 * MILLION)


@pytest.mark.parametrize("kept", [1, 3])
def test_what_is_removed_is_what_keeping_everything_would_have_sent_more(kit, kept):
    story = kit.Story()
    for number in range(5):
        story.user(kit.prose(300 + number)).answer(kit.prose(7))
    script = story.script()
    cut = kit.at(7, lambda messages: messages[-kept:])
    trace, full = kit.replayed(script, cut), kit.replayed(script, kit.keep)
    (only,) = RunData(trace, script).paybacks
    prompts = [RunData(each, script).prompts for each in (trace, full)]
    assert only.removed == prompts[1][only.call] - prompts[0][only.call]
    assert only.calls == 2


def test_the_proxy_is_the_prefill_of_what_is_fresh_behind_what_is_read(kit):
    calls = [(Usage(cache_read=1000 * n, cache_write_5m=100 * n), {}) for n in range(1, 21)]
    trace, seconds = told(kit, *calls), PRESETS["70b"].prefill_seconds
    assert figure("ttft_proxy_p50", trace) == seconds(1000, 10_000)
    assert figure("ttft_proxy_p95", trace) == seconds(1900, 19_000)
    assert figure("ttft_proxy_p50", kit.trace_of()) is None


def test_who_reads_everything_waits_for_nothing(kit):
    assert figure("ttft_proxy_p95", told(kit, (Usage(cache_read=10_000), {}))) == 0


def restless(kit: Any, lifetime: Any) -> Any:
    """A strategy that asks for summaries, of either kind, and throws messages away."""

    def do(view: Any, host: Any) -> Any:
        rng = host.rng(f"{len(host.log)}")
        if len(view.messages) < 2 or rng.random() < 0.5:
            return view
        rides = rng.choice(["live", "fresh"])
        told = {"instructions": "sum up", "rides": rides}
        host.summarize(view, SummaryRequest(tuple(view.messages[:-1]), 1000, **told))
        return view.with_messages(view.messages[rng.randrange(len(view.messages)) :])

    return kit.act(do, lifetime=lifetime, phases=(Phase.BEFORE_CALL, Phase.AFTER_TURN))


@settings(max_examples=40)
@given(data=st.data(), lifetime=st.sampled_from(list(Lifetime)))
def test_laws_of_any_replay(kit, data, lifetime):
    script, seed = data.draw(kit.stories()), data.draw(st.integers(0, 99))
    how = {"seed": seed, "summarizer": kit.Echo(), "model": SONNET}
    trace = kit.replayed(script, restless(kit, lifetime), **how)
    reading = RunData(trace, script)
    assert [each.place.number for each in reading.requests] == list(range(len(reading.requests)))
    for request, dead in zip(reading.requests, reading.dead, strict=True):
        usage = request.usage
        assert sum(request.causes.values()) == usage.prompt - usage.cache_read
        assert 0 <= dead <= usage.cache_write
    figures = measure(trace, script)
    cache_misses = {
        name: value for name, value in figures.items() if name.startswith("cache_miss_")
    }
    assert sum(cache_misses.values()) == figures["tokens_uncached"] + figures["tokens_cache_write"]
    assert figures["avoidable_cost_usd"] >= figures["spike_avoidable_cost_usd"] - 1e-12
    assert figures["spike_avoidable_cost_usd"] >= -1e-12
    assert figures["dead_writes_usd"] >= 0
    assert figures["summary_cost_usd"] <= figures["side_cost_usd"] + 1e-12
    again = measure(kit.replayed(script, restless(kit, lifetime), **how), script)
    assert again == figures


@given(kit_stories=st.data())
@settings(max_examples=30)
def test_keeping_everything_pays_no_premium_while_the_cache_lives(kit, kit_stories):
    story = kit.Story().user(kit.prose(1100))
    for _ in range(kit_stories.draw(st.integers(1, 8))):
        story.acts().result(kit.prose(kit_stories.draw(st.integers(1, 300))))
    trace = kit.replayed(story.answer("done").script(), kit.keep)
    assert figure("avoidable_cost_usd", trace) == 0
    assert figure("tokens_dead_writes", trace) == trace.steps[-1].usage.cache_write


TOKENS = st.integers(0, 5000)


@given(
    st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS),
    st.lists(st.tuples(st.sampled_from(sorted(ORDINARY)), TOKENS), max_size=4),
)
def test_reading_instead_moves_tokens_and_loses_none(usage, stretches):
    spans, edge = [], 0
    for _, size in stretches:
        spans.append((edge, edge + size // 2))
        edge += size
    moved = read_instead(usage, spans)
    cache_misses = usage.prompt - usage.cache_read
    expected = sum(len(range(start, min(end, cache_misses))) for start, end in spans)
    assert (moved.prompt, moved.output) == (usage.prompt, usage.output)
    assert moved.cache_read - usage.cache_read == expected
    order = ("cache_write_1h", "cache_write_5m", "uncached")
    classes = [name for name in order for _ in range(getattr(usage, name))]
    left = [name for at, name in enumerate(classes) if not any(a <= at < b for a, b in spans)]
    assert all(getattr(moved, name) == left.count(name) for name in order)
