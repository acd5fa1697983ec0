"""A session's bill with the losses that no rule can know: its mean, and its interval."""

from math import fsum
from random import Random

import pytest

from compactlab.reports.audit.churning import churn_of, forecast_bill, losses_of
from compactlab.reports.audit.tally import input_costs
from compactlab.sim.replay.client import Churn, Rate
from tests.sim.audit.client import Client
from tests.sim.audit.test_churning import Session, churning, found


def cost(session: Session) -> float:
    return fsum(input_costs(finding.forecast)[1] for finding in session)


def test_without_losses_the_bill_is_that_of_the_rules():
    session = churning(1)
    calm = forecast_bill(
        "calm", session, churn_of("planted", [churning(seed) for seed in range(2, 5)])
    )
    assert calm is not None
    assert calm.expected == calm.rules
    assert calm.low <= calm.rules <= calm.high
    assert calm.recorded == pytest.approx(cost(session))


def test_on_the_average_the_bill_is_right_on_other_sessions():
    fitted = losses_of("planted", [churning(seed, at_turns=0.25) for seed in range(40)])
    others = [churning(seed, at_turns=0.25) for seed in range(100, 140)]
    bills = [forecast_bill(str(seed), session, fitted) for seed, session in enumerate(others)]
    expected, recorded, rules = (
        sum(getattr(each, name) for each in bills) for name in ("expected", "recorded", "rules")
    )
    assert expected == pytest.approx(recorded, rel=0.06)
    assert rules < 0.9 * recorded


@pytest.mark.slow
@pytest.mark.parametrize("differ", [False, True])
def test_the_interval_holds_nine_of_ten_bills_of_other_sessions(differ):
    """Whether all sessions churn alike, or each has a rate of its own."""
    rng = Random(7)

    def drawn(seed: int) -> Session:
        rate = rng.gammavariate(2, 0.06) if differ else 0.12
        return churning(seed, turns=20, at_turns=min(1.0, rate), depth="messages")

    fitted = losses_of("planted", [drawn(seed) for seed in range(80)])
    bills = [forecast_bill(str(seed), drawn(1_000 + seed), fitted) for seed in range(120)]
    held = sum(each.held for each in bills if each)
    assert 0.85 <= held / 120 <= 0.97


def test_the_same_session_has_the_same_bill():
    session, churn = churning(1, at_turns=0.3), churn_of("planted", [churning(2, at_turns=0.3)])
    assert forecast_bill("one", session, churn) == forecast_bill("one", session, churn)


def test_where_more_is_lost_more_is_expected():
    session = churning(1)
    bills = [
        forecast_bill("s", session, Churn("planted", Rate(100, lost), Rate(100, 0, lost / 10)))
        for lost in (0, 5, 20)
    ]
    assert all(bills)
    means = [each.expected for each in bills if each]
    assert means == sorted(means)
    assert means[0] < means[1] < means[2]
    highs = [each.high for each in bills if each]
    assert highs == sorted(highs)


def test_a_session_without_a_price_has_no_bill():
    client = Client(system=28_000)
    from tests.sim.audit import client as made

    model = made.MODELS[made.MAIN]
    client.models = {made.MAIN: type(model)(model.name, 200_000, 0, made.QUICK, "", model.policy)}
    client.turn().turn()
    assert forecast_bill("free", found(client), Churn("planted")) is None


def test_sessions_that_differ_are_told_from_sessions_that_do_not():
    alike = losses_of("planted", [churning(seed, turns=30, at_turns=0.3) for seed in range(20)])
    two = [churning(seed, turns=30, at_turns=0.6 * (seed % 2)) for seed in range(20)]
    assert alike.spread < 0.1
    assert losses_of("planted", two).spread > 0.5


def test_where_sessions_differ_the_interval_is_wider():
    session = churning(1, turns=20)
    alike, differing = (
        forecast_bill("s", session, Churn("planted", Rate(100, 20), spread=spread))
        for spread in (0.0, 2.0)
    )
    assert alike is not None
    assert differing is not None
    assert differing.expected == alike.expected
    assert differing.high - differing.low > 1.2 * (alike.high - alike.low)
