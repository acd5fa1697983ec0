"""What compaction costs: the stories that compactlab is there to tell."""

import pytest

from compactlab.sim.metrics import measure
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy

SUMMARISING = (
    "auto_compact(reserve_tokens=10000, reserve_tokens_floor=0, keep_recent_tokens=6000{more})"
)
WINDOW = 40_000


@pytest.fixture(scope="module")
def session(tell):
    """Two hundred calls, ten seconds apart, of 250 tokens each on top of a small system prompt."""
    return tell("ucra" * 100, size=500, system=1500)


@pytest.fixture(scope="module")
def replayed(session, play):
    """A strategy's trace over the session and its figures."""
    known = {}

    def by(spec: str):
        if spec not in known:
            trace = play(session, find_strategy(spec), window=WINDOW)
            known[spec] = trace, measure(trace, session)
        return known[spec]

    return by


def test_keeping_everything_reuses_nearly_all_of_its_prefix(replayed):
    _, figures = replayed("keep_all")
    assert figures["prefix_reuse"] > 0.95


def test_a_sliding_window_reuses_less_than_half_once_it_is_full(replayed):
    trace, _ = replayed("sliding_window(keep=20)")
    full = [step.usage for step in trace.steps if len(step.log) > 20]
    assert len(full) > 180
    assert sum(usage.cache_read for usage in full) < 0.5 * sum(usage.prompt for usage in full)


def test_and_the_bill_says_so(replayed):
    """Dollars per prompt token, answers not counted: both write the same answers."""

    def per_token(spec: str) -> float:
        trace, figures = replayed(spec)
        output = figures["tokens_output"] * 15e-6
        return (figures["cost_usd"] - output) / sum(step.usage.prompt for step in trace.steps)

    assert per_token("sliding_window(keep=20)") > 3 * per_token("keep_all")


def test_recovery_rewrites_the_prompt_twice_for_every_compaction(replayed):
    alone, _ = replayed(SUMMARISING.format(more=""))
    recovering, _ = replayed(SUMMARISING.format(more="") + " + context_recovery")
    compacted = [n for n, step in enumerate(recovering.steps) if step.compaction]
    rewritten = [n for n, step in enumerate(recovering.steps) if step.rewrite]
    assert len(compacted) > 1
    assert sum(step.rewrite for step in alone.steps) == sum(step.compaction for step in alone.steps)
    last = len(recovering.steps) - 1
    for compaction in compacted:
        with_block = [n for n in rewritten if compaction <= n and recovering.steps[n].system[1:]]
        assert with_block[0] - compaction <= 2
        assert with_block[0] + 2 in rewritten or with_block[0] + 2 > last


def test_with_the_block_nothing_at_all_is_read(replayed):
    recovering, _ = replayed(SUMMARISING.format(more="") + " + context_recovery")
    first = [step for step in recovering.steps if step.rewrite and step.system[1:]]
    assert first
    assert {step.usage.cache_read for step in first} == {0}


@pytest.mark.parametrize(("gap", "reads"), [(10, True), (200, False)])
def test_without_it_again_no_more_is_read_than_the_system_prompt_and_that_only_while_it_lives(
    tell, play, gap, reads
):
    """What the compaction made was never sent without the block before."""
    story = tell("ucra" * 60, size=500, system=1500, gap=gap)
    strategy = find_strategy(SUMMARISING.format(more="") + " + context_recovery")
    steps = play(story, strategy, window=WINDOW).steps
    block = next(n for n, step in enumerate(steps) if step.system[1:])
    assert steps[block].compaction
    after = next(step for step in steps[block:] if not step.system[1:])
    assert after.usage.cache_read < 0.25 * after.usage.prompt
    assert (after.usage.cache_read > 0) is reads
    assert after.causes["system_changed"] > 0.7 * after.usage.prompt


def test_a_summary_that_rides_on_the_live_prompt_costs_less(replayed):
    (_, live), (_, fresh) = (
        replayed(SUMMARISING.format(more=f", rides='{rides}'")) for rides in ("live", "fresh")
    )
    assert 0 < live["side_cost_usd"] < 0.6 * fresh["side_cost_usd"]
    assert live["compactions"] == fresh["compactions"] > 1


def test_fresh_and_read_make_the_prompt_and_every_fresh_token_has_its_cause(replayed):
    for spec in ("keep_all", "sliding_window(keep=20)", SUMMARISING.format(more="")):
        for step in replayed(spec)[0].steps:
            fresh = step.usage.prompt - step.usage.cache_read
            assert sum(step.causes.values()) == fresh
            assert "unexplained" not in step.causes


def test_a_pause_longer_than_the_cache_lives_makes_keeping_everything_dear(tell, play):
    story = tell("ua" * 20 + "~" + "ua", size=2000, system=2000)
    *_, last = play(story, find_strategy("keep_all")).steps
    assert last.usage.cache_read == 0
    assert last.causes["ttl_expired"] > 0.9 * last.usage.prompt


def test_without_a_cache_the_shorter_prompt_is_the_cheaper_one(session, play):
    costs = []
    for spec in ("keep_all", "sliding_window(keep=20)"):
        trace = record(session, find_strategy(spec), Options("claude-sonnet-4-5@none"))
        costs.append(measure(trace, session)["cost_usd"])
    assert costs[1] < 0.5 * costs[0]
