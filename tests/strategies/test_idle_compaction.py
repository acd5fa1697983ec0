"""A summary in a silence, before the cache dies: if a long pause is expected to cost more."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import Phase
from compactlab.sim.models.model import Catalogue, catalogue
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies import FullSummary, IdleCompaction
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.idle_compaction import Odds, Sizes, expected_saving, odds_of
from compactlab.strategies.mechanisms.price import price_of
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.strategies.conftest import NoteTaker

# An hour of silence is a tilde; entries live for five minutes. 60,000 characters are 20,000 tokens.
LARGE = {"u1": 240_000}
PRICED = IdleCompaction()


def sonnet(read, missed, output):
    """Dollars of Sonnet 4.5, written for five minutes."""
    return (0.3 * read + 3.75 * missed + 15 * output) / 1e6


@pytest.fixture
def worked(tell, sent):
    return lambda script, strategy=PRICED, **more: sent(tell(script, sizes=LARGE), strategy, **more)


def test_after_a_long_pause_the_agent_goes_on_from_a_summary(worked):
    assert worked("ua~ua") == ["u1", "summary-1 u3"]


def test_a_short_pause_is_none(worked):
    assert worked("uaua") == ["u1", "u1 a2 u3"]


@pytest.mark.parametrize(
    ("trigger", "last"), [(100_000, "u1 a2 u3"), (0.9, "u1 a2 u3"), (0.1, "summary-1 u3")]
)
def test_below_a_size_it_never_acts(trigger, last, worked):
    assert worked("ua~ua", IdleCompaction(trigger=trigger))[-1] == last


def test_it_acts_a_minute_before_the_cache_dies_and_reads_it(tell, play):
    """The lifetime is counted from the start of the request, not from its answer."""
    trace = play(tell("ua~ua", sizes=LARGE), IdleCompaction())
    first, second = trace.steps
    (call,) = second.side
    assert call.time - first.time == 240.0
    assert call.usage.cache_read == first.usage.prompt
    assert second.usage.prompt < first.usage.prompt / 10


def test_a_call_that_runs_for_an_hour_stays_with_its_result(worked):
    """The thread that asked for it had a test suite running (claude-code issue 66115)."""
    assert worked("uc~ra") == ["u1", "summary-1 c2 r3"]
    assert worked("uac2r~ra")[-1].split()[0] == "summary-1"


def test_it_saves_what_it_says(tell, play):
    """Of one pause that outlasts the cache, without an end: what is expected is what comes."""
    told = tell("ua~ua", sizes=LARGE)
    bills = []
    for strategy in (IdleCompaction(), find_strategy("keep_all")):
        steps = play(told, strategy).steps
        usages = [steps[1].usage, *(c.usage for c in steps[1].side if c.time < steps[1].time)]
        bills.append(
            sum(
                sonnet(
                    u.cache_read, u.uncached + u.cache_write, 0 if u is steps[1].usage else u.output
                )
                for u in usages
            )
        )
    prompt = play(told, find_strategy("keep_all")).steps[0].usage.prompt
    certain = Odds(0.0, 1.0, 0.0)
    expected = expected_saving(certain, Sizes(prompt, 0, 0, 0, 0), sonnet)
    assert bills[1] - bills[0] == pytest.approx(expected, rel=0.02)


def test_what_is_missed_is_billed_as_the_last_request_was(moment):
    hour, five, free = (
        price_of(moment("ua", reported=usage).host)(0, 1_000_000, 0)
        for usage in (
            Usage(cache_write_1h=1),
            Usage(cache_write_5m=1, uncached=3),
            Usage(uncached=1),
        )
    )
    assert (hour, five, free) == pytest.approx((12.0, 7.5, 6.0))  # above 200,000 tokens: doubled


SIZES = st.builds(
    lambda front, more, prompt: Sizes(front + more + prompt, front, front + more, 100, 4000),
    *[st.integers(0, 200_000)] * 3,
)


@given(SIZES, st.floats(0, 1), st.floats(0, 1))
def test_the_expected_saving_is_the_mean_over_how_it_may_end(sizes, one, other):
    low, high = sorted((one, other))
    odds = Odds(low, high - low, 1 - high)
    ends = [
        expected_saving(Odds(*(float(n == end) for n in range(3))), sizes, sonnet)
        for end in range(3)
    ]
    mean = sum(share * saved for share, saved in zip(odds, ends, strict=True))
    assert expected_saving(odds, sizes, sonnet) == pytest.approx(mean, abs=1e-9)
    assert ends[2] < 0, "when nobody comes back the summary was for nothing"
    assert ends[0] <= ends[1]


@given(st.floats(1, 1e6))
def test_the_odds_are_shares(lifetime):
    assert sum(odds_of(lifetime)) == pytest.approx(1)
    assert odds_of(lifetime).never >= odds_of(lifetime / 10).never


def test_the_longer_a_cache_lives_the_likelier_it_is_that_the_session_is_over():
    """At an hour two of three such silences are the last: what pays at five minutes does not."""
    assert odds_of(300).late > 2 * odds_of(3600).late
    assert odds_of(3600).never > 4 * odds_of(300).never - 0.01


def test_what_keeps_to_the_window_stands_behind_it(tell, sent):
    told = tell("ua~ua" + "ua" * 3, sizes=dict.fromkeys(["u1", "u5", "u7"], 240_000))
    both = find_strategy("idle_compaction + full_summary")
    prompts = sent(told, both, window=120_000)
    assert prompts[1] == "summary-1 u3"
    assert prompts[-1].startswith("summary-2")
    assert FullSummary() in both.parts


@pytest.mark.parametrize("summarizer", ["empty", "inflating"])
def test_a_summary_that_is_none_or_too_large_changes_nothing(summarizer, tell, sent):
    told, writer = tell("ua~ua", size=3000), find_summarizer(summarizer)
    prompts = sent(told, IdleCompaction(priced=False), summarizer=writer)
    assert prompts[-1] == "u1 a2 u3"


OPUS = catalogue()["claude-opus-5"]
HOURLY = replace(OPUS, name="hourly", policy=replace(OPUS.policy, ttl="1h"))
AS_CLAUDE_CODE = ("idle_compaction(preset='claude_code')", "claude_code(idle=True)")


@pytest.fixture
def silent(tell):
    """When summaries are made in an hour's silence, in seconds after the first request."""

    def times(spec, *, script="ua~ua", size=700_000, model="hourly"):
        told = tell(script, sizes={"u1": size})
        models = Catalogue({**catalogue(), "hourly": HOURLY})
        options = Options(model, NoteTaker(), catalogue=models)
        steps = record(told, find_strategy(spec), options).steps
        calls = [call for step in steps for call in step.side if call.time < steps[-1].time]
        return [call.time - steps[0].time for call in calls], steps

    return times


