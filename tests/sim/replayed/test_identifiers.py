"""Words that name something, told from words that do not; hostile texts end, too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.facts.needs import identifiers, used, words, words_among

NAMES = [
    "src/main.py",
    "/etc/hosts",
    "~/notes",
    "~/.config/app.toml",
    "C:\\temp\\log.txt",
    "./run.sh",
    "main.py",
    "parse_args",
    "__init__",
    "camelCase",
    "HTTPServer2Go",
    "module.Class.method",
    "https://example.org/a?b",
    "user@example.org",
    "deadbeef1234567",
    "AB-1200",
    "#4797",
    "v1.2.3",
    "127.0.0.1:8080",
    "1500",
    "404",
    "2026-11-21",
    "eu-west-3",
]
PLAIN = ["hello", "I", "the", "Paris", "URGENT", "15", "7", "x", "-", "...", "---", "_", "99%", "'"]


@pytest.mark.parametrize("name", NAMES)
def test_this_names_something(name):
    assert identifiers(f"look at {name} please")


@pytest.mark.parametrize("word", PLAIN)
def test_this_does_not(word):
    assert not identifiers(word)
    assert not identifiers(f"say {word} again")


@pytest.mark.parametrize(
    "around", ["{}.", "({})", "'{}'", "`{}`,", "{}:", "{}?", '"{}";', "[{}]", "**{}**"]
)
@pytest.mark.parametrize("name", ["src/main.py", "parse_args", "AB-1200", "1500"])
def test_punctuation_around_a_name_is_no_part_of_it(name, around):
    assert identifiers(around.format(name)) == {name}


@pytest.mark.parametrize("hash", ["3f2a9bc", "a1b2c3d4e5f6", "e83c5163316f89bf"])
def test_a_hash_names_something_however_its_digits_fall(hash):
    assert identifiers(f"fixed in {hash} already") == {hash}


def test_a_number_of_two_digits_is_no_name_and_one_of_three_is():
    assert identifiers("15 of 99 and 100 of 1000") == {"100", "1000"}


def test_letters_of_every_script_make_words():
    assert "größe" in words("die größe zählt")
    assert identifiers("größe_neu и файл.txt") >= {"größe_neu"}


def test_what_is_too_long_is_data():
    assert identifiers("a" * 150 + "_" + "b" * 49)
    assert not words("a" * 150 + "_" + "b" * 50)


@given(st.text())
def test_names_are_words_of_the_text(text):
    found = words(text)
    assert identifiers(text) <= found
    assert all(word in text and 1 < len(word) <= 200 for word in found)


@given(st.text(), st.text())
def test_two_lines_have_the_words_of_both(one, two):
    assert words(f"{one}\n{two}") == words(one) | words(two)
    assert identifiers(f"{one}\n{two}") == identifiers(one) | identifiers(two)


def action(arguments: str, text: str = "") -> frozenset[str]:
    said = [verbatim("a", "text", text)] if text else []
    return used(
        Message("a", "assistant", (*said, verbatim("a", "tool_call", arguments, name="read")))
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("{}", set()), ('{"path": "src/main.py"}', {"src/main.py"}),
        ('{"city": "Paris"}', {"Paris"}), ('{"n": 7}', set()), ('{"n": 12}', {"12"}),
        ('{"n": 1.5}', {"1.5"}), ('{"n": true, "m": null}', set()),
        ('{"command": "grep the parse_args in src"}', {"parse_args"}),
        ('{"edits": [{"old": "Paris"}, {"new": "Rome"}]}', {"Paris", "Rome"}),
        ('["Paris", 1200]', {"Paris", "1200"}), ('"Paris"', {"Paris"}), ('{"Paris": ""}', set()),
        ("not json, but parse_args", {"parse_args"}), ("Paris", {"Paris"}),
        ('{"path": "src/main.py"', {"src/main.py"}), ("", set()),
    ],
)  # fmt: skip
def test_an_action_uses_its_arguments(arguments, found):
    assert action(arguments) == found


def test_an_action_uses_the_names_in_its_words_too():
    assert action("{}", "now I fix parse_args there") == {"parse_args"}


@pytest.mark.parametrize("type", ["thinking", "tool_result", "image"])
def test_what_is_no_action_uses_nothing(type):
    assert used(Message("a", "assistant", (verbatim("a", type, "src/main.py"),))) == frozenset()


@given(st.text() | st.binary().map(repr))
def test_any_text_can_stand_for_arguments(text):
    assert all(word in text for word in action(text)) or text.strip()[:1] in '[{"-0123456789'


def test_half_a_character_can_stand_in_arguments():
    assert action('{"path": "src/main.py\ud800"}')


DEEP = 10_000
HOSTILE = {
    "dots": ("." * 1_000_000, set()),
    "slashes": ("/" * 1_000_000, set()),
    "colons": (":" * 1_000_000, set()),
    "dashes and dots": ("-." * 500_000, set()),
    "one letter behind": ("." * 1_000_000 + "a", set()),
    "one letter before": ("a" + "." * 1_000_000, set()),
    "one word": ("a" * 1_000_000, set()),
    "dotted letters": ("a." * 500_000, set()),
    "open brackets": ("[" * DEEP, set()),
    "nested lists": ("[" * DEEP + "]" * DEEP, set()),
    "nested objects": ('{"a":' * DEEP + "1" + "}" * DEEP, set()),
    "nested names": ('{"a":' * DEEP + '"src/main.py"' + "}" * DEEP, {"src/main.py"}),
    "a number of a megabyte": ("1" * 1_000_000, set()),
    "a large exponent": ("1e999999", {"1e999999"}),
}


@pytest.mark.parametrize(("text", "found"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_ends(text, found):
    assert action(text) == found
    assert {word for word in identifiers(text) if len(word) > 200} == set()


def test_many_names_are_all_found():
    text = " ".join(f"name_{number}" for number in range(100_000))
    assert len(identifiers(text)) == 100_000


PIECES = st.sampled_from(["a", "ab", "x_1", "3.5", " ", "\n", "+", "-", "./", "~", "@", "%:", ","])


@given(st.lists(PIECES, max_size=30).map("".join), st.lists(PIECES, max_size=30).map("".join))
def test_words_that_are_wanted_are_those_of_all_words(text, other):
    wanted = dict.fromkeys(words(other))
    assert set(words_among(text, wanted)) == words(text) & wanted.keys()


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_has_the_words_that_it_has_in_other_text(text):
    assert words(text) == words(f"{text} \N{SNOWMAN}")
