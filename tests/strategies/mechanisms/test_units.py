"""Texts in UTF-16 code units."""

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.text import BLANKS, collapsed, head, whole

# Where the two languages differ, and what takes two code units.
TEXTS = st.text(st.sampled_from("ab \n\t\x1c\x85\ufeff\xa0\u2003\N{ROCKET}é\ud83d"), max_size=20)


@given(TEXTS, st.integers(-2, 25))
def test_a_head_has_so_many_units_and_the_text_begins_with_it(text, units):
    cut = head(text, units)
    assert utf16_length(cut) == max(0, min(units, utf16_length(text)))
    full, begins = (t.encode("utf-16-le", "surrogatepass") for t in (text, cut))
    assert full.startswith(begins)


@given(TEXTS)
def test_what_is_whole_can_be_sent(text):
    assert whole(text).encode() == whole(whole(text)).encode()
    assert whole(text) == text or "\ud83d" in text


@given(TEXTS)
def test_blanks_collapse_as_in_javascript(text):
    words = "".join(" " if character in BLANKS else character for character in text).split(" ")
    assert collapsed(text) == " ".join(filter(None, words))


@given(TEXTS, st.integers(0, 6))
def test_some_words_are_the_first_of_all(text, count):
    assert collapsed(text, count) == " ".join(
        list(filter(None, collapsed(text).split(" ")))[:count]
    )
