"""What Claude Code prints and pipelines keep: stream-json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage
from tests.scenarios.test_claude_code import Record, Transcript, asks, shape, text

SESSION = "5f0e1c2a-0000-4000-8000-000000000001"


def event(type: str, **more: Any) -> Record:
    return {"type": type, "session_id": SESSION, **more}


START = event("system", subtype="init", cwd="/srv/shop", tools=["Bash"], model="claude-x")


def said(uuid: str, message: str, *blocks: Record, out: int = 1, agent: str = "") -> Record:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": out}
    body = {"id": message, "model": "claude-x", "content": list(blocks), "usage": usage}
    return event("assistant", uuid=uuid, message=body, parent_tool_use_id=agent or None)


def told(uuid: str, content: Any, agent: str = "", **more: Any) -> Record:
    body = {"role": "user", "content": content}
    return event("user", uuid=uuid, message=body, parent_tool_use_id=agent or None, **more)


def answered(uuid: str, call: str, words: str) -> Record:
    return told(uuid, [{"type": "tool_result", "tool_use_id": call, "content": words}])


def total(input: int, read: int, out: int, **more: int) -> Record:
    counts = {"inputTokens": input, "cacheReadInputTokens": read, "outputTokens": out, **more}
    return {"modelUsage": {"claude-x": {**counts, "costUSD": 0.1}}}


def ended(**more: Any) -> Record:
    return event("result", subtype="success", num_turns=2, result="One file.", **more)


def turn() -> list[Record]:
    return [
        START,
        said("a", "m1", text("I look."), out=1),
        said("b", "m1", asks("c1", cmd="ls"), out=1),
        answered("c", "c1", "a.txt"),
        said("d", "m2", text("One file."), out=1),
    ]


def read(path: Path, **more: Any) -> list[Conversation]:
    found = list(transcripts.read(path, **more))
    assert {each.format for each in found} == {"claude-stream-json"}
    return found


def outputs(conversation: Conversation) -> list[int]:
    return [answer.call.usage.output for answer in conversation.calls]  # type: ignore[union-attr]


@pytest.mark.parametrize("document", [True, False])
def test_what_is_printed_is_a_conversation(tmp_path: Path, document: bool) -> None:
    path = tmp_path / "out.json"
    records = [*turn(), ended()]
    path.write_text(json.dumps(records) if document else "\n".join(map(json.dumps, records)))
    (conversation,) = read(path)
    assert shape(conversation) == ["m1", "c", "m2"]
    assert [part.type for part in conversation.messages[0].parts] == ["text", "tool_call"]
    assert conversation.messages[1].parts[0].name == "Bash"
    assert conversation.starts_inside  # the prompt is an argument of the command
    assert conversation.project == "/srv/shop"
    assert [answer.call.id for answer in conversation.calls if answer.call] == ["m1", "m2"]
    assert not conversation.passed_over


def test_the_output_is_that_of_the_totals_and_shared_out_by_the_texts(
    transcript: Transcript,
) -> None:
    path = transcript(*turn(), ended(**total(6, 200, 48)))
    (conversation,) = read(path)
    first, second = outputs(conversation)
    assert first + second == 48
    assert first > second > 1
    assert conversation.side_requests == ()


@pytest.mark.parametrize("of", ["a turn", "the process"])
def test_what_a_result_counts_of_its_own_conversation_is_its_answers(
    transcript: Transcript, of: str
) -> None:
    def usage(times: int) -> dict[str, Any]:
        counts = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 30}
        return {"usage": {key: times * count for key, count in counts.items()}}

    path = transcript(
        START,
        said("a", "m1", text("one")),
        ended(**usage(1)),
        told("b", "and two"),
        said("c", "m2", text("two")),
        ended(**usage(1 if of == "a turn" else 2)),
    )
    assert outputs(read(path)[0]) == [30, 30]


def test_requests_that_are_not_printed_are_billed_to_the_session(transcript: Transcript) -> None:
    hidden = total(10, 250, 40, webSearchRequests=2)
    (conversation,) = read(transcript(*turn(), ended(**hidden)))
    (rest,) = conversation.side_requests
    assert (rest.purpose, rest.searches) == ("session", 2)
    assert rest.call.usage is not None
    assert (rest.call.usage.uncached, rest.call.usage.cache_read) == (4, 50)
    assert rest.call.usage.output + sum(outputs(conversation)) == 40


def test_another_model_of_the_totals_is_billed_to_the_session(transcript: Transcript) -> None:
    (counts,) = total(5, 0, 7)["modelUsage"].values()
    both = {"modelUsage": {**total(6, 200, 2)["modelUsage"], "claude-small": counts}}
    (rest,) = read(transcript(*turn(), ended(**both)))[0].side_requests
    assert (rest.call.model, rest.call.usage) == ("claude-small", Usage(5, output=7))


def test_a_process_counts_on_and_the_next_one_anew(transcript: Transcript) -> None:
    more = [START, said("e", "m3", text("three"))]
    results = [ended(**total(6, 200, 20)), ended(**total(6, 200, 22)), ended(**total(3, 100, 5))]
    path = transcript(*turn(), results[0], results[1], *more, results[2])
    (conversation,) = read(path)
    assert sum(outputs(conversation)) == 27
    assert conversation.side_requests == ()


def test_pieces_of_an_answer_tell_what_it_wrote(transcript: Transcript) -> None:
    def piece(type: str, **more: Any) -> Record:
        return event("stream_event", event={"type": type, **more}, parent_tool_use_id=None)

    path = transcript(
        START,
        piece("message_start", message={"id": "m1", "usage": {"output_tokens": 1}}),
        piece("content_block_delta", delta={"type": "text_delta", "text": "one"}),
        said("a", "m1", text("one")),
        piece("message_delta", usage={"output_tokens": 77}),
        piece("message_start", message={"id": "m2"}),
        piece("content_block_delta", delta={"type": "text_delta", "text": "broken off"}),
    )
    (conversation,) = read(path)
    assert outputs(conversation) == [77]
    (passed,) = conversation.passed_over
    assert (passed.kind, passed.characters) == ("answer that was not finished", 10)


def test_an_agent_is_a_conversation_of_its_own(transcript: Transcript) -> None:
    path = transcript(
        START,
        said("a", "m1", asks("task", prompt="look")),
        told("b", "look", agent="task"),
        said("c", "n1", text("seen"), agent="task"),
        answered("d", "task", "seen"),
        said("e", "m2", text("done")),
    )
    main, agent = read(path)
    assert (shape(main), shape(agent)) == (["m1", "d", "m2"], ["b", "n1"])
    assert (main.subagent, agent.subagent, agent.id) == (False, True, "story#sidechain-1")
    assert not agent.starts_inside


def test_a_compaction_has_its_summary_and_what_it_kept(transcript: Transcript) -> None:
    about = {"trigger": "auto", "pre_tokens": 900, "preserved_segment": {"head_uuid": "d"}}
    path = transcript(
        *turn(),
        event("system", subtype="compact_boundary", uuid="x", compact_metadata=about),
        told("y", "So far: one file.", isSynthetic=True),
        told("z", "go on"),
        said("e", "m3", text("on")),
    )
    (conversation,) = read(path)
    (compaction,) = conversation.compactions
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 900)
    assert compaction.kept_from == "m2"
    assert [message.text for message in compaction.inserted] == ["So far: one file."]
    assert shape(conversation)[-2:] == ["z", "m3"]


def test_two_sessions_of_a_file_are_two_conversations(transcript: Transcript) -> None:
    other = [{**record, "session_id": "other"} for record in turn()]
    assert [each.id for each in read(transcript(*turn(), *other))] == ["story", "story/2"]


def test_a_result_alone_is_money_without_a_call(transcript: Transcript) -> None:
    (conversation,) = read(transcript(ended(**total(6, 200, 48))))
    assert (conversation.messages[0].text, conversation.calls) == ("One file.", ())
    assert conversation.side_requests[0].call.usage == Usage(6, 200, output=48)


def test_what_is_not_known_is_counted_or_refused(transcript: Transcript) -> None:
    path = transcript(*turn(), event("poem", verse="roses"))
    assert [str(each) for each in read(path)[0].passed_over] == ["1 x record 'poem' (5 characters)"]
    with pytest.raises(InputError, match=r"story\.jsonl:6: record 'poem' is not known"):
        read(path, strict=True)
