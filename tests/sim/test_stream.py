"""Random numbers by name."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.stream import chooser, stream

# Whoever changes it changes every generated conversation.
PINNED = 0.43999011239977803

NAMES = st.lists(st.text("abc12", max_size=3), max_size=3)


@given(st.integers(), NAMES, NAMES)
def test_the_same_name_gives_the_same_draws_and_another_gives_others(seed, one, other):
    draws = [stream(seed, *names).random() for names in (one, one, other)]
    assert draws[0] == draws[1]
    assert (draws[0] == draws[2]) == (one == other)


def test_another_seed_gives_other_draws():
    assert stream(0, "gaps").random() != stream(1, "gaps").random()


def test_where_one_name_ends_and_the_next_begins_makes_a_difference():
    assert stream(0, "ab", "c").random() != stream(0, "a", "bc").random()
    assert stream(0, "a").random() != stream(0, "a", "").random()


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_draws_are_the_same_in_every_process_and_stay_so(seed):
    code = "from compactlab.sim.core.stream import stream; print(stream(7, 'gaps', 3).random())"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert float(told.stdout) == stream(7, "gaps", 3).random() == PINNED


def test_any_text_can_be_a_name():
    assert 0 <= stream(0, "\ud800", "").random() < 1


@given(st.integers(0, 99), st.lists(st.integers(1, 130), min_size=1, max_size=20))
def test_a_chooser_draws_what_choice_would_and_leaves_the_stream_where_it_would(seed, sizes):
    mine, other = stream(seed), stream(seed)
    drawn = [chooser(mine, range(size))() for size in sizes]
    assert drawn == [other.choice(range(size)) for size in sizes]
    assert mine.random() == other.random()
