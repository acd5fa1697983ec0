"""Work in progress on small sessions: finished tasks, agents in flight, instructions, questions."""

from typing import Any

import pytest

from compactlab.sim.core.clients import instruction_files
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Message, Source, verbatim
from compactlab.sim.replay.recovery import ClosedLoop
from tests.sim.replayed.test_memory_by_hand import check, cut, fact, figure, says, told


@pytest.fixture
def task(story: Any) -> Conversation:
    """A task is asked for, finished, and spoken of again; then there is another call."""
    story.user("Please see to the move thing, slip open-7x7.").answer(says("move"))
    story.user("And what came of it?").answer("move-7x7").user("Thanks.").answer("ok")
    asked = Fact("open", "open_loop", "move thing", "open-7x7", (Source("u1", 0),))
    done = fact("move", "done", "a1", supersedes=("open",))
    return story.script(facts=(asked, done), needs=(Need("move", "a2"),))


def test_a_task_that_is_asked_for_and_not_said_to_be_finished_is_resurrected(kit, task):
    # Due at two calls.
    assert figure("resurrected_rate", kit, task, kit.keep) == 0
    assert figure("resurrected_rate", kit, task, cut(kit, a2="a1", a3="a1")) == 1
    assert figure("resurrected_rate", kit, task, cut(kit, a3="a1")) == 1 / 2
    # Without a trace of either it is forgotten, and nobody does it again.
    assert figure("resurrected_rate", kit, task, cut(kit, a2="u1 a1", a3="u1 a1")) == 0
    assert figure("stale", kit, task, cut(kit, a3="a1")) == 1 / 2


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("## Next steps\n1. The move thing: open-7x7", 1),
        ("The move thing came out as move-7x7.", 0),
        ("The move thing (slip open-7x7) is now move-7x7.", 0),
        ("Somebody spoke of the weather.", 0),
    ],
)
def test_a_summary_resurrects_by_what_it_says(kit, task, text, rate):
    assert figure("resurrected_rate", kit, task, told(kit, text)) == rate


def test_in_the_closed_loop_the_work_is_done_again(kit, task):
    steps = kit.replayed(task, cut(kit, a2="a1"), loop=ClosedLoop(misuse=1.0)).steps
    assert [step.recovery for step in steps] == ["", "misuse", "misuse", "", ""]


def test_a_handle_is_forgotten_when_it_is_used_and_not_there(kit, story):
    story.user("Start one.").acts().result(says("survey")).answer("ok")
    story.user("How far is it?").answer("survey-7x7").user("It is back.").answer("ok")
    flight = fact("survey", "handle", "r1", scope="u3")
    script = story.script(facts=(flight,), needs=(Need("survey", "a3"),))
    assert figure("handles_forgotten", kit, script, kit.keep) == 0
    assert figure("handles_forgotten", kit, script, told(kit, "Nothing of note.", at=3)) == 1
    assert figure("handles_forgotten", kit, script, told(kit, "Nothing of note.", at=4)) == 0
    # Due at the answer and at the question; once it is back it may be forgotten.
    assert figure("amnesia_handle", kit, script, told(kit, "Nothing of note.", at=3)) == 1 / 2


def test_what_an_instruction_file_says_is_counted_apart(kit, story):
    story.client(f"# AGENTS.md instructions\n{says('rule')}").user(says("wish")).answer("ok")
    story.user("And?").answer("ok")
    facts = (fact("rule", "decision", "m1"), fact("wish", "decision", "u1"))
    script = story.script(facts=facts)
    assert figure("instruction_file", kit, script, kit.keep) == 1
    assert figure("instruction_file", kit, script, cut(kit, a2="m1")) == 1 / 2
    assert figure("instruction_file", kit, script, cut(kit, a2="u1")) == 1
    other = story.script(facts=facts[1:])
    assert figure("instruction_file", kit, other, kit.keep) is None


@pytest.fixture
def question(story: Any) -> Conversation:
    """The agent proposes something, and nobody decides."""
    story.user("Go.").answer("Should the fee thing become fee-7x7? That is for others to say.")
    story.user("Wait.").answer("ok").user("Well?").answer("ok")
    return story.script(facts=(fact("fee", "proposal", "a1", polarity="asks"),))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("Open: should the fee thing become fee-7x7?", 0),
        ("fee thing (not decided): fee-7x7", 0),
        ("The fee thing is fee-7x7.", 1),
        ("Change the fee thing to fee-7x7.", 1),
        ("The user agreed on fee-7x7 for the fee thing.", 1),
        ("There was talk of a fee thing.", 0),
    ],
)
def test_a_summary_presumes_by_what_it_says(kit, question, text, rate):
    check(kit, question, told(kit, text), presumed_rate=rate, mutation=rate)


def test_where_nothing_of_the_kind_is_stated_there_is_no_figure(kit, story):
    story.user(says("color")).answer("ok")
    script = story.script(facts=(fact("color", "decision", "u1"),))
    for name in ("resurrected_rate", "handles_forgotten", "instruction_file", "presumed_rate"):
        assert figure(name, kit, script, kit.keep) is None


def test_messages_of_the_client_that_name_no_file_are_no_instruction_files():
    def message(id: str, text: str, *, meta: bool = True) -> Message:
        return Message(id, "user", (verbatim(id, "text", text),), meta=meta)

    front = [
        message(
            "codex", "# AGENTS.md instructions for /home/me/garden\n\n<INSTRUCTIONS>\nUse tabs."
        ),
        message(
            "claude", "Some context.\n\nContents of /home/me/garden/CLAUDE.md (project):\n\nTabs."
        ),
        message("place", "<environment_context>\n  <cwd>/home/me</cwd>"),
        message("command", "Review this. Read CLAUDE.md first."),
    ]
    later = [message("asks", "Hello", meta=False), message("late", "# AGENTS.md\nUse tabs.")]
    assert [each.id for each in instruction_files([*front, *later])] == ["codex", "claude"]