@pytest.mark.parametrize("spec", AS_CLAUDE_CODE)
def test_claude_code_acts_after_54_minutes_of_an_hour(spec, silent):
    """Users saw 54.7 to 55.7 minutes from the last reply on (Ark0N/Codeman discussion 554)."""
    times, steps = silent(spec)
    assert times == [54 * 60]
    (call,) = steps[1].side
    assert call.usage.cache_read == steps[0].usage.prompt > 200_000
    assert steps[1].usage.prompt < 10_000
    assert not call.waits


@pytest.mark.parametrize("spec", AS_CLAUDE_CODE)
@pytest.mark.parametrize(
    "story",
    [
        {"model": "claude-opus-5"},  # entries of five minutes
        {"size": 400_000},  # some 130,000 tokens
        {"script": "uc~ra"},  # a call waits for its result
        {"script": "u~aua"},  # an answer is being written
    ],
)
def test_otherwise_it_does_not(spec, story, silent):
    assert silent(spec, **story)[0] == []


def test_what_users_set_in_its_place_is_the_trigger(silent):
    """CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS."""
    spec = "idle_compaction(preset='claude_code', trigger={})"
    assert silent(spec.format(100_000), size=400_000)[0] == [54 * 60]
    assert silent(spec.format(300_000))[0] == []


def test_not_asked_to_claude_code_does_not(silent):
    assert silent("claude_code")[0] == []
    assert Phase.ON_IDLE not in FullSummary().phases


def test_without_a_lifetime_there_is_no_such_moment(tell, play):
    told = tell("ua~ua", sizes=LARGE)
    for model in ("claude-sonnet-4-5@none", "claude-sonnet-4-5@paged"):
        steps = record(told, IdleCompaction(priced=False), Options(model, NoteTaker())).steps
        assert not any(step.side for step in steps)
