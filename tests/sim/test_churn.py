"""What an audit measured of a client's churn: checked, written, read again, and drawn from."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.stream import stream
from compactlab.sim.replay.client import Churn, Rate, Step, read_churn, write_churn


def counts(draw: st.DrawFn) -> tuple[int, float, float]:
    calls = draw(st.integers(0, 10_000))
    front = draw(st.integers(0, calls))
    return calls, front, draw(st.integers(0, calls - front)) * draw(st.sampled_from([0.5, 1.0]))


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    low, high = sorted(draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    starts = sorted(draw(st.sets(st.floats(0, 9_999), max_size=4)))
    return Rate(*counts(draw), low, high, tuple(Step(start, *counts(draw)) for start in starts))


SHARES = st.floats(0, 9)
CHURNS = st.builds(Churn, st.text(max_size=9), rates(), rates(), st.integers(0, 99), SHARES, SHARES)


@pytest.mark.parametrize(
    "figures",
    [
        (5, 3, 3),
        (5, -1, 2),
        (5, 2, -1),
        (-5, 0, 0),
        (0, 1, 0),
        (5, float("nan"), 0),
        (5, 1, 1, 0.6, 0.4),
        (5, 1, 1, -0.1, 0.4),
        (5, 1, 1, 0.1, 1.4),
        (5, 1, 1, float("nan"), 1),
    ],
)
def test_figures_that_cannot_be_are_refused(figures):
    with pytest.raises(ValueError, match="must"):
        Rate(*figures)  # type: ignore[arg-type]


@pytest.mark.parametrize("starts", [(5, 5), (9, 3)])
def test_steps_that_do_not_ascend_are_refused(starts):
    with pytest.raises(ValueError, match="ascend"):
        Rate(curve=tuple(map(Step, starts)))


@pytest.mark.parametrize("after", [-1.0, float("nan"), float("inf")])
def test_a_step_starts_after_a_number_of_seconds(after):
    with pytest.raises(ValueError, match="seconds"):
        Step(after)


@pytest.mark.parametrize("figures", [(-0.1, 0.0), (0.0, -1.0), (float("nan"), 0.0), (0.0, 1e999)])
def test_spread_and_error_are_numbers_from_nought_on(figures):
    with pytest.raises(ValueError, match="numbers from 0"):
        Churn("c", spread=figures[0], error=figures[1])


@given(rates(), st.floats(0, 20_000), st.sampled_from(["front", "messages"]))
def test_a_share_lies_between_that_of_its_step_and_that_of_the_whole(rate, gap, depth):
    step = next((each for each in reversed(rate.curve) if each.after <= gap), None)
    whole, share = rate.share(depth), rate.share(depth, gap)
    if step is None or not step.calls:
        assert share == pytest.approx(whole)
    else:
        own = getattr(step, depth) / step.calls
        assert min(own, whole) - 1e-9 <= share <= max(own, whole) + 1e-9
        assert step.calls < 100 or abs(share - own) <= 0.05 * abs(whole - own) + 1e-9


def test_a_draw_asks_the_step_of_its_gap():
    steps = Step(0.0, 1_000), Step(60.0, 1_000, messages=1_000)
    churn = Churn("c", Rate(2_000, 0, 1_000, curve=steps))
    assert churn.draw(Stub(0.5), opens_turn=True, gap=59.9) is None
    assert churn.draw(Stub(0.5), opens_turn=True, gap=60.0) == "messages"


def test_nothing_measured_is_no_churn():
    assert Rate().share("front") == Rate().share("messages") == 0.0
    assert (Rate().low, Rate().high) == (0.0, 1.0)
    assert Churn("new").draw(stream(0, "draws"), opens_turn=True) is None


@given(CHURNS)
def test_what_was_written_is_read(tmp_path_factory, churn):
    file = tmp_path_factory.mktemp("churn") / "churn.json"
    file.write_bytes(write_churn(churn))
    assert read_churn(file) == churn
    assert file.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"PK\x03\x04",
        b'{"client": "x", "surprise": 1}',
        b'{"client": "x", "turn": {"calls": 1, "front": 2}}',
        b'{"client": "x", "turn": {"calls": -3}}',
        b'{"client": "x", "turn": {"low": 2, "high": 3}}',
        b'{"client": "x", "turn": {"calls": "many"}}',
        b'{"client": 5}',
    ],
)
def test_another_file_is_refused_by_its_name(text, tmp_path):
    file = tmp_path / "other.json"
    file.write_bytes(text)
    with pytest.raises(InputError, match="this is not a churn") as refused:
        read_churn(file)
    assert "other.json" in str(refused.value)


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path):
    for file in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError) as refused:
            read_churn(file)
        assert file.name in str(refused.value)


class Stub(random.Random):
    """Draws what it was given."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def random(self) -> float:
        return self.number


TURNS = Churn("c", Rate(100, 10, 25), Rate(100, 0, 1))


@pytest.mark.parametrize(
    ("number", "turn", "call"),
    [
        (0.0, "front", "messages"),
        (0.0099, "front", "messages"),
        (0.01, "front", None),
        (0.0999, "front", None),
        (0.1, "messages", None),
        (0.3499, "messages", None),
        (0.35, None, None),
        (0.9999, None, None),
    ],
)
def test_a_draw_falls_where_the_shares_say(number, turn, call):
    assert TURNS.draw(Stub(number), opens_turn=True) == turn
    assert TURNS.draw(Stub(number), opens_turn=False) == call


def test_draws_come_as_often_as_they_were_measured():
    rng = stream(0, "draws")
    drawn = [TURNS.draw(rng, opens_turn=True) for _ in range(20_000)]
    assert drawn.count("front") / 20_000 == pytest.approx(0.1, abs=0.01)
    assert drawn.count("messages") / 20_000 == pytest.approx(0.25, abs=0.01)


def test_every_draw_takes_one_number_whatever_comes_of_it():
    """So that one strategy's draws are another one's."""
    one, other = stream(0, "draws"), stream(0, "draws")
    for opens in (True, False, True):
        TURNS.draw(one, opens)
        other.random()
    assert one.random() == other.random()
