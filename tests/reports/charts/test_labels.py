"""Short names stay different, and lose first what they have in common."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.charts.names import distinct_labels

words = st.text("ab(=,+ )1", min_size=1, max_size=60)


@settings(max_examples=40)
@given(st.lists(words, max_size=12), st.integers(12, 40))
def test_names_that_differ_stay_different_and_fit(names, size):
    short = distinct_labels(names, size)
    assert all(len(text) <= size for text in short)
    assert len(set(short)) == len(set(names))
    assert all(text == name for text, name in zip(short, names, strict=True) if len(name) <= size)


def test_variants_are_told_by_what_sets_them_apart():
    fields = "keep_last=20, pinned=True, budget_tokens=200000"
    names = [f"recency_buffer({fields}, order='{order}')" for order in ("old", "new")]
    assert distinct_labels(names, 32) == [
        "recency_buffer(…, order='old')",
        "recency_buffer(…, order='new')",
    ]


def test_what_cannot_be_told_apart_has_numbers():
    names = ["a" * 30 + letter + "z" * 30 for letter in "xy"]
    assert [text[-3:] for text in distinct_labels(names, 20)] == [" #1", " #2"]
