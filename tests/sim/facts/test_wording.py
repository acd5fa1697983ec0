"""Which words say the same, and which only look alike."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.occurrences import anchors, normal, occurrences
from compactlab.sim.facts.statement_query import WINDOW
from compactlab.sim.facts.wording import Spoken, Wording


def says(text: str, value: str, key: str = "", **more: object) -> bool:
    return Wording(text).says(Fact("f", "entity", key, value, **more)).intact  # type: ignore[arg-type]


SAME = [
    ("eu-west-3", "eu-west-3"), ("(eu-west-3)", "eu-west-3"), ("eu-west-3.", "eu-west-3"),
    ("to EU-West-3, then", "eu-west-3"), ("eu-west-3's", "eu-west-3"),
    ("take 1,500 of them", "1500"), ("take 1500 of them", "1,500"),
    ("take 1\u202f500 or 1\u2009500", "1500"), ("1\u2019500\u2019000", "1500000"),
    ("1_500", "1500"), ("the \uff11\uff15\uff10\uff10", "1500"),
    ("open ./src/a.py:12", "src/a.py"), (r"open src\a.py", "src/a.py"),
    ("open `src/a.py`", "./src/a.py"), ("/home/repo/src/a.py", "src/a.py"),
    ('{"path": "/repo/src/a.py"}', "src/a.py"), ("C:/repo/src/a.py", "src/a.py"),
    ("a  blue\n door", "a blue door"), (r'{"said": "a blue\ndoor"}', "blue door"),
    ("it's done", "it\u2019s done"), ("pass --force here", "--force"),
    ("stra\u00dfe", "STRASSE"),
]  # fmt: skip
OTHER = [
    ("eu-west-31", "eu-west-3"), ("eu-west-3", "eu-west-31"), ("my-eu-west-3", "eu-west-3"),
    ("eu-west-3-backup", "eu-west-3"), ("1.5", "15"), ("15", "1.5"), ("1.5", "5"), ("1.5", "1"),
    ("1,500", "500"), ("15000", "1500"), ("-15", "15"), ("15%", "15"), ("version 1.5.2", "1.5"),
    ("src/a.py", "a.py"), ("b/src/a.py", "src/a.py"), ("./b/src/a.py", "src/a.py"),
    ("https://host/src/a.py", "src/a.py"), ("src/a.py.bak", "src/a.py"),
    ("src/a.pyc", "src/a.py"), ("src/a", "src/a.py"), ("ann@host", "host"),
    ("a bluedoor", "blue door"), ("", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SAME)
def test_these_say_the_same(text: str, value: str) -> None:
    assert says(text, value)


@pytest.mark.parametrize(("text", "value"), OTHER)
def test_these_do_not(text: str, value: str) -> None:
    assert not says(text, value)


def test_a_first_hit_that_is_none_does_not_hide_the_second() -> None:
    assert list(occurrences("eu-west-31 or eu-west-3", "eu-west-3")) == [14]
    assert list(occurrences("aa-aa aa", "aa")) == [6]
    assert list(occurrences("anything", "")) == []


def test_key_and_value_stand_in_one_window_however_they_are_ordered() -> None:
    between = "x " * (WINDOW - 2)
    assert says(f"port {between}8123", "8123", "port")
    assert says(f"8123 {between}port", "8123", "port")
    assert not says(f"port x x x {between}8123", "8123", "port")
    assert not says(f"8123 x x x {between}port", "8123", "port")


def test_all_words_of_a_value_count_for_the_window() -> None:
    between = "x " * (WINDOW - 4)
    assert says(f"port {between}the old one", "the old one", "port")
    assert not says(f"port x x x x x {between}the old one", "the old one", "port")


def test_the_second_place_of_a_value_may_be_the_right_one() -> None:
    assert says("8123 " + "x " * 50 + "port 8123", "8123", "port")


def test_a_variant_counts_as_the_value_and_an_alias_as_the_key() -> None:
    more = {"variants": ("eight",), "aliases": ("socket",)}
    assert says("socket eight", "8123", "port", **more)
    assert not says("socket nine", "8123", "port", **more)


@pytest.mark.parametrize(
    ("polarity", "said", "texts"),
    [
        ("must", True, ["must use X", "always X", "X is required", "we only use X",
                        "make sure it is X", "X, without exception"]),
        ("must", False, ["use X", "must not use X", "you should never use X", "X mustn't"]),
        ("must_not", True, ["never X", "do not X", "don't X", "X is forbidden", "avoid X",
                            "hands off X", "leave X alone"]),
        ("must_not", False, ["X", "always X", "note X", "know X", "nothingness X"]),
    ],
)  # fmt: skip
def test_words_that_demand_and_forbid(polarity: str, said: bool, texts: list[str]) -> None:
    assert {text: says(text, "X", polarity=polarity) for text in texts} == dict.fromkeys(
        texts, said
    )


def test_a_key_alone_is_heard_and_a_value_alone_is_not() -> None:
    fact = Fact("f", "entity", "port", "8123")
    assert Wording("the port").says(fact) == Spoken(key=True)
    assert Wording("the 8123").says(fact) == Spoken()
    assert Wording("the port 8123").says(fact) == Spoken(key=True, stated=True, intact=True)
    assert Wording("the port is now 8123").says(fact) == Spoken(True, True, True, ordered=True)
    assert Wording("the port is 8124").says(fact) == Spoken(key=True, wrong=True)


def test_the_last_word_of_a_key_alone_says_nothing_unless_the_value_stands_with_it() -> None:
    fact = Fact("f", "entity", "booking service port", "8123")
    assert Wording("a guard at port 730").says(fact) == Spoken()
    assert Wording("the port is 8123").says(fact).intact
    assert Wording("the booking service port is 730").says(fact).wrong


def test_what_is_normal_stays_as_it_is() -> None:
    for text in ("Open  ./SRC/main.py", "1,500 or 1\u2019500", r"a\nb", "\u2028x\u00a0y"):
        assert normal(normal(text)) == normal(text)


PIECES = (
    "a", "b3", "_", "-", "/", ".", " ", "ab", "src/", "a.py", "~", "\u00e9", "\u0301", "'", "1,500",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=5), st.lists(st.sampled_from(PIECES), max_size=12)
)
@settings(max_examples=2000)
def test_no_text_says_a_value_without_the_words_that_it_is_looked_for_by(
    value: list[str], text: list[str]
) -> None:
    fact = Fact("f", "entity", "", "".join(value))
    for said in (*text, *value), (*text, " ", *value), (*value, *text):
        wording = Wording("".join(said))
        if wording.says(fact).key:
            assert wording.words.issuperset(anchors(normal(fact.value)))
