"""What the next actions need: words that they use and that had appeared."""

import tracemalloc
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Rewind
from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.facts.needs import ForwardNeeds, forward_needs, used, words


def needed(needs: ForwardNeeds, ahead: int = 5) -> dict[str, set[str]]:
    """For each call, the words that it needs."""
    return {
        answer: {needs.names[number] for number in needs.wanted(answer, ahead)}
        for answer in needs.answers
    }


def test_only_what_had_appeared_can_be_needed(story):
    story.user("fix src/main.py").acts('{"path": "src/main.py"}').result("see lib/new.py")
    script = story.acts('{"path": "lib/new.py"}').result("ok").answer("done").script()
    assert needed(ForwardNeeds(script)) == {
        "a1": {"src/main.py"},
        "a2": {"lib/new.py"},
        "a3": set(),
    }


def test_a_call_looks_five_actions_ahead(story):
    story.user("mind AB-1200")
    for _ in range(5):
        story.acts("{}").result("ok")
    story.answer("AB-1200 is done")
    wants = needed(ForwardNeeds(story.script()))
    assert [bool(words) for words in wants.values()] == [False, True, True, True, True, True]


def test_how_far_it_looks_can_be_said(story):
    script = story.user("mind AB-1200").acts("{}").result("ok").answer("AB-1200 it is").script()
    needs = ForwardNeeds(script, ahead=(1, 2))
    assert [len(each) for each in needed(needs, 1).values()] == [0, 1]
    assert [len(each) for each in needed(needs, 2).values()] == [1, 1]


def test_a_word_that_appears_in_the_system_prompt_has_appeared(story):
    script = story.user("go").answer("as AB-1200 says")
    told = script.script(system=(verbatim("system", "text", "obey AB-1200"),))
    assert needed(ForwardNeeds(told)) == {"a1": {"AB-1200"}}
    assert needed(ForwardNeeds(script.script())) == {"a1": set()}


def test_what_an_answer_itself_says_has_not_appeared_before_it(story):
    script = story.user("go").answer("I made AB-1200").user("and?").answer("AB-1200 holds").script()
    assert needed(ForwardNeeds(script)) == {"a1": set(), "a2": {"AB-1200"}}


def test_what_was_taken_back_has_not_appeared(story):
    story.user("go").answer("well")
    story.user("mind AB-1200").rewind("a1").user("mind AB-7000").answer("AB-1200 and AB-7000")
    assert needed(ForwardNeeds(story.script()))["a2"] == {"AB-7000"}


def test_what_was_taken_back_has_appeared_again_for_who_goes_on_from_it(story):
    story.user("mind AB-1200").answer("well").rewind("").user("mind AB-7000").answer("so")
    story.rewind("a1").answer("AB-1200 and AB-7000")
    wants = needed(ForwardNeeds(story.script()))
    assert wants == {"a1": {"AB-1200"}, "a2": set(), "a3": {"AB-1200"}}


def test_an_aborted_answer_needs_nothing_and_tells_something(story):
    script = story.user("go").aborted("AB-1200 it").user("yes?").answer("AB-1200").script()
    assert needed(ForwardNeeds(script)) == {"a1": {"AB-1200"}}


def test_a_word_is_held_by_whatever_text_has_it(story):
    needs = ForwardNeeds(story.user("AB-1200").answer("AB-1200").script())
    summary = Part("text", "all about AB-1200.", "synthetic", ())
    longer = Part("text", "all about AB-12000.", "synthetic", ())
    assert len(needs.held(summary)) == 1
    assert needs.held(longer) == ()
    assert list(needs.held_in(Message("m", "user", (summary, longer, summary)))) == [0, 0]


def test_the_latest_needs_are_remembered(story):
    script = story.user("AB-1200").answer("AB-1200").script()
    first = forward_needs(script)
    assert forward_needs(script) is first
    other = story.user("AB-1201").answer("AB-1201").script()
    assert forward_needs(other) is not first
    assert needed(forward_needs(other)).keys() == {"a1", "a2"}
    assert needed(forward_needs(script)) == needed(first)


@settings(max_examples=60)
@given(data=st.data(), ahead=st.integers(1, 5))
def test_needs_are_what_plain_sets_say(kit, data, ahead):
    script = data.draw(kit.stories())
    ways = {"": []}  # by message, the messages up to it
    now = ""
    expected: dict[str, set[str]] = {}
    for event in script.events:
        if isinstance(event, Rewind):
            now = event.to
        elif isinstance(event, Message):
            way = ways[event.id] = [*ways[now], event]
            now = event.id
            if event.call is not None:
                expected[now] = set()
                for call in [m for m in way if m.call is not None][-ahead:]:
                    before = [part.text for m in ways[call.id][:-1] for part in m.parts]
                    before += [part.text for part in script.system]
                    seen = frozenset().union(*map(words, before))
                    expected[call.id] |= used(event) & seen
    assert needed(ForwardNeeds(script, (ahead,)), ahead) == expected


def bytes_a_call(story: Any, calls: int) -> float:
    """What the needs of a session take in which every call names something new."""
    for number in range(calls):
        story.acts(f'{{"path": "src/file_{number}.py"}}').result(
            f"next is src/file_{number + 1}.py"
        )
    script = story.answer("done").script()
    for answer in script.calls:
        used(answer)
    ForwardNeeds(script)  # what is remembered for other sessions too is no part of this one
    tracemalloc.start()
    try:
        needs = ForwardNeeds(script)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(needs.answers) == calls + 1
    return taken / calls


def test_a_call_of_a_long_session_takes_no_more_memory_than_one_of_a_short(kit):
    # Numbers up to 256 take no memory in Python, so a shorter session seems to need less.
    short, long = (bytes_a_call(kit.Story(), calls) for calls in (1_000, 4_000))
    assert long < 1.3 * short
