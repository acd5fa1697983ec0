"""Codex compacts at the beginning of a turn whose model cannot go on with what is there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import Step
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.codex import comp_hash
from tests.strategies.conftest import NoteTaker

OLD, NEW, NEXT, OTHER = "gpt-5.5", "gpt-5.6-sol", "gpt-6.2-sol", "claude-sonnet-4-5"


def told_by(told: Conversation, *settings: str) -> Conversation:
    """The conversation with a model, and perhaps an effort, for each of its calls."""
    given = iter(settings)

    def told_so(event: Any) -> Any:
        if not isinstance(event, Message) or event.call is None:
            return event
        model, _, effort = next(given).partition(" ")
        return msgspec.structs.replace(event, call=Call(model, thinking=effort))

    return replace(told, events=tuple(map(told_so, told.events)))


@pytest.fixture
def steps(tell: Any) -> Callable[..., list[Step]]:
    def played(spec: str, *settings: str, script: str = "", model: str = "recorded") -> list[Step]:
        told = told_by(
            tell(script or "ua" * len(settings), sizes={"a": 120_000, "c": 120_000}), *settings
        )
        return record(told, find_strategy(spec), Options(model, NoteTaker())).steps

    return played


def compactions(steps: list[Step]) -> list[tuple[int, str]]:
    """The places of calls before which it compacted, and the models that were asked to."""
    return [(n, call.model) for n, step in enumerate(steps) for call in step.side]


@pytest.mark.parametrize("route", ["auto", "local"])
def test_the_model_before_compacts_for_one_that_cannot_read_it(route, steps):
    made = steps(f"codex(route='{route}')", OLD, OLD, NEW, NEXT)
    assert compactions(made) == [(2, "gpt-5-5")]
    assert made[2].usage.prompt < made[1].usage.prompt
    (call,) = made[2].side
    # The remote request is the live prompt of the model before, which is still in its cache.
    assert (call.usage.cache_read > 0) == (route == "auto")


@pytest.mark.parametrize(
    ("settings", "any_change"),
    [
        ([NEW, NEXT, NEW], [1, 2]),  # the same hash
        ([OTHER, OLD, OTHER], [1, 2]),  # no hash is no other hash
        ([f"{NEW} low", f"{NEW} high"], [1]),
        ([f"{NEW} low", NEW, f"{NEW} low"], []),  # not known is no change
        ([OLD, OLD], []),
    ],
)
def test_what_users_of_0_145_report_is_any_change(settings, any_change, steps):
    """openai/codex issue 33833: at 10 to 24 % of the window, by model or by effort."""
    assert compactions(steps("codex", *settings)) == []
    assert [
        place for place, _ in compactions(steps("codex(switch='any')", *settings))
    ] == any_change


def test_within_a_turn_nothing_is_a_switch(steps):
    """A log whose model changes between a call and its result, say by a fallback."""
    assert compactions(steps("codex", OLD, NEW, script="uc ra")) == []
    later = steps("codex(switch='any')", OLD, NEW, NEW, script="uc ra ua")
    assert compactions(later) == []


def test_a_replay_under_one_model_has_no_switch(steps):
    assert compactions(steps("codex", OLD, NEW, model="gpt-5.5")) == []
    assert compactions(steps("codex(switch='never')", OLD, NEW)) == []
    # But its effort is the log's.
    changed = steps("codex(switch='any')", f"{OLD} low", f"{OLD} high", model="gpt-5.5")
    assert compactions(changed) == [(1, "gpt-5-5")]


def test_a_rewind_takes_the_model_back_too(steps):
    made = steps("codex", OLD, NEW, OLD, script="ua ua <2 ua")
    assert compactions(made) == [(1, "gpt-5-5")]


def test_the_hash_is_that_of_the_model_under_any_price():
    names = [OLD, "gpt-5.5@none", "gpt-5.6-sol+batch", "gpt-6-luna", "gpt-5.4", OTHER]
    hashes = [comp_hash(find_model(name)) for name in names]
    assert hashes == ["2911", "2911", "3000", "3000", "", ""]
