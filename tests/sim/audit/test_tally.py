"""Totals, errors and rebuilds of a session whose truth is known."""

from dataclasses import replace

import pytest

from compactlab.reports.audit.diagnosis import Finding, diagnose
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.tally import Pair, Rebuilds, Tally, causes, input_costs, tally
from compactlab.sim.models.model import find_model
from tests.sim.audit.client import Client, model_of

USUAL = 28_000


def found(client: Client) -> list[Finding]:
    return [*diagnose(forecasts(client.log(), client.find))]


def tallied(client: Client) -> Tally:
    return tally("planted", client.format, found(client))


def usual(**habits: object) -> Client:
    return Client(system=USUAL, **habits)  # type: ignore[arg-type]


def test_an_error_is_a_share_of_what_was_recorded():
    assert Pair(110, 100).error == pytest.approx(0.1)
    assert Pair(1, 0).error is None
    assert Pair(1, 2) + Pair(3, 4) == Pair(4, 6)


def test_where_rules_suffice_there_is_no_error():
    told = tallied(usual().turn(4).wait(400).turn(4).compact().turn())
    assert told.calls == 11
    for pair in (told.prompt, told.read, told.written, told.cost):
        assert pair
        assert pair.error == pytest.approx(0, abs=1e-3)
    assert (told.exact, told.near) == (1.0, 1.0)
    assert told.rebuilds == Rebuilds(recorded=2, follow=2, found=2, invented=0)


def test_a_rebuild_that_nobody_could_foresee_is_recorded_and_does_not_follow():
    told = tallied(usual().turn().churn("front").turn().churn("messages").turn())
    assert told.rebuilds == Rebuilds(recorded=2, follow=0, found=0, invented=0)
    assert told.exact == told.near == pytest.approx(7 / 9)
    assert told.written.error
    assert told.written.error < 0 < (told.read.error or 0)


def test_a_rebuild_that_follows_and_was_not_foreseen_is_missed():
    client = usual().turn(4)
    client.rewind(client.last).churn("messages")
    told = tallied(client.turn())
    assert told.rebuilds == Rebuilds(recorded=1, follow=1, found=0, invented=0)


def test_a_rebuild_that_did_not_happen_is_invented():
    """The log says that five minutes had gone by; other sessions had kept everything warm."""
    client = usual().turn()
    client.now += 200
    client.suggest()
    client.now += 200
    told = tallied(client.turn())
    assert told.rebuilds == Rebuilds(recorded=0, follow=0, found=0, invented=1)


def test_less_than_four_thousand_tokens_are_no_rebuild():
    client = Client(system=500, context=600).turn(2).wait(400).turn(1)
    assert found(client)[2].lost == found(client)[2].expected_lost == 3_600
    assert tallied(client).rebuilds == Rebuilds()


def test_rebuilds_add_up():
    assert Rebuilds(1, 2, 3, 4) + Rebuilds(10, 20, 30, 40) == Rebuilds(11, 22, 33, 44)


def test_dollars_are_those_of_the_recorded_classes():
    """Sonnet 4.5: 3 dollars a million, 3.75 for a write of five minutes, 0.30 for a read."""
    expired = found(usual().turn().wait(310).turn())[3]
    cost = (39_300 * 3.75 + 3 * 3.0) / 1e6
    assert input_costs(expired.forecast) == pytest.approx((cost, cost), abs=1e-5)
    warm = found(usual().turn())[1]
    cost = (34_200 * 0.3 + 2_300 * 3.75 + 3 * 3.0) / 1e6
    assert input_costs(warm.forecast) == pytest.approx((cost, cost), abs=1e-5)


def test_an_hour_is_dearer():
    [first] = found(usual(ttl="1h").turn(1))
    cost = (34_200 * 6 + 3 * 3) / 1e6
    assert input_costs(first.forecast) == pytest.approx((cost, cost))


def test_without_a_price_there_are_no_dollars():
    unpriced = replace(model_of("main"), price="", name="main")
    client = usual(models={"main": unpriced}).turn()
    told = tallied(client)
    assert told.cost is None
    assert told.read.error == 0


def test_the_table_of_causes_is_sorted_and_complete():
    findings = found(usual().turn().wait(310).turn().churn("front").turn())
    table = causes(findings)
    assert sum(table.values()) == sum(finding.cache_misses for finding in findings)
    assert list(table.values()) == sorted(table.values(), reverse=True)
    assert {("ttl_expired", "log"), ("unexplained", "none")} < {*table}


def test_the_models_are_looked_up_by_their_recorded_names():
    client = usual(models={"claude-sonnet-4-5-20250929": model_of("main")})
    client.model = "claude-sonnet-4-5-20250929"
    first, *_ = forecasts(client.turn().log())
    assert first.model is find_model("claude-sonnet-4-5")
