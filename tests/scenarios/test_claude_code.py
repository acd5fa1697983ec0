"""Transcripts of Claude Code, told as short sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]


def line(type: str, uuid: str, parent: str | None, **more: Any) -> Record:
    second = int("".join(filter(str.isdigit, uuid)) or 0)
    time = f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000Z"
    return {"type": type, "uuid": uuid, "parentUuid": parent, "timestamp": time, **more}


def typed(uuid: str, parent: str | None, text: str, **more: Any) -> Record:
    return line("user", uuid, parent, message={"role": "user", "content": text}, **more)


def said(uuid: str, parent: str | None, message: str, *blocks: Record, out: int = 1) -> Record:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 20},
        "output_tokens": out,
    }
    body = {"id": message, "model": "claude-x", "content": list(blocks), "usage": usage}
    return line("assistant", uuid, parent, requestId=f"r-{message}", message=body)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def asks(call_id: str, **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}


def answered(uuid: str, parent: str | None, call_id: str, content: Any, **more: Any) -> Record:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}
    return line("user", uuid, parent, message={"role": "user", "content": [result]})


def attached(uuid: str, parent: str | None, **attachment: Any) -> Record:
    return line("attachment", uuid, parent, attachment=attachment)


def boundary(uuid: str, after: str, **about: Any) -> Record:
    return line(
        "system",
        uuid,
        None,
        subtype="compact_boundary",
        logicalParentUuid=after,
        compactMetadata={"trigger": "auto", "preTokens": 167000, **about},
    )


def read(path: Path, strict: bool = False) -> Conversation:
    (conversation,) = transcripts.read(path, strict=strict)
    assert conversation.format == "claude-code"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}" if isinstance(event, Rewind) else getattr(event, "id", "compaction")
        for event in conversation.events
    ]


def test_the_lines_of_one_call_are_one_message(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "look around"),
        said("a2", "u1", "m", {"type": "thinking", "thinking": "hm"}, out=2),
        said("a3", "a2", "m", asks("c1", cmd="ls ~/ä"), out=2),
        answered("t4", "a3", "c1", "readme"),
        said("a5", "t4", "m", asks("c2", cmd="pwd"), out=40),
        answered("t6", "a5", "c2", [text("/"), text("home")], is_error=True),
        said("a7", "t6", "n", text("done"), out=5),
    )
    conversation = read(path)
    user, reply, first, second, last = conversation.messages
    assert shape(conversation) == ["u1", "m", "t4", "t6", "n"]
    assert [part.type for part in reply.parts] == ["thinking", "tool_call", "tool_call"]
    assert reply.parts[1].text == '{"cmd":"ls ~/ä"}'
    assert reply.call is not None
    assert reply.call.usage == Usage(3, 100, 0, 20, output=40)
    assert (reply.call.model, reply.call.ttl) == ("claude-x", "1h")
    assert reply.time - user.time == 4
    assert first.time == reply.time  # it came before the last piece of the answer: clamped
    assert (first.role, first.parts[0].name, first.parts[0].call_id) == ("tool", "Bash", "c1")
    assert second.parts[0].text == "/\nhome"
    assert second.parts[0].is_error
    assert conversation.calls == (reply, last)
    assert not conversation.starts_inside


def test_branches_of_parallel_calls_and_progress_are_no_rewinds(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "go"),
        said("a2", "u1", "m", asks("c1")),
        said("a3", "a2", "m", asks("c2")),
        line("progress", "p4", "a3", data={"type": "bash_progress"}),
        answered("t5", "a2", "c1", "one"),
        answered("t6", "a3", "c2", "two"),
        line("system", "s7", "t5", subtype="stop_hook_summary"),
        said("a8", "s7", "n", text("both done")),
        line("progress", "p9", "a8", data={}),
        typed("u10", "a8", "thanks"),
    )
    assert shape(read(path)) == ["u1", "m", "t5", "t6", "n", "u10"]


def test_a_prompt_from_further_back_is_a_rewind(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "first"),
        said("a2", "u1", "m", asks("c1")),
        answered("t3", "a2", "c1", "one"),
        said("a4", "t3", "n", text("done")),
        typed("u5", "a4", "second"),
        said("a6", "u5", "o", text("done, too")),
        typed("u7", "a4", "second, reworded"),
        typed("u8", "a2", "third way"),
        typed("u9", "a6", "the old way after all"),
        typed("u10", None, "from the start"),
    )
    expected = "u1 m t3 n u5 o <- n u7 <- t3 u8 <- o u9 <-  u10"
    assert " ".join(shape(read(path))) == expected


def test_an_answer_given_again_is_a_rewind(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "tell me"),
        said("a2", "u1", "m", text("no")),
        said("a3", "u1", "n", text("yes")),
    )
    assert shape(read(path)) == ["u1", "m", "<- u1", "n"]


def test_a_compaction_keeps_its_summary_out_of_the_script(transcript: Transcript) -> None:
    rule = {"type": "nested_memory", "path": "RULES.md", "content": {"content": "use tabs"}}
    path = transcript(
        typed("u1", None, "begin"),
        attached("x2", "u1", **rule),
        said("a3", "x2", "m", text("begun")),
        boundary("b4", "a3"),
        typed("s5", "b4", "Until now: begun.", isCompactSummary=True),
        attached("x6", "s5", **rule),
        attached("x7", "x6", type="skill_listing", content="- deploy"),
        typed("c8", "x7", "<local-command-stdout>Compacted</local-command-stdout>"),
        typed("u9", "c8", "go on"),
        attached("x10", "u9", type="hook_additional_context", content=["be terse"]),
        said("a11", "x10", "n", text("going on")),
    )
    conversation = read(path)
    assert shape(conversation) == ["u1", "x2", "m", "compaction", "c8", "u9", "x10", "n"]
    (compaction,) = conversation.compactions
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 167000)
    assert compaction.kept_from == ""
    summary, again, new = (message.parts[0] for message in compaction.inserted)
    assert (summary.kind, summary.text) == ("summary", "Until now: begun.")
    assert [source.id for source in summary.sources] == ["u1", "x2", "m"]
    assert (again.kind, again.text, again.sources[0].id) == (
        "recovered",
        "RULES.md\nuse tabs",
        "x2",
    )
    assert (new.kind, new.sources) == ("synthetic", ())
    assert conversation.turns == 2


def test_a_compaction_that_keeps_the_end(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "begin"),
        said("a2", "u1", "m", text("begun")),
        typed("u3", "a2", "go on"),
        boundary("b4", "u3", preservedSegment={"headUuid": "u3"}),
        typed("s5", "b4", "Begun.", isCompactSummary=True),
        said("a6", "s5", "n", text("going on")),
    )
    (compaction,) = read(path).compactions
    assert compaction.kept_from == "u3"
    sources = compaction.inserted[0].parts[0].sources
    assert [source.id for source in sources] == ["u1", "m"]


def test_each_sidechain_is_a_conversation(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "split up"),
        typed("u2", None, "left", isSidechain=True),
        typed("u3", None, "right", isSidechain=True, agentId="r"),
        {**said("a4", "u2", "m", text("left done")), "isSidechain": True},
        {**said("a5", "u3", "n", text("right done")), "isSidechain": True, "agentId": "r"},
        said("a6", "u1", "o", text("done")),
    )
    main, left, right = transcripts.read(path)
    names = ["story", "story#sidechain-1", "story#sidechain-2"]
    assert [c.id for c in (main, left, right)] == names
    assert shape(main) == ["u1", "o"]
    assert shape(left) == ["u2", "m"]
    assert shape(right) == ["u3", "n"]


def test_a_file_of_a_sidechain_alone(transcript: Transcript) -> None:
    path = transcript(typed("u1", None, "left", isSidechain=True))
    assert read(path).id == "story#sidechain-1"


def test_what_the_client_says_for_the_model_costs_no_call(transcript: Transcript) -> None:
    def synthetic(uuid: str, parent: str, words: str, **more: Any) -> Record:
        body = {"id": uuid, "model": "<synthetic>", "content": [text(words)], "usage": {}}
        return line("assistant", uuid, parent, message=body, **more)

    path = transcript(
        typed("u1", None, "hi"),
        synthetic("a2", "u1", "API error: overloaded", isApiErrorMessage=True),
        synthetic("a3", "a2", "No response requested."),
        typed("u4", "a3", "again"),
    )
    conversation = read(path)
    assert shape(conversation) == ["u1", "a3", "u4"]
    assert conversation.calls == ()


def test_lines_written_again_count_once(transcript: Transcript) -> None:
    lines = [typed("u1", None, "hi"), said("a2", "u1", "m", text("hello"))]
    assert shape(read(transcript(*lines, *lines))) == ["u1", "m"]


def test_the_same_message_in_another_request_is_another_call(transcript: Transcript) -> None:
    again = said("a3", "a2", "m", text("two"))
    path = transcript(
        typed("u1", None, "hi"),
        said("a2", "u1", "m", text("one")),
        {**again, "requestId": "another"},
    )
    assert shape(read(path)) == ["u1", "m", "m~2"]


def test_a_recording_may_begin_inside_a_session(transcript: Transcript) -> None:
    assert read(transcript(typed("u1", "gone", "hi"))).starts_inside
    summary = typed("s2", "b1", "Before: much.", isCompactSummary=True)
    path = transcript(boundary("b1", "gone"), summary, typed("u3", "s2", "go on"))
    assert read(path).starts_inside


def test_withheld_thinking_is_opaque_and_images_have_a_size(transcript: Transcript) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    path = transcript(
        line("user", "u1", None, message={"content": [text("see"), image]}),
        said("a2", "u1", "m", {"type": "thinking", "thinking": "", "signature": "x"}),
        said("a3", "a2", "n"),
    )
    user, thought, empty = read(path).messages
    assert (user.parts[1].type, user.parts[1].size) == ("image", 1200)
    assert (thought.parts[0].type, thought.parts[0].kind) == ("thinking", "opaque")
    assert [part.kind for part in empty.parts] == ["opaque"]


def test_old_usage_without_lifetimes_is_five_minutes(transcript: Transcript) -> None:
    old = said("a2", "u1", "m", text("hello"))
    old["message"]["usage"]["cache_creation"] = None
    conversation = read(transcript(typed("u1", None, "hi"), old))
    call = conversation.calls[0].call
    assert call is not None
    assert call.usage == Usage(3, 100, 20, 0, output=1)


@pytest.mark.parametrize(
    "wrong",
    [{"timestamp": "yesterday"}, {"message": {"usage": "x"}}, {"message": {"content": 5}}],
)
def test_wrong_types_are_named_or_counted(transcript: Transcript, wrong: Record) -> None:
    path = transcript(
        typed("u1", None, "hi"), {**said("a2", "u1", "m"), **wrong}, typed("u3", "a2", "hello?")
    )
    with pytest.raises(InputError, match=r"story\.jsonl:2: not as expected"):
        read(path, strict=True)
    conversation = read(path)
    assert shape(conversation) == ["u1", "u3"]
    (passed,) = conversation.passed_over
    assert (passed.kind.startswith("line: not as expected"), passed.count) == (True, 1)


def test_a_file_without_messages_is_an_error(transcript: Transcript) -> None:
    with pytest.raises(InputError, match="no messages"):
        read(transcript({"type": "summary", "leafUuid": "x", "summary": "a title"}))


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (
            [typed("u1", "a3", "hi"), said("a2", "u1", "m", text("x")), typed("a3", "a2", "y")],
            ":3: 'a3' hangs from 'a2', and that from 'a3': in a circle",
        ),
        ([typed("u1", None, "hi"), line("tool_use", "t2", "u1", name="ls")], ":2: .* 'tool_use'"),
        ([typed("u1", None, "hi"), line("user", "u2", "u1")], ":2: the message of a line of type"),
        ([typed("u1", None, "hi"), line("attachment", "x2", "u1")], ":2: .* has no attachment"),
        ([typed("u1", None, "hi"), attached("x2", "u1", type="file", words="x")], ":2: .* 'file'"),
        ([typed("u1", None, "hi"), {"type": "user", "message": {"content": "x"}}], ":2: .* uuid"),
    ],
)
def test_what_cannot_be_a_session_is_named(
    transcript: Transcript, records: list[Record], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        read(transcript(*records), strict=True)
    passed = read(transcript(*records, typed("u9", None, "hello?"))).passed_over
    assert sum(each.count for each in passed) == 1


def test_a_placeholder_for_all_ids_is_none_and_lines_follow_as_they_stand(
    transcript: Transcript,
) -> None:
    lines = [typed("x", None, "hi"), said("x", "x", "m", text("hello")), typed("x", "x", "thanks")]
    path = transcript(*lines)
    assert [message.text for message in read(path).messages] == ["hi", "hello", "thanks"]
    assert read(path).passed_over == ()
    with pytest.raises(InputError, match=":2: line that was there before"):
        read(path, strict=True)


def test_a_line_may_hang_from_one_that_comes_later(transcript: Transcript) -> None:
    count = 3_000
    lines = [typed(f"u{n}", f"u{n + 1}", "hi") for n in range(count)]
    assert len(read(transcript(*lines)).messages) == count
    with pytest.raises(InputError, match=rf":{count + 1}: 'u{count}' hangs from 'u0'"):
        read(transcript(*lines, typed(f"u{count}", "u0", "hi")), strict=True)


def at_speed(uuid: str, parent: str, message: str, speed: object) -> Record:
    answer = said(uuid, parent, message, text(message))
    answer["message"]["usage"]["speed"] = speed
    return answer


def test_each_call_has_the_speed_that_it_was_made_at_in_the_name_of_its_model(
    transcript: Transcript,
) -> None:
    speeds = ["fast", "standard", None, "", "fast", "turbo"]
    lines = [at_speed(f"a{n}", f"u{n - 1}", f"m{n}", speed) for n, speed in enumerate(speeds, 1)]
    typed_ones = [typed(f"u{n}", f"a{n}" if n else None, "go") for n in range(len(speeds))]
    path = transcript(*(each for pair in zip(typed_ones, lines, strict=True) for each in pair))
    models = [answer.call.model for answer in read(path).calls if answer.call]
    assert models == [
        *("claude-x+fast", "claude-x", "claude-x", "claude-x", "claude-x+fast", "claude-x+turbo")
    ]


@pytest.mark.parametrize(
    ("tier", "model", "told"),
    [("batch", "claude-x+batch", "batch"), ("priority", "claude-x", "priority"),
     ("standard", "claude-x", ""), (None, "claude-x", "")],
)  # fmt: skip
def test_a_batch_is_billed_at_its_own_price_and_other_tiers_are_told(
    transcript: Transcript, tier: object, model: str, told: str
) -> None:
    answer = at_speed("a2", "u1", "m", None)
    answer["message"]["usage"]["service_tier"] = tier
    (message,) = read(transcript(typed("u1", None, "hi"), answer)).calls
    assert message.call is not None
    assert (message.call.model, message.call.tier) == (model, told)


@pytest.mark.parametrize("speeds", [("fast", None), (None, "fast"), ("standard", "fast")])
def test_not_every_line_of_a_call_need_tell_its_speed(
    transcript: Transcript, speeds: tuple[object, object]
) -> None:
    one, other = speeds
    path = transcript(
        typed("u1", None, "hi"), at_speed("a2", "u1", "m", one), at_speed("a3", "a2", "m", other)
    )
    (answer,) = read(path).calls
    assert answer.call is not None
    assert answer.call.model == "claude-x+fast"


@pytest.mark.parametrize("speed", ["fast@none", "fast+batch", "very fast"])
def test_what_can_be_no_speed_is_refused(transcript: Transcript, speed: str) -> None:
    path = transcript(typed("u1", None, "hi"), at_speed("a2", "u1", "m", speed))
    with pytest.raises(InputError, match=r"story\.jsonl:2: .* is no speed of a request"):
        read(path, strict=True)
