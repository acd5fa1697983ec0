"""What was lost gets the cause that was planted, and what that stands on is said."""

from math import comb

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.audit.diagnosis import (
    Charge,
    Finding,
    agreed,
    agreement,
    by_pattern,
    chance,
    diagnose,
)
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.tally import causes
from compactlab.sim.cache import OpenaiGrid
from compactlab.sim.core.message import Diagnosis, Message
from tests.sim.audit.client import MAIN, Client, model_of

USUAL = 28_000


def found(client: Client) -> list[Finding]:
    return [*diagnose(forecasts(client.log(), client.find))]


def losses(client: Client, *leave_out: str) -> list[tuple[int, Charge]]:
    """Which calls paid again for what had been stored, and why."""
    return [
        (index, charge)
        for index, finding in enumerate(found(client))
        for charge in finding.charges
        if charge.cause not in ("append", "cold_start", *leave_out)
    ]


def usual(**habits: object) -> Client:
    return Client(system=USUAL, **habits)  # type: ignore[arg-type]


def test_a_session_that_only_grows_loses_nothing():
    client = usual().turn(4).turn(4)
    assert losses(client) == []
    tail = client.tail
    assert causes(found(client)) == {
        ("cold_start", "log"): USUAL + 6_000 + 200 + tail,
        ("append", "log"): 7 * tail + 6 * 2_300 + 500,
    }


def test_what_expired_during_a_pause_or_was_summed_up():
    assert losses(usual().turn().wait(310).turn()) == [(3, Charge("ttl_expired", 38_800, "log"))]
    summed_up = usual().turn().compact(3_000).turn()
    assert losses(summed_up) == [(3, Charge("compaction", 9_203, "log"))]


def test_another_model_has_read_nothing_yet():
    client = usual().turn()
    client.model = "other"
    client.turn(1)
    client.model = MAIN
    client.turn(1)
    assert losses(client) == [(3, Charge("model_switch", 39_303, "log"))]


def test_a_new_version_of_the_client():
    client = usual().turn()
    client.version = "1.1"
    assert losses(client.turn()) == [(3, Charge("client_upgrade", 38_800, "log"))]


def test_other_settings_cost_the_messages():
    client = usual()
    client.thinking = "low"
    client.turn()
    client.thinking = "high"
    assert losses(client.turn(1)) == [(3, Charge("settings_changed", 38_800 - USUAL, "log"))]


def test_thinking_that_the_model_drops():
    client = usual()
    client.model = "forgetful"
    client.turn(thought=3_000).turn()
    [(index, charge)] = losses(client)
    assert (index, charge.cause, charge.ground) == (3, "thinking_strip", "log")


def test_a_rewind_and_too_many_blocks():
    client = usual().turn()
    client.rewind("m3").turn(1)
    assert [(index, c.cause) for index, c in losses(client)] == [(3, "rewind")]
    client = usual().turn().say()
    for _ in range(11):
        client.result(100).say(10, meta=True)
    assert [(i, c.cause) for i, c in losses(client.ask())] == [(3, "lookback_miss")]


def test_what_was_foreseen_is_no_cause_of_a_loss_more_than_twice_as_large():
    """Too many blocks cost the messages alone; at the same call the front is another one, too."""
    client = usual().turn().say()
    for _ in range(11):
        client.result(100).say(10, meta=True)
    client.churn("front").ask()
    [(index, charge)] = losses(client)
    foreseen = found(client)[index].forecast.causes["lookback_miss"]
    assert 0 < 2 * foreseen < charge.tokens
    assert (charge.cause, charge.ground) == ("unexplained", "none")


@pytest.mark.parametrize(
    ("client", "short"),
    [
        (lambda: Client(system=200, context=100).turn(3, tokens=50), [(1, 503), (2, 853)]),
        (lambda: Client(system=20, context=10).turn(2, tokens=50), [(1, 233)]),
    ],
)
def test_a_prefix_that_is_too_short(client, short):
    assert [(i, c.cause, c.tokens) for i, c in losses(client())] == [
        (index, "below_minimum", tokens) for index, tokens in short
    ]


def test_results_that_were_cleared_without_a_word():
    client = usual().turn(6, tokens=9_000).clear("m3", "m5").turn()
    [(index, charge)] = losses(client)
    assert (index, charge.cause, charge.ground) == (6, "history_edit", "log")


def test_a_grid_leaves_something_out_at_every_call():
    client = usual(ttl="", tail=0, models={MAIN: model_of(MAIN, OpenaiGrid())}).turn(4)
    assert [(c.cause, c.ground, c.tokens < 128) for _, c in losses(client)] == [
        ("grid", "log", True)
    ] * 3


# What the log does not tell


