"""Keep-warm pings: when they come, what they cost, and that they change no prompt."""

import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, verbatim
from compactlab.sim.replay.strategy import Pipeline
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.idle_compaction import IdleCompaction
from compactlab.strategies.keep_warm import KeepWarm, delay, expected_saving

START = 1_760_000_000.0
LARGE = "time work plan file test " * 24_000  # some 160,000 tokens


def session(*pauses, tools=False):
    """A person speaks at the start and after each pause; or a tool takes as long as the pause."""
    events, now = [], START
    for n, pause in enumerate((0.0, *pauses)):
        now += pause
        if tools and n:
            said = verbatim(f"r{n}", "tool_result", "done", name="run", call_id=f"c{n - 1}")
            events.append(Message(f"r{n}", "tool", (said,), now))
        else:
            text = LARGE if not n else "and now?"
            events.append(Message(f"u{n}", "user", (verbatim(f"u{n}", "text", text),), now))
        now += 10.0
        answer = (
            verbatim(f"a{n}", "tool_call", "{}", name="run", call_id=f"c{n}")
            if tools and n < len(pauses)
            else verbatim(f"a{n}", "text", "done")
        )
        events.append(Message(f"a{n}", "assistant", (answer,), now, call=Call()))
    return Conversation("told", "told", tuple(events), seed=0)


def pings(trace):
    """Seconds since the first request, of each ping."""
    return [
        call.time - START for step in trace.steps for call in step.side if call.purpose == "warm"
    ]


def test_it_pings_at_nine_tenths_of_the_lifetime_and_for_half_an_hour(play):
    """The entries live for 300 seconds; a ping of 1620 is the last within 1800."""
    trace = play(session(290.0), KeepWarm(priced=False))
    assert pings(trace) == [270, *(300 + 270 * n for n in range(1, 7))]


def test_while_a_tool_runs_it_goes_on_for_an_hour_and_only_then_in_mode_streaming(play):
    for mode in ("idle", "streaming"):
        found = pings(play(session(7200.0, tools=True), KeepWarm(mode=mode)))
        assert found[:13] == [270 * n for n in range(1, 14)]
        assert len(found) == 13  # the silence at the end is not worth it


def test_a_ping_reads_the_prompt_and_so_does_the_next_call(play):
    alive, dead = (play(session(400.0), s) for s in (KeepWarm(priced=False), KeepAll()))
    ping = alive.steps[0].side[0] if alive.steps[0].side else alive.steps[1].side[0]
    assert ping.usage.prompt == ping.usage.cache_read == alive.steps[0].usage.prompt
    assert ping.usage.output == 1
    assert alive.steps[1].usage.cache_read == ping.usage.prompt
    assert dead.steps[1].usage.cache_read == 0
    assert list(alive.prompts()) == list(dead.prompts())


def test_what_is_not_expected_to_pay_is_not_sent(play):
    """At 0.15, 160,000 tokens save 0.03 dollars: 0.083 less the ping."""
    assert pings(play(session(400.0), KeepWarm())) == []
    assert pings(play(session(400.0), KeepWarm(min_saving=0.02)))


def test_a_prompt_that_was_compacted_is_not_kept_warm(play):
    """The summary is made after the answer; what was sent is sent no more."""
    summary = IdleCompaction(margin=100.0, priced=False)
    trace = play(session(400.0), Pipeline((KeepWarm(priced=False), summary)))
    assert pings(trace) == []


@pytest.mark.parametrize("lifetime", [11, 60, 300, 1800, 3600])
def test_a_ping_comes_in_time(lifetime):
    assert 0 < delay(lifetime) <= lifetime - 10
    assert delay(lifetime) <= 0.9 * lifetime


def test_a_larger_chance_never_saves_less():
    def price(read, missed, output):
        return 0.3 * read + 3.75 * missed + 15 * output

    saved = [expected_saving(1000, n / 10, price) for n in range(11)]
    assert saved == sorted(saved)
