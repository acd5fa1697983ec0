"""What the fast suite leaves to the slow one: names that exist, and fewer examples."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FAST, draw_fewer


def test_every_test_that_is_named_exists(root):
    for name in FAST:
        path, _, function = name.partition("::")
        assert f"\ndef {function}(" in (root / "tests" / path).read_text("utf-8"), name


@pytest.mark.parametrize(("all_of_them", "drawn"), [(100, 10), (30, 5), (5, 5), (2, 2)])
def test_a_property_is_tried_on_fewer_examples_however_often_it_is_asked(all_of_them, drawn):
    seen = []

    @settings(max_examples=all_of_them)
    @given(st.integers())
    def test(number: int) -> None:
        seen.append(number)

    for _ in range(2):
        draw_fewer(SimpleNamespace(obj=test))
    test()
    assert len(seen) == drawn
