"""The figures of continuity, by hand and against a recount from whole prompts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.identifiers import used, words
from compactlab.sim.message import Message, Part, Source, verbatim
from compactlab.sim.metrics import METRICS, Reading
from compactlab.sim.model import find_model
from compactlab.sim.strategy import Lifetime


def figure(name: str, trace: Any, script: Any) -> float | None:
    return METRICS[name].compute(Reading(trace, script))


def keeping(kit: Any, count: int, lifetime: Lifetime = Lifetime.SESSION) -> Any:
    return kit.act(lambda view, host: view.with_messages(view.messages[-count:]), lifetime=lifetime)


# ------------------------------------------------------------------------- forward need, by hand


def errand(kit: Any) -> Any:
    """Four calls, of which the second and the fourth use what the user named."""
    story = kit.Story().user("fix src/main.py for AB-1200").acts("{}").result("it is long")
    story.acts('{"path": "src/main.py"}').result("text").acts("{}").result("tests pass")
    return story.answer("AB-1200 is done").script()


def test_who_keeps_everything_has_all_that_is_needed(kit: Any) -> None:
    assert figure("forward_need", kit.replayed(errand(kit), kit.keep), errand(kit)) == 1


def test_who_forgets_lacks_it(kit: Any) -> None:
    # Two words are needed at the first two calls, one at the others; two messages hold the words
    # at the first call alone, and src/main.py again at the third, where nobody needs it.
    trace = kit.replayed(errand(kit), keeping(kit, 2))
    assert kit.prompts_of(trace) == ["u1", "a1 r1", "a2 r2", "a3 r3"]
    assert figure("forward_need", trace, errand(kit)) == pytest.approx(2 / 6)


def test_a_summary_that_names_it_has_it(kit: Any) -> None:
    told = Part("text", "about AB-1200 and src/main.py", "summary", (Source("u1"),))
    summary = Message("sum", "user", (told,), meta=True)
    brief = kit.act(
        lambda view, host: (
            view.with_messages([summary, *view.messages[1:]]) if len(host.log) == 3 else view
        )
    )
    assert figure("forward_need", kit.replayed(errand(kit), brief), errand(kit)) == 1


def test_the_system_prompt_counts_while_it_says_so(kit: Any) -> None:
    rule = verbatim("u1", "text", "AB-1200 src/main.py")
    always = kit.act(lambda view, host: view.with_system(rule).with_messages(view.messages[-2:]))
    assert figure("forward_need", kit.replayed(errand(kit), always), errand(kit)) == 1
    first = kit.act(
        lambda view, host: view.with_messages(view.messages[-2:]).with_system(
            *([rule] if len(host.log) < 4 else [])
        )
    )
    trace = kit.replayed(errand(kit), first)
    assert figure("forward_need", trace, errand(kit)) == pytest.approx(4 / 6)


def test_nothing_needed_no_figure(kit: Any, story: Any) -> None:
    script = story.user("hi").answer("ho").script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) is None


def test_what_stood_there_twice_is_held_while_it_stands_there_once(kit: Any, story: Any) -> None:
    note = Message("note", "user", (Part("text", "a note", "synthetic", ()),))
    story.user("first").acts().result("mind AB-1200").acts().result("r").acts().result("r")
    script = story.answer("AB-1200 is done").script()

    def double(view: Any, host: Any) -> Any:
        first, *rest = view.messages
        if len(host.log) == 5:
            return view.with_messages([note, first, *rest, rest[1]])
        return view.with_messages([note, first, *rest]) if len(host.log) == 7 else view

    trace = kit.replayed(script, kit.act(double, lifetime=Lifetime.REQUEST))
    assert figure("forward_need", trace, script) == 1


# --------------------------------------------------------------------------------- and recounted


def recounted_need(trace: Any, script: Any) -> float | None:
    """From whole prompts, with plain sets of words."""
    met = wanted = 0
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        place = next(i for i, m in enumerate(script.messages) if m.id == step.answer)
        ahead = [m for m in script.messages[place:] if m.call is not None][:5]
        before = [*script.system, *(p for m in script.messages[:place] for p in m.parts)]
        said = frozenset().union(*(words(part.text) for part in before))
        needed = frozenset().union(*map(used, ahead)) & said
        shown = [*step.system, *(part for message in prompt for part in message.parts)]
        wanted += len(needed)
        met += len(needed & frozenset().union(*(words(part.text) for part in shown)))
    return met / wanted if wanted else None


def recounted_validity(trace: Any) -> float | None:
    faults = messages = 0
    for prompt in trace.prompts():
        ids = Counter(message.id for message in prompt)
        pairs: Counter[str] = Counter()
        for message in prompt:
            messages += 1
            faults += not any(part.text or part.size for part in message.parts)
            for part in message.parts:
                by = {"tool_call": 1, "tool_result": -1}.get(part.type, 0)
                pairs[part.call_id] += by
        faults += sum(count - 1 for count in ids.values())
        faults += sum(map(abs, pairs.values()))
        faults += bool(prompt) and prompt[0].role != "user"
    return 1 - faults / messages if messages else None


def recounted_recency(trace: Any) -> float | None:
    shares = []
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        if step.compaction:
            count = find_model(step.model).tokenizer.message
            recent, tail = list(step.log)[-10:], list(prompt)
            kept = 0
            while kept < min(len(recent), len(tail)) and recent[-1 - kept] == tail[-1 - kept]:
                kept += 1
            total = sum(map(count, recent))
            shares.append(sum(map(count, recent[len(recent) - kept :])) / total if total else 1.0)
    return sum(shares) / len(shares) if shares else None


def same(one: float | None, other: float | None) -> bool:
    return one == other if one is None or other is None else one == pytest.approx(other)


LIFETIMES = list(Lifetime)


@settings(max_examples=60)
@given(data=st.data())
def test_forward_need_is_that_of_a_recount(kit: Any, data: st.DataObject) -> None:
    script = data.draw(kit.stories(rewinds=False))
    strategy = kit.whim(data.draw(st.sampled_from(LIFETIMES)))
    trace = kit.replayed(script, strategy, seed=data.draw(st.integers(0, 999)))
    assert same(figure("forward_need", trace, script), recounted_need(trace, script))


@settings(max_examples=60)
@given(data=st.data())
def test_structural_validity_is_that_of_a_recount(kit: Any, data: st.DataObject) -> None:
    script = data.draw(kit.stories())
    strategy = kit.whim(data.draw(st.sampled_from(LIFETIMES)))
    trace = kit.replayed(script, strategy, seed=data.draw(st.integers(0, 999)))
    assert same(figure("structural_validity", trace, script), recounted_validity(trace))


@settings(max_examples=60)
@given(data=st.data())
def test_verbatim_recency_is_that_of_a_recount(kit: Any, data: st.DataObject) -> None:
    script = data.draw(kit.stories())
    strategy = kit.whim(data.draw(st.sampled_from(LIFETIMES)))
    trace = kit.replayed(script, strategy, seed=data.draw(st.integers(0, 999)))
    assert same(figure("verbatim_recency", trace, script), recounted_recency(trace))


# --------------------------------------------------------------------------------------- and laws


@settings(max_examples=60)
@given(data=st.data())
def test_who_keeps_everything_lacks_nothing_on_any_script(kit: Any, data: st.DataObject) -> None:
    script = data.draw(kit.stories(rewinds=False))
    trace = kit.replayed(script, kit.keep)
    assert figure("forward_need", trace, script) in (1, None)
    assert figure("verbatim_recency", trace, script) is None


def test_what_was_taken_back_is_not_needed(kit: Any, story: Any) -> None:
    """No strategy can hold what the user has unsaid: keeping everything must still be all."""
    story.user("go").answer("ok").user("it is AB-1200").answer("well").rewind("a1")
    script = story.user("it is AB-1300").answer("not AB-1200, then").script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) in (1, None)


def test_an_action_that_was_taken_back_needs_nothing_of_what_follows(kit: Any, story: Any) -> None:
    story.user("mind AB-1200").answer("ok").rewind("").user("other").answer("AB-1200 is gone")
    script = story.script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) in (1, None)


@settings(max_examples=60)
@given(data=st.data(), fewer=st.integers(1, 6), more=st.integers(0, 6))
def test_more_context_never_holds_less(data: Any, fewer: int, more: int, kit: Any) -> None:
    script = data.draw(kit.stories(rewinds=False))
    small, large = (
        figure("forward_need", kit.replayed(script, keeping(kit, n, Lifetime.REQUEST)), script)
        for n in (fewer, fewer + more)
    )
    assert small is None or large >= small


# ------------------------------------------------------------------- verbatim recency, by hand


# A token each, wherever they stand.
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "red", "green", "blue", "black", "white"]


def talk(kit: Any, sizes: list[int]) -> Any:
    story = kit.Story()
    for number, size in enumerate(sizes):
        (story.answer if number % 2 else story.user)(kit.prose(size, WORDS[number]))
    return story.script()


def test_recency_weighs_by_tokens(kit: Any) -> None:
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-2:]) if len(host.log) == 5 else view
    )
    script = talk(kit, [10, 20, 30, 40, 60, 10])
    assert figure("verbatim_recency", kit.replayed(script, cut), script) == 100 / 160


def test_recency_looks_at_ten_messages(kit: Any) -> None:
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-10:]) if len(host.log) == 13 else view
    )
    script = talk(kit, [5] * 14)
    assert figure("verbatim_recency", kit.replayed(script, cut), script) == 1


def test_a_shortened_message_ends_the_tail(kit: Any) -> None:
    short = Message("u2", "user", (Part("text", "w", "truncated", (Source("u2"),)),))
    cut = kit.act(
        lambda view, host: (
            view.with_messages([*view.messages[:2], short, *view.messages[3:]])
            if len(host.log) == 5
            else view
        )
    )
    script = talk(kit, [10, 10, 10, 10, 10, 10])
    assert figure("verbatim_recency", kit.replayed(script, cut), script) == 20 / 50


# ------------------------------------------------------------------ structural validity, by hand


def exchange(kit: Any) -> Any:
    return kit.Story().user("go").acts().result("r").acts().result("r").answer("ok").script()


def reshaped(kit: Any, change: Any) -> float | None:
    """The validity of the last of three prompts (1, 3 and 5 messages), if it is reshaped."""
    act = kit.act(
        lambda view, host: (
            view.with_messages(change(list(view.messages))) if len(host.log) == 5 else view
        )
    )
    return figure("structural_validity", kit.replayed(exchange(kit), act), exchange(kit))


EMPTY = Message("empty", "user", (Part("text", "", "synthetic", ()),))


@pytest.mark.parametrize(
    ("change", "faults", "messages"),
    [
        (lambda m: m, 0, 9),
        (lambda m: m[1:], 1, 8),  # begins with an answer
        (lambda m: [m[0], *m[2:]], 1, 8),  # a result without its call
        (lambda m: m[:-1], 1, 8),  # a call without its result
        (lambda m: m[2:], 2, 7),  # begins with a result that lacks its call
        (lambda m: [*m, EMPTY], 1, 10),
        (lambda m: [*m, m[0]], 1, 10),  # the same message twice
        (lambda m: [*m, m[0], m[0]], 2, 11),
        (lambda m: [m[0], m[0], m[0], *m[3:]], 2, 9),
        (lambda m: [], 0, 4),
    ],
)
def test_faults_are_counted(change: Any, faults: int, messages: int, kit: Any) -> None:
    assert reshaped(kit, change) == pytest.approx(1 - faults / messages)


def test_a_message_that_stood_there_already_and_is_doubled_is_a_fault(kit: Any) -> None:
    note = Message("note", "user", (Part("text", "a note", "synthetic", ()),))
    assert reshaped(kit, lambda m: [note, m[0], *m]) == pytest.approx(1 - 1 / 11)


def test_a_result_before_its_call_is_a_fault(kit: Any) -> None:
    assert reshaped(kit, lambda m: [m[0], m[2], m[1], *m[3:]]) < 1


def test_a_share_is_never_below_nothing(kit: Any, story: Any) -> None:
    """One message with the results of three calls that were cut off."""
    calls = tuple(
        verbatim("a", "tool_call", "{}", name="read", call_id=str(number)) for number in range(3)
    )
    results = tuple(
        verbatim("r", "tool_result", "text", name="read", call_id=str(number))
        for number in range(3)
    )
    script = story.user("go").answer("ok").script(id="wide")
    events = (Message("a", "assistant", calls), Message("r", "tool", results), script.events[-1])
    wide = type(script)("wide", "story", events, seed=0)
    trace = kit.replayed(wide, keeping(kit, 1))
    assert 0 <= figure("structural_validity", trace, wide) <= 1


def test_who_changes_nothing_is_as_valid_as_the_script(kit: Any, story: Any) -> None:
    broken = story.user("go").acts().user("never mind").answer("ok").script()
    assert figure("structural_validity", kit.replayed(broken, kit.keep), broken) == 1 - 1 / 4
    assert figure("structural_validity", kit.replayed(exchange(kit), kit.keep), exchange(kit)) == 1
