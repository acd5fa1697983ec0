"""What fits a budget is sent, from either end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import TrimMessages
from compactlab.strategies.catalogue import find_strategy

FIVE = {"max_tokens": 5, "token_counter": "len"}


def test_the_newest_that_fit_are_sent(tell, sent):
    assert sent(tell("uauauaua"), TrimMessages(**FIVE))[-1] == "u3 a4 u5 a6 u7"


def test_by_itself_it_guards_no_pairs(tell, sent):
    assert sent(tell("ucrcrcra"), TrimMessages(**FIVE))[-1] == "r3 c4 r5 c6 r7"
    assert "pairs" in TrimMessages.breaks


def test_it_can_begin_where_a_user_speaks(tell, sent):
    trimmed = TrimMessages(**FIVE, start_on=("human",))
    assert sent(tell("ucra ucrcra"), trimmed)[-2:] == ["u5 c6 r7", "u5 c6 r7 c8 r9"]


def test_if_nobody_speaks_in_what_fits_nothing_is_left(tell, sent):
    assert sent(tell("ucrcrcra"), TrimMessages(**FIVE, start_on=("human",)))[-1] == ""


def test_it_can_end_on_some_type(tell, sent):
    assert sent(tell("ua ua"), TrimMessages(**FIVE, end_on=("ai",)))[-1] == "u1 a2"


def test_from_the_front(tell, sent):
    assert sent(tell("uauauaua"), TrimMessages(**FIVE, strategy="first"))[-1] == "u1 a2 u3 a4 u5"


def test_a_message_may_stay_in_part(moment):
    now = moment("uu", sizes={"u1": 400})
    lines = "\n".join(f"line {n}" for n in range(40))
    first = now.messages[0]
    long = type(first)(
        "u1", "user", (type(first.parts[0])("text", lines, "verbatim", first.parts[0].sources),)
    )
    view = now.view.with_messages([long, now.messages[1]])
    kept = TrimMessages(max_tokens=40, allow_partial=True).compact(view, now.host).messages
    assert [message.id for message in kept] == ["u1", "u2"]
    (part,) = kept[0].parts
    assert part.kind == "truncated"
    assert lines.endswith(part.text)
    assert lines[part.sources[0].start :] == part.text


def test_the_system_prompt_may_count(tell, sent):
    story = tell("ua" * 4, size=200, system=100)
    without, within = (TrimMessages(max_tokens=250, include_system=b) for b in (False, True))
    assert sent(story, without)[-1] == "a4 u5 a6 u7"
    assert sent(story, within)[-1] == "a6 u7"


def test_the_session_goes_on_beneath_it(tell, sent):
    assert sent(tell("uauaua <4 ua"), TrimMessages(**FIVE))[-1] == "u1 a2 u3 a4 u7"


@settings(max_examples=40)
@given(data=st.data(), budget=st.integers(1, 2000))
def test_what_is_sent_is_the_longest_tail_that_fits(data, budget, straight, play):
    strategy = TrimMessages(max_tokens=budget, token_counter="model")
    trace = play(data.draw(straight), strategy)
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        log = list(step.log)
        assert list(prompt) == log[len(log) - len(prompt) :]
        hidden = int(1.32 * sum(part.size for part in step.system) + 1)
        assert step.usage.prompt - hidden <= budget


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ("max_tokens=0", "max_tokens"),
        ("start_on=('robot',)", "start_on"),
        ("end_on=3", "end_on"),
        ("strategy='first', start_on=('human',)", "start_on"),
        ("strategy='first', include_system=True", "include_system"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, field):
    with pytest.raises(UsageError, match=field):
        find_strategy(f"trim_messages({wrong})")
