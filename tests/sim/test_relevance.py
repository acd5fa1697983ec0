"""Notes that have to do with a question come first."""

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.notes import ranked

NOTES = ["the parser is slow", "the server has a parser and a cache", "the end", "cache cache"]


def test_rare_words_count_more_than_common_ones():
    assert ranked("the end", NOTES)[0] == 2


def test_a_word_that_is_repeated_counts_more_and_a_long_note_less():
    assert ranked("cache", NOTES) == [3, 1]


def test_case_and_punctuation_do_not_matter():
    assert ranked("PARSER?", NOTES) == ranked("parser", NOTES) == [0, 1]


def test_of_equals_the_earlier_comes_first():
    assert ranked("port", ["a port", "no", "a port", "a port"]) == [0, 2, 3]


def test_nothing_is_found_in_nothing_and_by_nothing():
    assert ranked("port", []) == ranked("", NOTES) == ranked("?!", ["", "!"]) == []


@given(st.text(st.sampled_from("ab ")), st.lists(st.text(st.sampled_from("abc "))))
def test_what_is_found_shares_a_word(query, texts):
    asked = set(query.split())
    assert sorted(ranked(query, texts)) == [
        index for index, text in enumerate(texts) if asked & set(text.split())
    ]
