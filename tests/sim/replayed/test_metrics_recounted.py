"""The figures of continuity against a recount from whole prompts, and laws that they keep."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.facts.needs import used, words
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.strategy import Lifetime
from tests.sim.replayed.rewritten import replays


def figure(name: str, trace: Any, script: Any) -> float | None:
    return METRICS[name].compute(RunData(trace, script))


def keeping(kit: Any, count: int, lifetime: Lifetime = Lifetime.SESSION) -> Any:
    return kit.act(lambda view, host: view.with_messages(view.messages[-count:]), lifetime=lifetime)


def recounted_need(trace: Any, script: Any, actions: int = 5) -> float | None:
    """From whole prompts, with plain sets of words."""
    met = wanted = 0
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        index = next(i for i, m in enumerate(script.messages) if m.id == step.answer)
        ahead = [m for m in script.messages[index:] if m.call is not None][:actions]
        before = [*script.system, *(p for m in script.messages[:index] for p in m.parts)]
        said = frozenset().union(*(words(part.text) for part in before))
        needed = frozenset().union(*map(used, ahead)) & said
        shown = [*step.system, *(part for message in prompt for part in message.parts)]
        wanted += len(needed)
        met += len(needed & frozenset().union(*(words(part.text) for part in shown)))
    return met / wanted if wanted else None


def recounted_validity(trace: Any) -> float | None:
    faults = messages = 0
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        if not prompt:
            messages, faults = messages + len(step.log), faults + len(step.log)
        messages += len(prompt)
        faults += sum(count - 1 for count in Counter(message.id for message in prompt).values())
        faults += sum(not any(p.text or p.size for p in message.parts) for message in prompt)
        faults += bool(prompt) and prompt[0].role != "user"
        faults += unpaired([part for message in prompt for part in message.parts])
        faults += stacked(prompt)
    return max(0, 1 - faults / messages) if messages else None


def unpaired(parts: list[Any]) -> int:
    """Results without a call before them, and calls and results too many."""
    calls: Counter[str] = Counter()
    late: Counter[str] = Counter()
    early = 0
    for part in parts:
        if part.type == "tool_call":
            calls[part.call_id] += 1
        elif part.type == "tool_result" and calls[part.call_id]:
            late[part.call_id] += 1
        elif part.type == "tool_result":
            early += 1
    return early + sum(abs(calls[id] - late[id]) for id in calls)


def stacked(prompt: Any) -> int:
    """How many summaries too many stand for the message that most of them stand for."""
    stand_for = [
        {s.id for p in m.parts if (p.kind, p.type) == ("summary", "text") for s in p.sources}
        for m in prompt
    ]
    ids = frozenset().union(*stand_for)
    return max((sum(id in each for each in stand_for) for id in ids), default=1) - 1


def recounted_rejections(trace: Any) -> int:
    prompts = [[part for message in prompt for part in message.parts] for prompt in trace.prompts()]
    return sum(not parts or unpaired(parts) > 0 for parts in prompts)


def recounted_recency(trace: Any, newest: int = 10) -> float | None:
    shares = []
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        if step.compaction:
            count = find_model(step.model).tokenizer.message
            recent, tail = list(step.log)[-newest:], list(prompt)
            kept = 0
            while kept < min(len(recent), len(tail)) and recent[-1 - kept] == tail[-1 - kept]:
                kept += 1
            total = sum(map(count, recent))
            shares.append(sum(map(count, recent[len(recent) - kept :])) / total if total else 1.0)
    return sum(shares) / len(shares) if shares else None


def same(one: float | None, other: float | None) -> bool:
    return one == other if one is None or other is None else one == pytest.approx(other)


AHEAD = {"forward_need_1": 1, "forward_need": 5, "forward_need_20": 20}
NEWEST = {"verbatim_recency_1": 1, "verbatim_recency_2": 2, "verbatim_recency_5": 5}


@settings(max_examples=60)
@given(data=st.data())
def test_forward_need_is_that_of_a_recount(kit, data):
    script, trace = data.draw(replays(kit, rewinds=False))
    for name, actions in AHEAD.items():
        assert same(figure(name, trace, script), recounted_need(trace, script, actions)), name


@settings(max_examples=60)
@given(data=st.data())
def test_structure_is_that_of_a_recount(kit, data):
    script, trace = data.draw(replays(kit))
    assert same(figure("structural_validity", trace, script), recounted_validity(trace))
    assert figure("rejected_calls", trace, script) == recounted_rejections(trace)


@settings(max_examples=60)
@given(data=st.data())
def test_verbatim_recency_is_that_of_a_recount(kit, data):
    script, trace = data.draw(replays(kit))
    for name, count in {**NEWEST, "verbatim_recency": 10}.items():
        assert same(figure(name, trace, script), recounted_recency(trace, count)), name


@settings(max_examples=60)
@given(data=st.data())
def test_who_keeps_everything_lacks_nothing_on_any_script(kit, data):
    script = data.draw(kit.stories(rewinds=False))
    trace = kit.replayed(script, kit.keep)
    assert figure("forward_need", trace, script) in (1, None)
    assert figure("verbatim_recency", trace, script) is None


def test_what_was_taken_back_is_not_needed(kit, story):
    """No strategy can hold what the user has unsaid: keeping everything must still be all."""
    story.user("go").answer("ok").user("it is AB-1200").answer("well").rewind("a1")
    script = story.user("it is AB-1300").answer("not AB-1200, then").script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) in (1, None)


def test_an_action_that_was_taken_back_needs_nothing_of_what_follows(kit, story):
    story.user("mind AB-1200").answer("ok").rewind("").user("other").answer("AB-1200 is gone")
    script = story.script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) in (1, None)


@settings(max_examples=60)
@given(data=st.data(), fewer=st.integers(1, 6), more=st.integers(0, 6))
def test_more_context_never_holds_less(data, fewer, more, kit):
    script = data.draw(kit.stories(rewinds=False))
    small, large = (
        figure("forward_need", kit.replayed(script, keeping(kit, n, Lifetime.REQUEST)), script)
        for n in (fewer, fewer + more)
    )
    assert small is None or large >= small
