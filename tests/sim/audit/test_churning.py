"""Planted churn is measured, with an interval that holds it as often as it says."""

from random import Random

import pytest

from compactlab.reports.audit.churning import GAPS, churn_of, wilson
from compactlab.reports.audit.diagnosis import Finding, diagnose
from compactlab.reports.audit.forecast import forecasts
from compactlab.sim.replay.client import Depth
from tests.sim.audit.client import Client

Session = list[Finding]


def found(client: Client) -> Session:
    return [*diagnose(forecasts(client.log(), client.find))]


def churning(
    seed: int,
    *,
    turns: int = 12,
    at_turns: float = 0.0,
    at_calls: float = 0.0,
    depth: Depth = "front",
) -> Session:
    """A session of a client that changes its prompt at random."""
    rng, client = Random(seed), Client(system=28_000, noise=0, context=60_000)
    for turn in range(turns):
        if turn and rng.random() < at_turns:
            client.churn(depth)
        client.say().ask().result()
        if rng.random() < at_calls:
            client.churn(depth)
        client.ask(ends=True)
    return found(client)


def test_a_client_that_changes_nothing():
    churn = churn_of("planted", [churning(seed) for seed in range(3)])
    for rate, calls in ((churn.turn, 33), (churn.call, 36)):
        assert (rate.calls, rate.front, rate.messages, rate.low) == (calls, 0, 0, 0)
        assert rate.high == pytest.approx(wilson(0, calls)[1], abs=1e-6)
    assert (churn.client, churn.sessions) == ("planted", 3)


def test_a_client_that_always_changes_everything():
    churn = churn_of("planted", [churning(seed, at_turns=1.0) for seed in range(3)])
    assert (churn.turn.calls, churn.turn.front, churn.turn.messages) == (33, 33, 0)
    assert (churn.turn.low, churn.turn.high) == (pytest.approx(wilson(33, 33)[0], abs=1e-6), 1.0)
    assert churn.call.front == 0


def test_how_deep_is_told_apart():
    churn = churn_of("planted", [churning(1, at_calls=1.0, depth="messages")])
    assert (churn.call.calls, churn.call.front) == (12, 0)
    assert churn.call.messages == pytest.approx(12)
    assert (churn.turn.front, churn.turn.messages) == (0, 0)


def test_what_the_log_explains_is_no_churn():
    client = Client(system=28_000).turn().wait(400).turn().compact().turn()
    client.version = "2.0"
    client.turn()
    client.model = "other"
    client.turn()
    churn = churn_of("planted", [found(client)])
    assert (churn.turn.front, churn.turn.messages) == (0, 0)
    assert (churn.turn.calls, churn.call.calls) == (0, 10)  # every new turn had a reason


def test_what_a_compaction_did_away_with_is_no_churn():
    client = Client(system=28_000, context=100).turn().compact(500).churn("front").turn()
    assert churn_of("planted", [found(client)]).turn.calls == 0


def test_nothing_at_all_is_known_of_no_sessions():
    churn = churn_of("planted", [])
    assert (churn.turn.low, churn.turn.high, churn.sessions) == (0.0, 1.0, 0)
    assert (churn.spread, churn.error) == (0.0, 0.0)


def test_the_interval_holds_the_rate_and_is_the_same_every_time():
    sessions = [churning(seed, at_turns=0.3) for seed in range(8)]
    churn = churn_of("planted", sessions)
    assert churn.turn.low < 0.3 < churn.turn.high
    assert churn.turn.low < churn.turn.share("front") < churn.turn.high
    assert churn_of("planted", sessions) == churn


def test_losses_are_counted_by_the_time_since_the_request_before():
    """A client that changes its prompt only when a person comes back after two minutes."""
    client = Client(system=28_000, noise=0, context=60_000)
    for turn in range(12):
        if turn % 3 == 2:
            client.wait(150).churn("front")
        client.turn(2)
    (curve,) = [churn_of("planted", [found(client)]).turn.curve]
    assert [step.after for step in curve] == list(GAPS)
    assert [(step.calls, step.front) for step in curve] == [(7, 0), (0, 0), (4, 4), (0, 0)]


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval(hits, of, low, high):
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("sessions", "rate"), [(1, 0.2), (2, 0.3), (4, 0.3), (8, 0.1)])
def test_the_interval_of_95_percent_holds_the_rate_nearly_as_often(sessions, rate):
    held = 0
    for seed in range(200):
        drawn = [churning(1_000 * seed + one, at_turns=rate) for one in range(sessions)]
        churn = churn_of("planted", drawn)
        held += churn.turn.low <= rate <= churn.turn.high
    assert held >= 180
