"""Near the limit the whole conversation gives way to a summary, and files are attached anew."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host, Services
from compactlab.strategies import FullSummary
from compactlab.strategies.summarizers.catalogue import find_summarizer


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each. A window of 2000 is nearly full at 1000."""
    return lambda script, **more: tell(script, size=400, **more)


def test_it_is_the_effective_window_less_the_buffer_that_counts(moment):
    """200,000, less 20,000 for a summary, less 13,000."""
    for used, fires in ((166_000, False), (166_900, True)):
        now = moment("uau", reported=Usage(uncached=used, output=99))
        now.host._services = Services(summarize=lambda host, view, request: ())
        FullSummary().compact(now.view, now.host)
        assert bool(now.host.notes) is fires


def test_the_request_rides_on_the_live_prompt(tell, play):
    steps = play(tell("ua" * 8, size=4000, system=2000), FullSummary(), window=20_000).steps
    first = next(call for step in steps for call in step.side)
    assert first.usage.cache_read > first.usage.prompt / 2


def test_the_next_summary_carries_the_last_one_on(story, play):
    steps = play(story("ua" * 14), FullSummary(), window=2000).steps
    first, second = [step.added[0].parts[1].text for step in steps if step.compaction]
    assert (first, second) == ("notes on 11 messages", "notes on 21 messages")


@pytest.mark.parametrize("size", [2, 400])
def test_outputs_are_only_cleared_where_that_makes_room(size, moment):
    """A stub is larger than the output of a tool that has said next to nothing."""
    now = moment("ucrcrcra", size=size, reported=Usage(uncached=190_000, output=9))
    now.host._services = Services(summarize=lambda host, view, request: ())
    after = FullSummary(clear_first=True, keep_outputs=0).compact(now.view, now.host)
    assert (after is now.view) == (size == 2)
    assert now.host.count(after) <= now.host.count(now.view)


@pytest.mark.parametrize("summarizer", ["empty", "inflating"])
def test_what_does_not_help_is_not_kept_and_given_up_after_three_times(summarizer, story, play):
    steps = play(
        story("ua" * 10), FullSummary(), window=2000, summarizer=find_summarizer(summarizer)
    ).steps
    assert not any(step.compaction for step in steps)
    assert [len(step.side) for step in steps] == [0] * 5 + [1] * 3 + [0] * 2


def test_a_summary_that_answers_instead_is_believed(story, play):
    trace = play(story("ua" * 7), FullSummary(), window=2000, summarizer=find_summarizer("failed"))
    prompts = [*trace.prompts()]
    assert [[s.id for p in m.parts for s in p.sources] for m in prompts[5]] == [["u11"]]


def test_the_files_that_were_modified_last_are_attached(play):
    trace = play(edited(), FullSummary(files=2, file_tokens=100), window=2000)
    (step,) = [step for step in trace.steps if step.compaction]
    _, files = step.added
    assert files.id == "summary-1/files"
    told = [(part.kind, part.handle, [s.id for s in part.sources]) for part in files.parts]
    assert told == [
        ("synthetic", "", []),
        ("recovered", "b.py", ["m8"]),
        ("stub", "a.py", ["m3", "m6"]),
    ]
    assert files.parts[1].text == "short = 1"


def edited() -> Conversation:
    """Two files are read or written, one is changed, and then much is said."""
    tools = [
        ("Read", {"file_path": "a.py"}, "old = 1\n" + "long line\n" * 200),
        ("Write", {"file_path": "b.py", "content": "short = 1"}, "written"),
    ]
    told: list[Message] = [Message("m1", "user", (verbatim("m1", "text", "go on"),), 1.0)]
    for name, arguments, result in tools:
        told += called(told, name, arguments, result)
    edit = {"file_path": "a.py", "old_string": "old = 1", "new_string": "new = 2"}
    told += called(told, "Edit", edit, "done")
    told += called(told, "Write", {"file_path": "b.py", "content": "short = 1"}, "written again")
    told += called(told, "Bash", {"command": "make"}, "noise " * 1200)
    told += called(told, "Bash", {"command": "make"}, "noise")
    return Conversation("edited", "told", tuple(told), seed=0)


def called(before: list[Message], name: str, arguments: Any, result: str) -> list[Message]:
    one, two = f"m{len(before) + 1}", f"m{len(before) + 2}"
    asked = verbatim(one, "tool_call", json.dumps(arguments), name=name, call_id=one)
    told = verbatim(two, "tool_result", result, name=name, call_id=one)
    return [
        Message(one, "assistant", (asked,), float(len(before)), call=Call()),
        Message(two, "tool", (told,), float(len(before) + 1)),
    ]


def with_file(told: Conversation) -> Conversation:
    """The same, and what the client says first is an instruction file."""
    first, *rest = told.events
    assert isinstance(first, Message)
    part = verbatim(first.id, "text", "# CLAUDE.md\nUse tabs. " + first.text)
    return replace(told, events=(msgspec.structs.replace(first, parts=(part,)), *rest))


def test_an_instruction_file_stands_in_front_again_after_each_compaction(story, sent):
    prompts = sent(with_file(story("m" + "ua" * 14)), FullSummary(), window=2000)
    after = [prompt for prompt in prompts if "summary" in prompt]
    assert after
    assert all(prompt.startswith("m1 summary-") for prompt in after)
    assert any("summary-2" in prompt for prompt in after)


def test_older_versions_lost_it_and_other_words_of_the_client_are_summarised(story, sent):
    told = with_file(story("m" + "ua" * 7))
    lost = sent(told, FullSummary(reinject=False), window=2000)
    assert "summary-1" in lost
    other = sent(story("m" + "ua" * 7), FullSummary(), window=2000)
    assert "summary-1" in other


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("claude-sonnet-4-5", 167_000), ("claude-opus-5-5", 967_000), ("claude-3-5-haiku", 178_808)],
)
def test_it_is_time_at_the_window_less_a_summary_and_a_buffer(model, tokens):
    """967K of 1M, as its documentation has it; a model that answers with less reserves less."""
    assert FullSummary().limit(Host(find_model(model))) == tokens
