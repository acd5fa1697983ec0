"""The state of a replay: losing content, breaking the contract, keeping notes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.view import Messages
from compactlab.sim.replay.session import loses
from tests.told import said

A, B, C = (said(letter, f"I am {letter}") for letter in "abc")
BOTH = Message("ab", "user", A.parts + B.parts)
STUB = Message("a", "user", (Part("text", "[gone]", "stub", (Source("a"),)),))
REMINDER = Message("n", "user", (Part("text", "remember", "synthetic", ()),))
CALL = Message("t", "assistant", (verbatim("t", "tool_call", "I am a", name="say"),))


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ([A, B], [A, B], False),
        ([A, B], [B, A], False),
        ([A, B], [A, C, B], False),
        ([A, B], [A, B, C], False),
        ([A, B], [BOTH], False),
        ([BOTH], [B, A], False),
        ([], [A], False),
        ([A, REMINDER], [A], False),
        ([A, B, A], [A, B], False),  # it stood there twice, and stands there still
        ([A, B], [B], True),
        ([A, B], [], True),
        ([A, B], [STUB, B], True),
        ([STUB, B], [A, B], False),  # it was gone for one request only
        ([STUB, B], [B], True),
        ([BOTH], [A], True),
        ([A], [CALL], True),
    ],
)
def test_content_is_lost_if_it_is_nowhere(before, after, lost):
    assert loses(Messages(before), Messages(after)) is lost


@given(st.lists(st.sampled_from([A, B, C, BOTH, STUB])), st.lists(st.sampled_from([A, B, C])))
def test_adding_loses_nothing_and_emptying_loses_all(before, more):
    messages = Messages(before)
    assert not loses(messages, messages.append(*more))
    assert loses(messages, Messages()) is bool(before)


@pytest.mark.parametrize("returned", [None, [], (), "view", 0, Messages()])
def test_what_is_no_view_breaks_the_contract(returned, kit, story):
    wrong = kit.act(lambda view, host: returned, name="Wrong")
    with pytest.raises(
        ContractError, match=rf"wrong\(\) returned {type(returned).__name__}, not a View"
    ):
        kit.replayed(story.user("1").answer("1").script(), wrong)


def test_in_a_pipeline_the_one_that_broke_it_is_named(kit, story):
    from compactlab.sim.replay.strategy import Pipeline

    wrong = kit.act(lambda view, host: None, name="Wrong")
    with pytest.raises(ContractError, match=r"^wrong\(\)"):
        kit.replayed(story.user("1").answer("1").script(), Pipeline((kit.keep, wrong)))


def test_notes_are_kept_from_call_to_call_and_are_empty_at_first(kit, story):
    def count(view: Any, host: Any) -> dict[str, int]:
        before = dict(host.notes)
        host.notes["calls"] = host.notes.get("calls", 0) + 1
        return before

    witness = kit.Witness(count)
    script = story.user("1").answer("1").user("2").answer("2").script()
    kit.replayed(script, witness.strategy)
    assert witness.seen == [{}, {"calls": 1}]


def test_a_second_replay_starts_with_nothing(kit, story):
    def count(view: Any, host: Any) -> tuple[int, int]:
        host.notes["n"] = host.notes.get("n", 0) + 1
        host.files["n"] = host.files.get("n", "") + "x"
        return host.notes["n"], len(host.files["n"])

    witness = kit.Witness(count)
    script = story.user("1").answer("1").script()
    for _ in range(2):
        kit.replayed(script, witness.strategy)
    assert witness.seen == [(1, 1), (1, 1)]


@given(st.data())
def test_replaying_twice_gives_the_same_steps(kit, data):
    script, seed = data.draw(kit.stories()), data.draw(st.integers(0, 9))
    one, two = (kit.replayed(script, kit.whim(), seed=seed) for _ in range(2))
    assert one.header == two.header
    assert one.steps == two.steps


@given(st.data())
def test_a_replay_leaves_the_script_as_it_was(kit, data):
    script = data.draw(kit.stories())
    before = script.digest
    kit.replayed(script, kit.whim())
    again = type(script)(**{name: getattr(script, name) for name in script.__dataclass_fields__})
    assert again.digest == before