def test_what_was_read_tells_how_deep_the_client_changed_its_prompt():
    client = usual().turn().churn("messages").turn().turn().churn("front").turn()
    assert losses(client) == [
        (3, Charge("history_edit", 10_800, "read")),
        (9, Charge("unexplained", 49_000, "none")),
    ]


def test_a_change_somewhere_in_front_is_one_of_the_system_prompt():
    """Nothing that this session had stored ends there, so another one has kept it alive."""
    client = Client(system=9_000, context=30_000).turn().churn("messages").turn()
    [(index, charge)] = losses(client)
    assert (index, charge.cause, charge.ground) == (3, "system_changed", "read")


def churning(turns: int, *, opening: bool) -> Client:
    """A client that changes everything at every fourth turn, or in the midst of it."""
    client = usual()
    for turn in range(turns):
        if turn % 4 == 3 and opening:
            client.churn("front")
        client.say().ask().result()
        if turn % 4 == 3 and not opening:
            client.churn("front")
        client.ask().result().ask(ends=True)
    return client


def grounds(findings: list[Finding]) -> set[str]:
    return {charge.ground for finding in findings for charge in finding.charges}


def test_losses_that_keep_to_new_turns_are_no_chance():
    findings = found(churning(40, opening=True))
    named = by_pattern(findings)
    assert grounds(findings) == {"log", "none"}
    assert grounds(named) == {"log", "pattern"}
    assert [sum(c.tokens for c in each.charges) for each in named] == [
        e.cache_misses for e in findings
    ]


def test_losses_at_any_time_and_a_few_of_them_stay_unexplained():
    for client in (churning(40, opening=False), churning(8, opening=True)):
        findings = found(client)
        assert by_pattern(findings) == findings
        assert grounds(findings) == {"log", "none"}


def test_nothing_has_no_pattern():
    assert by_pattern([]) == []


@given(st.integers(0, 40), st.integers(0, 40), st.fractions(0, 1, max_denominator=20))
def test_chance_is_the_tail_of_the_binomial(hits, of, share):
    hits = min(hits, of)
    exact = sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(hits, of + 1))
    assert chance(hits, of, float(share)) == pytest.approx(float(exact), abs=1e-12)


def test_chance_knows_thousands():
    assert chance(0, 50_000, 0.2) == pytest.approx(1.0)
    assert chance(50_000, 50_000, 0.2) == 0.0
    assert chance(10_001, 20_000, 0.5) == pytest.approx(0.4972, abs=1e-3)


def diagnosed(client: Client, which: int, reason: str) -> Client:
    """The same log, in which the provider gives a reason for a miss of one of its calls."""
    answers = [
        (index, event)
        for index, event in enumerate(client.events)
        if isinstance(event, Message) and event.call is not None
    ]
    index, answer = answers[which]
    assert answer.call is not None
    call = msgspec.structs.replace(answer.call, diagnosis=Diagnosis(reason, 9))
    client.events[index] = msgspec.structs.replace(answer, call=call)
    return client


def told(client: Client, which: int) -> tuple[str, str, str]:
    """Of one call: the cause of its loss, on what that stands, and what the rules say."""
    finding = found(client)[which]
    (charge,) = [c for c in finding.charges if c.cause not in ("append", "cold_start")]
    return charge.cause, charge.ground, finding.guess


EXPIRED = ("ttl_expired", "log", "ttl_expired")


@pytest.mark.parametrize(
    ("client", "word", "cause"),
    [
        (lambda: usual().turn().churn("front"), "system_changed",
         ("system_changed", "provider", "unexplained")),
        # Where it may mean several causes, the rules choose among them.
        (lambda: usual().turn().compact(3_000), "messages_changed",
         ("compaction", "provider", "compaction")),
        # Where they name another one, its plainest meaning stands.
        (lambda: usual().turn().wait(310), "messages_changed",
         ("history_edit", "provider", "ttl_expired")),
        # A word that names no cause leaves ours.
        *((lambda: usual().turn().wait(310), word, EXPIRED)
          for word in ("unavailable", "previous_message_not_found", "no_such_word")),
    ],
)  # fmt: skip
def test_the_providers_word_is_the_cause(client, word, cause):
    assert told(diagnosed(client().turn(), 3, word), 3) == cause


def test_rules_and_provider_are_compared_and_the_rules_have_not_seen_it():
    plain = found(usual().turn().wait(310).turn())[3]
    client = diagnosed(usual().turn().wait(310).turn(), 3, "messages_changed")
    pairs = agreement(found(client))
    assert pairs == {("messages_changed", "ttl_expired"): 1}
    assert agreed(pairs) == (0, 1)
    assert found(client)[3].guess == plain.guess
    silent = agreement(found(diagnosed(usual().turn().wait(310).turn(), 3, "unavailable")))
    assert agreed(silent) == (0, 0)
