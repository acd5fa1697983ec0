"""Behind every call its result, and no result without its call."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.pairs import MISSING, Mender, repair

# Blocks of a log in which everything may go wrong.
LOG = st.lists(
    st.sampled_from(["u", "m", "a", "cr", "c2rr", "c2r", "c", "o", "cmr", "cur", "cra"]), max_size=9
).map("".join)


def done(repaired):
    """How many were added, dropped as duplicates and as orphans; whether anything was wrong."""
    counts = repaired.dropped_duplicate_count, repaired.dropped_orphan_count
    return len(repaired.added), *counts, repaired.moved


def pairs(messages):
    """What stands next to what: of every call its result."""
    parts = [part for message in messages for part in message.parts]
    return [(part.type, part.call_id) for part in parts if part.call_id]


def named(message, **other):
    """The message, with other things said of its first part."""
    part = msgspec.structs.replace(message.parts[0], **other)
    return msgspec.structs.replace(message, parts=(part, *message.parts[1:]))


@pytest.mark.parametrize("script", ["", "u", "uaua", "ucra", "uc3rrra ucra", "uacr", "mama"])
def test_a_sound_history_is_given_back_as_it_is(moment, script):
    messages = moment(script).messages
    assert repair(messages).messages is messages
    assert done(repair(messages)) == (0, 0, 0, False)


@pytest.mark.parametrize(
    ("script", "then", "what"),
    [
        ("uoa", "u1 a3", (0, 0, 1, True)),  # a result of no call is dropped
        ("uc2ra", "u1 c2 r3 missing-c2/1 a4", (1, 0, 0, True)),
        ("uc", "u1 c2 missing-c2/0", (1, 0, 0, True)),
        ("ucur", "u1 c2 r4 u3", (0, 0, 0, True)),  # one that comes late is moved up
        ("ucaou", "u1 c2 missing-c2/0 a3 u5", (1, 0, 1, True)),
    ],
)
def test_what_is_wrong_is_put_right(moment, script, then, what):
    repaired = repair(moment(script).messages)
    assert [message.id for message in repaired.messages] == then.split()
    assert done(repaired) == what


def test_what_stands_behind_the_results_is_said_to_be_moved_though_it_is_not(moment, ids):
    """The user breaks in before the agent goes on; the original makes no difference there."""
    messages = moment("ucru").messages
    repaired = repair(messages)
    assert repaired.moved
    assert repaired.messages == messages


def test_a_result_that_is_made_up_says_so(moment):
    (made,) = repair(moment("uc").messages, now=5.0).added
    assert made.parts == (Part("tool_result", MISSING, "synthetic", (), "read", "c2/0", True),)
    assert (made.role, made.time) == ("tool", 5.0)


def test_without_a_time_it_has_that_of_its_call(moment):
    messages = moment("uc").messages
    assert repair(messages).added[0].time == messages[1].time


def test_a_tool_without_a_name_is_unknown(moment):
    call, nameless = moment("c").messages[0], {"name": ""}
    assert repair(Messages([named(call, **nameless)])).added[0].parts[0].name == "unknown"


def test_an_id_that_is_used_again_loses_its_result(moment, ids):
    """As in the original: the real one is dropped, and so is the one that is made up for it."""
    first, result, call, again = moment("crcr").messages
    history = Messages([first, result, named(call, call_id="c1/0"), named(again, call_id="c1/0")])
    repaired = repair(history)
    assert ids(repaired.messages) == "c1 r2 c3"
    assert done(repaired) == (1, 2, 0, True)


def test_a_further_result_of_the_same_call_vanishes_uncounted(moment, ids):
    call, result, more = moment("c2rr").messages
    call = msgspec.structs.replace(call, parts=call.parts[:1])
    twice = Messages([call, result, named(more, call_id="c1/0")])
    assert repair(twice).messages is twice  # nothing else is wrong, so it stays
    wrong = repair(twice.append(*moment("o").messages))
    assert ids(wrong.messages) == "c1 r2"
    assert done(wrong) == (0, 0, 1, True)


def test_results_are_put_in_the_order_of_their_calls_once_something_is_wrong(moment, ids):
    call, one, two = moment("c2rr").messages
    swapped = Messages([call, two, one])
    assert repair(swapped).messages is swapped
    assert ids(repair(swapped.append(*moment("o").messages)).messages) == "c1 r2 r3"


@pytest.mark.parametrize(
    ("version", "then", "added"),
    [("2026.3.13", "u1 c2 a4", 0), ("2026.2.17", "u1 c2 a4", 0), ("2026.1.29", "u1 c2 r3 a4", 0)],
)
def test_the_calls_of_an_answer_that_was_cut_off_are_left_alone_by_newer_versions(
    moment, version, then, added
):
    user, call, result, answer = moment("ucra").messages
    cut = msgspec.structs.replace(call, origin="aborted")
    repaired = repair(Messages([user, cut, result, answer]), version=version)
    assert [message.id for message in repaired.messages] == then.split()
    assert len(repaired.added) == added


@pytest.mark.parametrize(
    ("told", "tool", "name"),
    [
        ("", "read", "read"),
        ("  ", "read", "read"),
        (" exec ", "read", "exec"),
        (" ", " ", "unknown"),
        ("", "", ""),
    ],
)
def test_a_result_is_given_the_name_of_its_tool_by_newer_versions(moment, told, tool, name):
    call, result = moment("cr").messages
    history = Messages([named(call, name=tool), named(result, name=told)])
    assert repair(history).messages[1].parts[0].name == name
    assert repair(history, version="2026.1.29").messages is history


@settings(max_examples=200)
@given(script=LOG)
def test_calls_and_results_are_together_afterwards_and_nothing_else_is_lost(moment, script):
    messages = moment(script).messages
    repaired = repair(messages).messages
    stands = pairs(repaired)
    waiting: list[str] = []
    for type, call_id in stands:
        if type == "tool_call":
            waiting.append(call_id)
        else:
            assert call_id == waiting.pop(0)
    assert not waiting
    others = [message for message in messages if message.role != "tool"]
    assert [message for message in repaired if message.role != "tool"] == others


@settings(max_examples=200)
@given(script=LOG)
def test_what_is_repaired_needs_no_repair(moment, script):
    repaired = repair(moment(script).messages).messages
    assert repair(repaired).messages == repaired


@settings(max_examples=300)
@given(data=st.data(), scripts=st.lists(LOG, max_size=4), again=st.booleans())
def test_to_remember_what_was_sound_changes_nothing(moment, data, scripts, again):
    """A history that grows, is cut short at either end, and grows again; ids may come again."""
    mender, history = Mender(), Messages()
    for number, script in enumerate(scripts):
        for message in moment(script).messages:
            name = "" if again else str(number)
            parts = tuple(
                msgspec.structs.replace(part, call_id=part.call_id and name + part.call_id)
                for part in message.parts
            )
            history = history.append(msgspec.structs.replace(message, parts=parts))
            assert mender.mend(history) == repair(history).messages
        front, back = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
        history = history[front : max(0, len(history) - back)]
        assert mender.mend(history) == repair(history).messages


def test_the_same_repair_gives_the_same_messages(moment):
    """Else a prompt would be another one at every turn, and the cache would be asked for it."""
    mender = Mender()
    call, result, user = moment("c2ru").messages
    blank = named(result, name=" ")
    first = mender.mend(Messages([call, blank]))
    then = mender.mend(Messages([call, blank, user]))
    assert first.shared(then) == 3
    assert {part.kind for part in first[2].parts} == {"synthetic"}


def test_a_long_sound_history_is_looked_at_once(moment, monkeypatch):
    history, looked = moment("ucra" * 50).messages, []
    mender = Mender()
    assert mender.mend(history) is history
    real = Message.__getattribute__
    monkeypatch.setattr(
        "compactlab.strategies.openclaw.pairs.answers",
        lambda message: looked.append(message) or real(message, "parts")[0].call_id,
    )
    more = history.append(Message("u", "user", (verbatim("u", "text", "go on"),)))
    assert mender.mend(more) is more
    assert len(looked) <= 1
