"""What every strategy keeps to, whatever it is given.

Replayed are the line-up at its defaults, and every strategy in a size in which it acts on short
conversations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Pipeline, Strategy
from compactlab.sim.trace import Step
from compactlab.sim.view import Messages, View
from compactlab.strategies.catalogue import LINE_UP, find_strategy
from compactlab.strategies.mechanisms.pairs import MISSING

SUMMARISING = "reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400"
PLANNED = "token_budget(reserve_tokens_floor=500, min_dynamic_reserve_tokens=200)"
SMALL = (
    "sliding_window(keep=1)",
    "sliding_window(keep=4)",
    "turn_slice(history_limit=2)",
    "turn_slice(history_limit=1)",
    "random_keep(share=0.3)",
    PLANNED,
    f"auto_compact({SUMMARISING})",
    f"auto_compact({SUMMARISING}, rides='live')",
    f"recency_buffer(keep_messages=2, keep_tokens=150, {SUMMARISING})",
    f"auto_compact({SUMMARISING}) + context_recovery(messages=3, chars=50)",
    f"{PLANNED} + summary_sidecar(threshold=0.1)",
    f"auto_compact({SUMMARISING}) + turn_slice(history_limit=1) + summary_sidecar(threshold=0.1)",
)
WINDOW = 2500

# Who may send a prompt without the last words of the user, and why.
MAY_LOSE_THE_USER = {
    "sliding_window": "counts messages, and a turn may have more",
    "auto_compact": "cuts inside of a long turn, as pi does",
    "recency_buffer": "the same, but that the words may stand in the buffer",
}
# Kinds of parts that each may add to what was said.
ADDS = {
    "auto_compact": {"summary", "synthetic"},
    "recency_buffer": {"summary", "verbatim", "synthetic"},
    "context_recovery": {"recovered", "synthetic"},
    "summary_sidecar": {"summary"},
}


@dataclass(frozen=True)
class Watched(Strategy):
    """Another strategy, of which every view that it was given is kept, with what was in it."""

    inner: Strategy
    given: list[tuple[View, list[Message], tuple[Part, ...]]] = field(default_factory=list)

    @property
    def phases(self) -> frozenset[Phase]:
        return self.inner.phases

    @property
    def lifetime(self) -> Lifetime:
        return self.inner.lifetime

    @property
    def spec(self) -> str:
        return self.inner.spec

    def compact(self, view: View, host: Host) -> View:
        self.given.append((view, list(view.messages), view.system))
        return self.inner.compact(view, host)


def names(strategy: Strategy) -> set[str]:
    return {part.spec.partition("(")[0] for part in strategy.parts}


def the_messages_are_those_of_the_log_in_its_order(step: Step, prompt: Messages) -> None:
    place = {id(message): n for n, message in enumerate(step.log)}
    places = [place[id(message)] for message in prompt if id(message) in place]
    assert places == sorted(set(places))


def nothing_is_added_but_on_purpose(step: Step, prompt: Messages, strategy: Strategy) -> None:
    said = {id(message) for message in step.log}
    added = [message for message in prompt if id(message) not in said]
    if any("size" in part.breaks for part in strategy.parts):
        added = [message for message in added if message.parts[0].text != MISSING]
    assert len(added) <= 1
    assert all(message is prompt[0] and message.id.startswith("summary-") for message in added)
    parts = [*(p for m in added for p in m.parts), *(p for p in step.system if p.kind != "opaque")]
    allowed = set[str]().union(*(ADDS.get(name, set()) for name in names(strategy)))
    assert {part.kind for part in parts} <= allowed


def every_part_says_where_it_comes_from(step: Step, prompt: Messages, said: set[str]) -> None:
    for part in (*step.system, *(part for message in prompt for part in message.parts)):
        assert part.sources or part.kind in ("synthetic", "opaque")
        assert {source.id for source in part.sources} <= said


def pairs(messages: Messages) -> tuple[set[str], set[str]]:
    parts = [part for message in messages for part in message.parts]
    return (
        {part.call_id for part in parts if part.type == "tool_call"},
        {part.call_id for part in parts if part.type == "tool_result"},
    )


def no_call_or_result_has_newly_lost_its_other_half(step: Step, prompt: Messages) -> None:
    calls, results = pairs(prompt)
    all_calls, all_results = pairs(step.log)
    assert (results & all_calls) <= calls
    assert (calls & all_results) <= results


def the_last_words_of_the_user_are_there(step: Step, prompt: Messages) -> None:
    spoken = [message for message in step.log if message.starts_turn]
    assert not spoken or any(message is spoken[-1] for message in prompt)


@pytest.mark.parametrize("spec", [*LINE_UP, *SMALL])
@settings(max_examples=50)
@given(data=st.data())
def test_it_keeps_the_contract(
    spec: str, data: st.DataObject, conversations: Any, play: Callable[..., Any]
) -> None:
    conversation = data.draw(conversations)
    strategy = find_strategy(spec)
    watched = Pipeline(tuple(Watched(part) for part in strategy.parts))
    trace = play(conversation, watched, window=WINDOW)

    assert trace == play(conversation, strategy, window=WINDOW)
    assert [step.answer for step in trace.steps] == [call.id for call in conversation.calls]
    for part in watched.parts:
        for view, messages, system in part.given:
            assert list(view.messages) == messages
            assert view.system == system

    said = {message.id for message in conversation.messages}
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        if not any("order" in part.breaks for part in strategy.parts):
            the_messages_are_those_of_the_log_in_its_order(step, prompt)
        nothing_is_added_but_on_purpose(step, prompt, strategy)
        every_part_says_where_it_comes_from(step, prompt, said)
        no_call_or_result_has_newly_lost_its_other_half(step, prompt)
        if not names(strategy) & set(MAY_LOSE_THE_USER):
            the_last_words_of_the_user_are_there(step, prompt)


@pytest.mark.parametrize("spec", [*LINE_UP, *SMALL])
def test_it_survives_a_conversation_in_which_nothing_is_said(spec, tell, play):
    assert play(tell(""), find_strategy(spec)).steps == []
    (step,) = play(tell("a"), find_strategy(spec)).steps
    assert len(step.added) == 0


@pytest.mark.parametrize("spec", [*LINE_UP, *SMALL])
def test_its_spec_and_its_label_name_it_again(spec):
    strategy = find_strategy(spec)
    assert find_strategy(strategy.spec) == find_strategy(strategy.label) == strategy


@pytest.mark.parametrize("name", sorted(MAY_LOSE_THE_USER))
def test_who_may_lose_the_last_words_of_the_user_does(name, tell, sent):
    spec = next(spec for spec in SMALL if spec.startswith(name) and "keep=1)" not in spec)
    prompts = sent(tell("u" + "cr" * 12 + "a", size=400), find_strategy(spec), window=WINDOW)
    assert any("u1" not in prompt.split() for prompt in prompts)


def test_a_result_that_comes_late_keeps_its_call(tell, play):
    """A reminder of the client, say, may stand between a call and its result."""
    story = tell("ua ucmra" * 8, size=100)
    broken = []
    for spec in SMALL:
        trace = play(story, find_strategy(spec), window=1400)
        for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
            calls, results = pairs(prompt)
            all_calls, all_results = pairs(step.log)
            if results & all_calls - calls or calls & all_results - results:
                broken.append(spec)
                break
    assert not broken


@pytest.mark.parametrize("spec", SMALL)
def test_a_prompt_is_never_empty(spec, tell, sent):
    """A provider takes no request without a message."""
    assert all(sent(tell("uc3rrracrcr a", size=400), find_strategy(spec), window=WINDOW))
