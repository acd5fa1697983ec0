"""What was counted once is looked up, and who looks up is told the same."""

import json
from collections.abc import Iterator

import pytest

import compactlab
from compactlab.scenarios.plain import SupportChat
from compactlab.sim.core import tokens
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import Tokenizer, encoding, forget_counts

TOKENIZER = Tokenizer("o200k_base", 1.1)


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    forget_counts()
    yield
    forget_counts()


def talk(*texts: str) -> Conversation:
    said = (
        Message(f"m{n}", "user", (Part("text", text, "verbatim", (Source(f"m{n}"),)),))
        for n, text in enumerate(texts)
    )
    return Conversation("talk", "native", tuple(said))


def sizes(conversation: Conversation) -> list[int]:
    return list(map(TOKENIZER.message, conversation.messages))


def test_counts_come_back_as_they_were():
    story = SupportChat(turns=4).conversation(1)
    forget_counts()
    before = sizes(story)
    (counts,) = tokens.unpacked(tokens.packed([tokens.counted(story)]))
    forget_counts()
    tokens.recall(story, counts)
    assert len(encoding("o200k_base").counts) > len(story.messages) / 2
    assert sizes(story) == before


def test_what_is_recalled_is_believed():
    long = "hello" * 4
    tokens.recall(talk(long, "world"), {"o200k_base": [10, -1]})
    assert sizes(talk(long, "world")) == [11, 1]


def test_but_not_more_tokens_than_there_are_bytes():
    """A store may be a stranger's, and so are the counts beside it."""
    counted = sizes(talk("hello", "w\N{SNOWMAN}"))
    forget_counts()
    tokens.recall(talk("hello", "w\N{SNOWMAN}"), {"o200k_base": [6, 10**15]})
    assert sizes(talk("hello", "w\N{SNOWMAN}")) == counted


def test_nor_what_would_fill_the_memory(monkeypatch):
    packed = tokens.packed([{"o200k_base": [0] * 10_000}])
    assert len(tokens.unpacked(packed)[0]["o200k_base"]) == 10_000
    monkeypatch.setattr(tokens, "_MOST", 1_000)
    assert tokens.unpacked(packed) == []


def test_each_text_stands_once_and_what_nobody_counted_is_unknown():
    story = talk("hello", "world", "hello")
    TOKENIZER.text("world")
    assert tokens.counted(story) == {"o200k_base": [-1, 1]}


def test_nothing_is_kept_of_what_was_never_counted():
    encoding("o200k_base")
    assert tokens.counted(talk("hello")) == {}


@pytest.mark.parametrize("counts", [{"o200k_base": [1_000]}, {"nobody_s": [1_000, 1_000]}])
def test_the_counts_of_something_else_are_passed_over(counts):
    tokens.recall(talk("hello", "world"), counts)
    assert sizes(talk("hello", "world")) == [1, 1]


@pytest.mark.parametrize("content", [b"", b"no file of counts", tokens.packed([{"a": [1]}])[:-3]])
def test_what_is_damaged_is_counted_again(content):
    assert tokens.unpacked(content) == []


def test_a_store_remembers_what_was_counted(tmp_path):
    talk = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "world"}]
    (tmp_path / "talk.json").write_text(json.dumps(talk))

    def prompt(strategy: str) -> int:
        compactlab.run(tmp_path / "talk.json", strategy, ["gpt-5"], out=tmp_path / "store")
        (run,) = compactlab.Results.load(tmp_path / "store").runs
        return run.calls["uncached"][0]

    assert prompt("keep_all") == 1
    # So as to see that nobody counts again, what is remembered is made wrong.
    notes = (tmp_path / "store" / ".counts").iterdir()
    (file,) = (each for each in notes if tokens.unpacked(each.read_bytes()))
    file.write_bytes(tokens.packed([{"o200k_base": [5, 1]}]))
    assert prompt("keep_none") == 5
    file.unlink()
    assert prompt("turn_slice(history_limit=1)") == 1
