"""aider: a history in Markdown, with rounded counts under its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

HEAD = "# aider chat started at 2026-11-01 10:00:00\n\n> Main model: gpt-5 with diff edit format\n"


def read(path: Path, *texts: str) -> list[Conversation]:
    path.write_text("\n".join(texts))
    conversations = list(transcripts.read(path, strict=True))
    assert {each.format for each in conversations} == {"aider"}
    return conversations


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / ".aider.chat.history.md"


def test_an_answer_has_the_counts_below_it(history: Path) -> None:
    note = (
        "> Tokens: 12k sent, 2.1k cache write, 8k cache hit, 340 received.\n> Cost: $0.04 message"
    )
    (chat,) = read(history, HEAD, "#### Sort the list", "#### and test it.", "", "Done.", "", note)
    asked, answer = chat.messages
    assert (asked.text, answer.text) == ("Sort the list\nand test it.", "Done.")
    assert answer.call
    assert (answer.call.model, answer.call.usage) == (
        "gpt-5",
        Usage(1_900, 8_000, 2_100, output=340),
    )
    assert answer.time == 1_793_527_200


@pytest.mark.parametrize("line", ["> quoted", "#### a heading", "# a comment"])
def test_what_is_fenced_is_a_part_of_the_answer(history: Path, line: str) -> None:
    (chat,) = read(history, HEAD, "#### Go.", "", "```python", line, "```", "So.")
    assert [m.role for m in chat.messages] == ["user", "assistant"]
    assert chat.messages[1].text == f"```python\n{line}\n```\nSo."


def test_an_answer_that_never_ended_its_fence_ends_with_its_counts(history: Path) -> None:
    rows = (
        "#### Go.",
        "",
        "```",
        "x",
        "> Tokens: 1.5k sent, 7 received.",
        "",
        "#### On.",
        "",
        "Ok.",
    )
    (chat,) = read(history, HEAD, *rows)
    assert [m.text for m in chat.messages] == ["Go.", "```\nx", "On.", "Ok."]
    assert [c.call.usage for c in chat.calls if c.call] == [Usage(1_500, output=7), None]


def test_notes_between_two_answers_are_what_aider_asked_again_with(history: Path) -> None:
    rows = (
        "#### Go.",
        "",
        "One.",
        "",
        "> Tokens: 1k sent, 7 received.",
        "> Lint: x",
        "",
        "Two.",
        "",
    )
    (chat,) = read(history, HEAD, *rows, "> Applied edit to a.py", "", "#### Next.", "", "Three.")
    assert [m.text for m in chat.messages] == ["Go.", "One.", "Lint: x", "Two.", "Next.", "Three."]
    assert [m.text for m in chat.messages if m.origin == "aider"] == ["Lint: x"]
    assert chat.turns == 2


def test_commands_are_no_turns_and_clear_forgets(history: Path) -> None:
    rows = ("#### /add a.py", "> Added", "#### Go.", "", "Ok.", "", "#### /clear", "", "> Cleared")
    (chat,) = read(history, HEAD, *rows, "#### /ask Why?", "", "So.")
    assert [e for e in chat.events if isinstance(e, Rewind)] == [Rewind("")]
    assert [m.text for m in chat.messages if m.starts_turn] == ["Go.", "/ask Why?"]


def test_each_start_is_a_chat_of_its_own(history: Path) -> None:
    more = HEAD.replace("11-01", "11-02").replace("gpt-5", "o3")
    one, two = read(history, HEAD, "#### Go.", "", "Ok.", "", HEAD, more, "#### On.", "", "Done.")
    assert [(c.id, c.calls[0].call and c.calls[0].call.model) for c in (one, two)] == [
        ("aider", "gpt-5"),
        ("aider/2", "o3"),
    ]


def test_a_head_alone_is_no_conversation(history: Path) -> None:
    with pytest.raises(InputError, match="no chat in it"):
        read(history, HEAD)
