"""What the model of pi or OpenClaw saw, in stories whose contexts were edited."""

from __future__ import annotations

from pathlib import Path

from compactlab.reports.audit.compactions import compactions_of
from compactlab.reports.explain.explanation import anatomy
from compactlab.scenarios.readers import native
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.pi import conversation_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.replay.recording import exchanges
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.sizes import Unseen
from compactlab.strategies.controls import AsRecorded
from tests.corpus.stories import stories_of


def read(folder: Path, title: str) -> Conversation:
    (path,) = stories_of("pi")[title].write(folder)
    (conversation,) = transcripts.read(path, strict=True)
    return conversation


def wording(conversation: Conversation) -> list[list[str]]:
    """The words of each request, as the session was recorded."""
    trace = record(conversation, AsRecorded(), Options("claude-sonnet-4-5", overhead=Unseen()))
    return [["".join(part.text for part in m.parts) for m in prompt] for prompt in trace.prompts()]


def test_an_edit_is_what_the_model_sees_from_then_on(tmp_path: Path) -> None:
    title = "an edit is what the model sees from then on and the script keeps the words"
    conversation = read(tmp_path, title)
    assert wording(conversation)[-1] == ['{"command":"ls"}', "a.txt", "Two.", "on"]
    (edit,) = conversation.compactions
    assert edit.inserted[0] is conversation.messages[1]
    assert anatomy(conversation).compactions == ()
    assert compactions_of(conversation, lambda name: None) == []  # type: ignore[arg-type,return-value]


def test_what_an_edit_leaves_alone_are_the_very_messages_even_from_a_copy(tmp_path: Path) -> None:
    conversation = read(tmp_path, "what an edit leaves alone are the very messages")
    native.write(conversation, tmp_path / "copy.jsonl")
    (copy,) = transcripts.read(tmp_path / "copy.jsonl")
    *_, last = exchanges(copy)
    assert list(map(id, last.context)) == [id(copy.messages[0]), id(copy.messages[2])]


def test_a_compaction_repeats_once_what_has_changed_in_the_system_prompt(tmp_path: Path) -> None:
    title = "the first system message is the prompt and later ones stand where they came"
    second, third = wording(read(tmp_path, title))[1:]
    assert second[2].startswith("The section 'cwd' of the system prompt is now:\n\n/b")
    assert "'preamble' of the system prompt is gone" in second[2]
    assert second[2].endswith("These tools are gone: bash")
    assert [words.count("/b") for words in third] == [1, 0, 0, 0, 0, 0]


def test_openclaw_starts_anew_goes_back_and_hangs_entries_beside(tmp_path: Path) -> None:
    told = wording(read(tmp_path, "OpenClaw starts anew goes back and hangs entries beside"))
    assert told[2] == ["one", '{"command":"ls"}', "ok", "1", "two"]
    assert told[3] == ["1", "two", "2", "three"]  # a result that nobody asked for goes, too


def test_a_session_may_come_from_elsewhere_than_a_file_of_lines(tmp_path: Path) -> None:
    (path,) = stories_of("pi")["what an edit leaves alone are the very messages"].write(tmp_path)
    records = [(7, line) for line in path.read_bytes().splitlines()]
    conversation = conversation_of(iter(records), Lines(path), "s1")
    assert (conversation.id, len(conversation.messages)) == ("s1", 4)
