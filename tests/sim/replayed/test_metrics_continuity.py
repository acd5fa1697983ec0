"""The figures of continuity, by hand and against a recount from whole prompts."""

from typing import Any

import pytest

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.strategy import Lifetime


def figure(name: str, trace: Any, script: Any) -> float | None:
    return METRICS[name].compute(RunData(trace, script))


def keeping(kit: Any, count: int, lifetime: Lifetime = Lifetime.SESSION) -> Any:
    return kit.act(lambda view, host: view.with_messages(view.messages[-count:]), lifetime=lifetime)


def errand(kit: Any) -> Any:
    """Four calls, of which the second and the fourth use what the user named."""
    story = kit.Story().user("fix src/main.py for AB-1200").acts("{}").result("it is long")
    story.acts('{"path": "src/main.py"}').result("text").acts("{}").result("tests pass")
    return story.answer("AB-1200 is done").script()


RULE = verbatim("u1", "text", "AB-1200 src/main.py")
TOLD = Part("text", "about AB-1200 and src/main.py", "summary", (Source("u1"),))
SUMMARY = Message("sum", "user", (TOLD,), meta=True)


def briefed(view: Any, host: Any) -> Any:
    return view.with_messages([SUMMARY, *view.messages[1:]]) if len(host.log) == 3 else view


def ruled(view: Any, host: Any, most: int = 99) -> Any:
    rule = [RULE] if len(host.log) < most else []
    return view.with_system(*rule).with_messages(view.messages[-2:])


@pytest.mark.parametrize(
    ("change", "share"),
    [
        (lambda view, host: view, 1),
        # Two words are needed at the first two calls, one at the others; two messages hold the
        # words at the first call alone, and src/main.py again at the third, where nobody needs it.
        (lambda view, host: view.with_messages(view.messages[-2:]), 2 / 6),
        (briefed, 1),  # a summary that names it has it
        (ruled, 1),  # the system prompt counts, while it says so
        (lambda view, host: ruled(view, host, 4), 4 / 6),
    ],
)
def test_what_the_next_actions_need(kit, change, share):
    trace = kit.replayed(errand(kit), kit.act(change))
    assert figure("forward_need", trace, errand(kit)) == pytest.approx(share)


def test_nothing_needed_no_figure(kit, story):
    script = story.user("hi").answer("ho").script()
    assert figure("forward_need", kit.replayed(script, kit.keep), script) is None


def test_what_stood_there_twice_is_held_while_it_stands_there_once(kit, story):
    story.user("first").acts().result("mind AB-1200").acts().result("r").acts().result("r")
    script = story.answer("AB-1200 is done").script()

    def double(view: Any, host: Any) -> Any:
        first, *rest = view.messages
        if len(host.log) == 5:
            return view.with_messages([NOTE, first, *rest, rest[1]])
        return view.with_messages([NOTE, first, *rest]) if len(host.log) == 7 else view

    trace = kit.replayed(script, kit.act(double, lifetime=Lifetime.REQUEST))
    assert figure("forward_need", trace, script) == 1


# A token each, wherever they stand.
WORDS = "abcdefghijklmnop"


def talk(kit: Any, sizes: list[int]) -> Any:
    story = kit.Story()
    for number, size in enumerate(sizes):
        (story.answer if number % 2 else story.user)(kit.prose(size, WORDS[number]))
    return story.script()


CUT_SHORT = Message("u2", "user", (Part("text", "w", "truncated", (Source("u2"),)),))


@pytest.mark.parametrize(
    ("sizes", "change", "share"),
    [
        ([10, 20, 30, 40, 60, 10], lambda m: m[-2:], 100 / 160),  # it weighs by tokens
        ([5] * 14, lambda m: m[-10:], 1),  # it looks at ten messages
        # A shortened message ends the tail.
        ([10] * 6, lambda m: [*m[:2], CUT_SHORT, *m[3:]], 20 / 50),
    ],
)
def test_verbatim_recency(kit, sizes, change, share):
    script, cut = talk(kit, sizes), kit.at(len(sizes) - 1, change)
    assert figure("verbatim_recency", kit.replayed(script, cut), script) == share


def exchange(kit: Any) -> Any:
    return kit.Story().user("go").acts().result("r").acts().result("r").answer("ok").script()


def reshaped(kit: Any, change: Any) -> float | None:
    """The validity of the last of three prompts (1, 3 and 5 messages), if it is reshaped."""
    trace = kit.replayed(exchange(kit), kit.at(5, change))
    return figure("structural_validity", trace, exchange(kit))


NOTE = Message("note", "user", (Part("text", "a note", "synthetic", ()),))
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
        (lambda m: [], 5, 9),  # no messages at all: none of the five that were said is sound
        # A message that stood there already and is doubled.
        (lambda m: [NOTE, m[0], *m], 1, 11),
    ],
)
def test_faults_are_counted(change, faults, messages, kit):
    assert reshaped(kit, change) == pytest.approx(1 - faults / messages)


def test_prompts_without_messages_are_never_sound(kit):
    nothing = kit.act(lambda view, host: view.with_messages([]))
    assert figure("structural_validity", kit.replayed(exchange(kit), nothing), exchange(kit)) == 0


def test_a_result_before_its_call_is_a_fault(kit):
    assert reshaped(kit, lambda m: [m[0], m[2], m[1], *m[3:]]) < 1


def test_a_share_is_never_below_nothing(kit, story):
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


def test_who_changes_nothing_is_as_valid_as_the_script(kit, story):
    broken = story.user("go").acts().user("never mind").answer("ok").script()
    assert figure("structural_validity", kit.replayed(broken, kit.keep), broken) == 1 - 1 / 4
    assert figure("structural_validity", kit.replayed(exchange(kit), kit.keep), exchange(kit)) == 1
