"""Sessions of OpenCode: a tree of small files, or one document that was exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.transcript import find
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

Record = dict[str, Any]
SESSION = {"id": "ses_1", "projectID": "p", "directory": "/work/site", "time": {"created": 1}}
PLAIN = {"input": 10, "output": 7, "reasoning": 2, "cache": {"read": 90, "write": 30}}


def text(words: str, **more: Any) -> Record:
    return {"type": "text", "text": words, **more}


def ran(call: str, output: str = "readme", **state: Any) -> Record:
    told = {"status": "completed", "input": {"command": "ls"}, "output": output, **state}
    return {"type": "tool", "tool": "bash", "callID": call, "state": told}


def counted(**tokens: Any) -> Record:
    return {"type": "step-finish", "tokens": {**PLAIN, **tokens}}


def said(id: str, role: str, *parts: Record, at: float = 1_700_000_000, **more: Any) -> Record:
    info = {"id": id, "sessionID": "ses_1", "role": role, "time": {"created": 1000 * at}, **more}
    if role == "assistant":
        info.setdefault("modelID", "claude-sonnet-4-5")
    return {"info": info, "parts": list(parts)}


def exported(path: Path, *messages: Record, **session: Any) -> Path:
    path.write_text(json.dumps({"info": {**SESSION, **session}, "messages": messages}))
    return path


def stored(root: Path, *messages: Record) -> Path:
    """The same as a tree of files."""
    session = root / "session" / "p" / "ses_1.json"
    session.parent.mkdir(parents=True)
    session.write_text(json.dumps(SESSION))
    for message in messages:
        info = message["info"]
        folder = root / "message" / "ses_1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{info['id']}.json").write_text(json.dumps(info))
        for number, part in enumerate(message["parts"]):
            place = root / "part" / info["id"]
            place.mkdir(parents=True, exist_ok=True)
            piece = {**part, "messageID": info["id"], "sessionID": "ses_1"}
            (place / f"prt_{number}.json").write_text(json.dumps(piece))
    return session


def read(path: Path, *, strict: bool = False) -> Conversation:
    (conversation,) = transcripts.read(path, strict=strict)
    assert conversation.format == "opencode"
    return conversation


def told(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


TALK = (
    said("u1", "user", text("look")),
    said("a1", "assistant", text("so"), ran("c1"), counted(), at=1_700_000_005),
    said("a2", "assistant", text("done"), tokens={"input": 5, "output": 3}, at=1_700_000_009),
)


def test_a_tree_and_an_export_tell_the_same(tmp_path: Path) -> None:
    tree, document = (
        read(stored(tmp_path / "storage", *TALK)),
        read(exported(tmp_path / "e", *TALK)),
    )
    assert told(tree) == told(document)
    assert [role for role, _ in told(tree)] == ["user", "assistant", "tool", "assistant"]
    assert [m.call for m in tree.calls] == [m.call for m in document.calls]
    assert (tree.project, tree.subagent) == ("/work/site", False)
    assert read(exported(tmp_path / "s", *TALK, parentID="ses_0")).subagent


def test_tokens_are_those_of_the_step_or_else_of_the_message(tmp_path: Path) -> None:
    first, second = (m.call for m in read(exported(tmp_path / "e", *TALK)).calls)
    assert first is not None
    assert second is not None
    assert first.usage == Usage(10, 90, 30, 0, 7)
    assert second.usage == Usage(5, 0, 0, 0, 3)
    assert first.model == "claude-sonnet-4-5"


def test_reasoning_beyond_the_output_is_beside_it(tmp_path: Path) -> None:
    path = exported(tmp_path / "e", said("a", "assistant", text("x"), counted(reasoning=50)))
    (answer,) = read(path).calls
    assert answer.call is not None
    assert answer.call.usage is not None
    assert answer.call.usage.output == 57


def test_each_step_of_a_message_is_a_call(tmp_path: Path) -> None:
    steps = (ran("c1"), counted(), ran("c2", "more"), counted(input=20), {"type": "patch"})
    conversation = read(exported(tmp_path / "e", said("a", "assistant", *steps)))
    assert [m.call.usage.uncached for m in conversation.calls if m.call and m.call.usage] == [
        10,
        20,
    ]
    assert [role for role, _ in told(conversation)] == ["assistant", "tool", "assistant", "tool"]
    assert [m.parts[0].name for m in conversation.messages] == ["bash"] * 4


def test_a_summary_stands_for_what_came_before_but_for_the_tail(tmp_path: Path) -> None:
    asks = {"type": "compaction", "auto": True, "tail_start_id": "u2"}
    path = exported(
        tmp_path / "e",
        *TALK,
        said("u2", "user", text("and now?")),
        said("u3", "user", asks),
        said("a3", "assistant", text("so far: a site"), summary=True, tokens=PLAIN),
        said("a4", "assistant", text("on it")),
    )
    conversation = read(path)
    (compaction,) = conversation.compactions
    assert (compaction.kept_from, compaction.trigger) == ("u2", "auto")
    (summary,) = compaction.inserted
    assert summary.text == "so far: a site"
    assert {source.id for source in summary.parts[0].sources} >= {"u1", "a1", "a2"}
    assert len(conversation.calls) == 3  # the summary's own request is none of the script


def test_what_nobody_typed_starts_no_turn(tmp_path: Path) -> None:
    path = exported(
        tmp_path / "e",
        said("u1", "user", text("go")),
        said("a1", "assistant", text("ok")),
        said("u2", "user", text("Continue", synthetic=True), text("hidden", ignored=True)),
        said("a2", "assistant", text("done")),
    )
    conversation = read(path)
    assert conversation.turns == 1
    assert told(conversation)[2] == ("user", "Continue")


def test_an_answer_that_was_broken_off_and_cost_nothing_is_no_call(tmp_path: Path) -> None:
    error = {"name": "MessageAbortedError"}
    path = exported(
        tmp_path / "e",
        said("u1", "user", text("go")),
        said("a1", "assistant", text("well"), error=error),
        said("a2", "assistant", error=error),
        said("a3", "assistant", text("done")),
    )
    conversation = read(path)
    assert [m.id for m in conversation.calls] == ["a3"]
    assert [m.origin for m in conversation.messages] == ["", "aborted", ""]


def test_a_folder_is_searched_and_pieces_count_as_no_files(tmp_path: Path) -> None:
    session = stored(tmp_path / "storage", *TALK)
    (tmp_path / "storage" / "migration").write_text("2")
    found, skipped = find([tmp_path / "storage"])
    assert (found, skipped) == ([session], 1)
    with pytest.raises(InputError, match="a piece of a session of OpenCode"):
        list(transcripts.read(tmp_path / "storage" / "message" / "ses_1" / "a1.json"))


def test_parts_of_older_versions_stand_together(tmp_path: Path) -> None:
    session = stored(tmp_path / "storage", *TALK)
    parts = tmp_path / "storage" / "part"
    for number, file in enumerate(sorted(parts.rglob("*.json"))):
        file.rename(parts / f"prt_{number}.json")
    assert [role for role, _ in told(read(session))] == ["user", "assistant", "tool", "assistant"]


def test_no_id_and_no_link_leads_out_of_the_storage(tmp_path: Path) -> None:
    session = stored(tmp_path / "storage", *TALK)
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({**TALK[0]["info"], "id": "x", "role": "user"}))
    (tmp_path / "storage" / "message" / "ses_1" / "z.json").symlink_to(secret)
    assert "x" not in [m.id for m in read(session).messages]
    session.write_text(json.dumps({**SESSION, "id": "../../.."}))
    with pytest.raises(InputError, match="is no id of OpenCode's storage"):
        read(session)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "text"}, "has no text"),
        ({"type": "tool", "callID": "c"}, "has no name"),
        ({"type": "tool", "tool": "bash"}, "has no state"),
        (ran("c", output=None), "neither output nor error"),  # type: ignore[arg-type]
        (ran("c", new_output="b"), "holds something under 'new_output'"),
        ({"type": "poem", "words": "abc"}, "part of type 'poem' is not known"),
        ({"type": "text", "text": "a", "new_text": "b"}, "holds something under 'new_text'"),
        ({"type": 5}, "Expected `str`"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, part: Record, reason: str) -> None:
    path = exported(tmp_path / "story.json", said("u1", "user", text("go"), part))
    with pytest.raises(InputError, match=reason) as error:
        read(path, strict=True)
    assert error.value.path == str(path)
    passed = read(path)
    assert passed.messages[0].text.startswith("go")
    assert sum(each.count for each in passed.passed_over)


def test_a_part_that_says_nothing_new_is_passed_over(tmp_path: Path) -> None:
    parts = (text("go", metadata={"a": 1}), {"type": "mood", "level": 3})
    assert told(read(exported(tmp_path / "e", said("u1", "user", *parts)))) == [("user", "go")]


def test_the_examples_are_read(shared: Path) -> None:
    files = sorted((shared / "formats" / "opencode").rglob("ses_*.json"))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    found = {path.stem: read(path) for path in files}
    assert [len(each.calls) for each in found.values()] == [1, 2, 1]
    assert found["ses_s_stage0_large"].project == "/tmp/large"
