"""Whole groups of messages are left out, or told in one."""

from compactlab.strategies import ToolGroups
from compactlab.strategies.agent_framework import MOST, groups_of


def told(script, tell):
    return [
        " ".join(message.id for message in group.messages)
        for group in groups_of(tell(script).messages)
    ]


def test_a_call_and_its_results_are_one_group(tell):
    assert told("uc3rrra ua", tell) == ["u1", "c2 r3 r4 r5", "a6", "u7", "a8"]


def test_a_result_that_comes_late_joins_the_group_of_its_call(tell):
    assert told("ucmra", tell) == ["u1", "c2 r4", "m3", "a5"]


def test_a_result_of_no_call_is_a_group_of_its_own(tell):
    assert told("uoa", tell) == ["u1", "o2", "a3"]


def test_or_told_in_a_message_each(tell, play):
    one = ToolGroups("tool_result", keep_last_tool_call_groups=1)
    *_, prompt = play(tell("uc2rrcra"), one).prompts()
    assert [message.id for message in prompt] == ["u1", "tool_summary_group_c2", "c5", "r6"]
    text = "".join(part.text for part in prompt[1].parts)
    assert text.startswith("[Tool results: read: r3 says: ")
    assert "; read: r4 says: " in text
    assert {part.kind for part in prompt[1].parts} == {"synthetic", "verbatim"}


def test_what_is_told_is_cut_off_where_it_is_too_long(tell, play):
    none = ToolGroups("tool_result", keep_last_tool_call_groups=0)
    *_, prompt = play(tell("ucra", sizes={"r3": 9000}), none).prompts()
    text = "".join(part.text for part in prompt[1].parts)
    assert text.endswith("... [truncated]]")
    assert MOST - 30 < len(text) <= MOST
    assert prompt[1].parts[2].kind == "truncated"


def test_the_window_is_eased_in_two_steps(tell, play):
    """First old results are told, which may be enough; then the oldest groups go."""
    eased = ToolGroups(keep_last_tool_call_groups=1, max_output_tokens=0)
    story = tell("u" + "cr" * 30 + "a", size=400)
    steps = play(story, eased, window=4000).steps
    assert max(step.usage.prompt for step in steps) < 4000
    came = [" ".join(message.id for message in step.added) for step in steps if step.compaction]
    assert "tool_summary_group_c2" in came[0]
    assert "u1" not in came[-1]
