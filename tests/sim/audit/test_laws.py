"""What holds of every audit, however strange the log."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.audit.churning import churn_of
from compactlab.reports.audit.diagnosis import diagnose
from compactlab.reports.audit.forecast import forecasts
from compactlab.reports.audit.ledger import audit, name_by_pattern
from compactlab.reports.audit.tally import causes
from compactlab.sim.core.conversation import Conversation, Event
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message
from compactlab.sim.models.model import Model
from tests.sim.audit.client import MODELS, Client
from tests.sim.audit.drawn import rubbish, sessions


def find(name: str) -> Model:
    if name not in MODELS:
        raise ModelError(f"unknown model {name}")
    return MODELS[name]


def foretold(conversation: Conversation) -> list[tuple[Any, ...]]:
    """All that was said of each call before it was looked at."""
    return [
        (each.model.name, each.prompt, each.lookup, each.causes, each.had, each.before, each.system)
        for each in forecasts(conversation, find)
    ]


def counted(client: Client) -> list[int]:
    """Where in a log its counted calls are answered."""
    events = enumerate(client.events)
    return [i for i, event in events if isinstance(event, Message) and event.call is not None]


def with_events(client: Client, events: list[Event]) -> Conversation:
    return Conversation("planted", client.format, tuple(events))


@given(data=st.data(), client=sessions())
def test_what_was_read_changes_no_forecast_up_to_that_call(data, client):
    places = counted(client)
    which = data.draw(st.integers(0, len(places) - 1))
    answer = client.events[places[which]]
    assert isinstance(answer, Message)
    assert answer.call
    assert answer.call.usage
    usage = answer.call.usage
    stored = usage.cache_read + usage.cache_write
    read = data.draw(st.integers(0, stored))
    other = msgspec.structs.replace(
        usage, cache_read=read, cache_write_5m=stored - read, cache_write_1h=0
    )
    call = msgspec.structs.replace(answer.call, usage=other)
    events = [*client.events]
    events[places[which]] = msgspec.structs.replace(answer, call=call)
    mine, its = foretold(client.log()), foretold(with_events(client, events))
    assert mine[: which + 1] == its[: which + 1]


@given(data=st.data(), client=sessions())
def test_what_came_later_changes_no_forecast(data, client):
    places = counted(client)
    which = data.draw(st.integers(0, len(places) - 1))
    shorter = with_events(client, client.events[: places[which] + 1])
    assert foretold(client.log())[: which + 1] == foretold(shorter)


@given(sessions())
def test_recorded_sizes_are_those_that_were_recorded(client):
    for forecast in forecasts(client.log(), find):
        assert forecast.had == forecast.before
        assert forecast.prompt == forecast.exchange.usage.prompt


@given(st.one_of(sessions().map(Client.log), rubbish()))
def test_every_fresh_token_has_one_cause(conversation):
    for finding in diagnose(forecasts(conversation, find)):
        tokens = [charge.tokens for charge in finding.charges]
        assert (
            sum(tokens)
            == finding.cache_misses
            == finding.forecast.exchange.usage.prompt - finding.read
        )
        assert min(tokens) >= 0
        assert all((c.cause == "unexplained") == (c.ground == "none") for c in finding.charges)
        assert 0 <= finding.lost <= finding.cache_misses


@given(sessions())
def test_expected_fresh_tokens_have_one_cause_each(client):
    for forecast in forecasts(client.log(), find):
        # What stands behind the last mark is sent plain, and is looked for nowhere.
        looked_for = forecast.exchange.cached
        assert sum(forecast.causes.values()) == looked_for - forecast.lookup.read
        assert forecast.read + forecast.cache_misses == forecast.prompt


@given(rubbish())
def test_no_log_is_too_strange(conversation):
    audited = audit(conversation, find)
    if audited is None:
        return
    [named] = name_by_pattern([audited])
    calls = [event.call for event in conversation.messages if event.call]
    told = [call for call in calls if call.usage is not None and call.usage.prompt > 0]
    assert len(named.findings) == sum(call.model in MODELS for call in told)
    assert 0 <= named.recorded.exact <= named.recorded.near <= 1
    assert sum(causes(named.findings).values()) == sum(each.cache_misses for each in named.findings)
    churn = churn_of(named.client, [named.findings])
    assert churn.turn.calls + churn.call.calls <= len(named.findings)
