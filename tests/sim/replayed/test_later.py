"""What an oracle is told: the needs of all calls that are still to come."""

from typing import Any

from compactlab.sim.core.conversation import Fact, Need
from compactlab.sim.core.message import Message, Source, verbatim
from compactlab.sim.facts.needs import Later


def test_a_word_is_needed_until_its_last_use(story):
    story.user("fix src/main.py").acts('{"path": "src/main.py"}').result("ok").answer("done")
    script = (
        story.user("and again").acts('{"path": "src/main.py"}').result("ok").answer("x").script()
    )
    first = script.messages[0]
    assert [bool(Later(script, call).held_in(first)) for call in range(4)] == [True] * 3 + [False]


def test_what_the_system_prompt_says_is_held_too(story):
    script = story.user("go").answer("as AB-1200 says").script()
    assert Later(script, 0).held_by((verbatim("system", "text", "obey AB-1200"),))
    assert not Later(script, 0).held_by((verbatim("system", "text", "obey"),))


def test_stated_facts_are_needed_where_they_are_stated(story):
    told = story.user("it is AB-1200 and AB-1300").answer("AB-1200").user("and?").answer("AB-1300")
    fact = Fact("f1", "entity", "what", "AB-1200", origin=(Source("u1"), Source("u2")))
    script = told.script(facts=(fact,), needs=(Need("f1", "a2"), Need("f1", "gone")))
    messages = {message.id: message for message in script.messages}
    needed = {
        id: [bool(Later(script, n).held_in(m)) for n in range(3)] for id, m in messages.items()
    }
    assert needed == {
        "u1": [True, True, False],
        "a1": [True, False, False],
        "u2": [True, True, False],
        "a2": [True, True, False],
    }
    # The answers are needed for the words in them alone.
    unlabelled = told.script()
    assert [bool(Later(unlabelled, n).held_in(messages["u2"])) for n in range(3)] == [False] * 3
    assert [bool(Later(unlabelled, n).held_in(messages["a2"])) for n in range(3)] == needed["a2"]


def test_the_call_that_is_about_to_be_made_counts_and_those_before_do_not(kit):
    seen = []

    def ask(view: Any, host: Any) -> Any:
        seen.append([bool(host.needs.held_in(message)) for message in view.messages])
        return view

    oracle = kit.act(ask)
    type(oracle).sees_future = True
    script = (
        kit.Story().user("open AB-1200").answer("AB-1200").user("thanks").answer("bye").script()
    )
    kit.replayed(script, oracle)
    assert seen == [[True], [False, False, False]]
    assert isinstance(script.messages[0], Message)
