"""What must hold of the figures of memory, whatever is said, revised, revoked and forgotten."""

from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages
from compactlab.sim.metrics import FAMILIES, RunData, figures
from compactlab.sim.replay.strategy import Lifetime
from compactlab.sim.replay.trace import NOWHERE, Trace
from compactlab.strategies.catalogue import find_strategy
from tests.sim.replayed.remembered import forgetting, remembered

NAMES = [m.name for f in FAMILIES if f.name in ("memory", "facts") for m in f.metrics]
# Those over all due facts, or over all that are needed.
OVERALL = [
    name for name in NAMES
    if name.startswith("amnesia_")
    and not name.startswith(("amnesia_corrected", "amnesia_round_"))
]  # fmt: skip
RULES = [
    "sliding_window(keep=3)", "turn_slice(history_limit=1)", "token_budget", "random_keep",
    "observation_masking",
]  # fmt: skip
OLDER = ("amnesia_turns_5", "amnesia_turns_20", "amnesia_turns_100")

Figures = dict[str, float | None]


def measured(kit: Any, script: Conversation, strategy: Any, **more: Any) -> Figures:
    return figures(RunData(kit.replayed(script, strategy, **more), script), NAMES)


@settings(max_examples=40)
@given(data=st.data())
def test_who_keeps_everything_forgets_nothing(kit, data):
    script = data.draw(remembered(kit))
    found = measured(kit, script, find_strategy("keep_all"))
    for name in NAMES:
        if "amnesia" in name or name in ("stale", "conflict", "cascade", "mutation", "severity"):
            assert found[name] in (0, None), name
    due = found["amnesia"] is not None
    assert found["survival_5"] == (5 if due else None)
    assert found["survival_64k"] == (1 if due else None)
    assert found["survival_cliff"] == (0 if due else None)
    assert found["survival_half_life"] is None
    assert found["deletion_leak"] in (1, None)


@settings(max_examples=40)
@given(data=st.data())
def test_who_keeps_nothing_finds_as_much_as_chance(kit, data):
    script = data.draw(remembered(kit))
    found = measured(kit, script, find_strategy("keep_none"))
    assert found["decoys_found"] in (0, None)
    for name in OLDER:
        assert found[name] in (1, None)


@settings(max_examples=40)
@given(data=st.data())
def test_a_larger_tail_never_raises_amnesia(kit, data):
    script = data.draw(remembered(kit))
    lifetime = data.draw(st.sampled_from(list(Lifetime)))

    def tail(keep: int) -> Figures:
        cut = kit.act(lambda view, host: view.with_messages(view.messages[-keep:]),
                      lifetime=lifetime)  # fmt: skip
        return measured(kit, script, cut)

    shorter, longer = tail(2), tail(2 + data.draw(st.integers(1, 6)))
    assert_no_more(shorter, longer)


@settings(max_examples=40)
@given(data=st.data())
def test_a_context_that_holds_more_never_recalls_less(kit, data):
    script = data.draw(remembered(kit))
    ids = [message.id for message in script.messages]
    few = data.draw(st.sets(st.sampled_from(ids)))
    many = few | data.draw(st.sets(st.sampled_from(ids)))

    def only(kept: set[str]) -> Figures:
        return measured(kit, script, kit.act(
            lambda view, host: view.with_messages([m for m in view.messages if m.id in kept]),
            lifetime=Lifetime.REQUEST,
        ))  # fmt: skip

    assert_no_more(only(few), only(many))


def assert_no_more(less: Figures, more: Figures) -> None:
    """Whoever holds more has forgotten no more."""
    for name in OVERALL:
        assert (less[name] is None) == (more[name] is None), name
        assert (more[name] or 0) <= (less[name] or 0) + 1e-12, name


@settings(max_examples=40)
@given(data=st.data())
def test_the_order_of_facts_does_not_matter(kit, data):
    script = data.draw(remembered(kit))
    facts = tuple(data.draw(st.permutations(script.facts)))
    strategy = forgetting(kit, script)  # garbles the facts in the order of the original
    turned = replace(script, facts=facts)
    assert measured(kit, turned, strategy) == measured(kit, script, strategy)


@settings(max_examples=40)
@given(data=st.data())
def test_other_values_of_equal_length_change_nothing(kit, data):
    script = data.draw(remembered(kit))
    other = renamed(script)
    count = Tokenizer().message
    assume([*map(count, script.messages)] == [*map(count, other.messages)])
    strategy = find_strategy(data.draw(st.sampled_from(RULES)))
    found = measured(kit, script, strategy, window=2_500)
    assert measured(kit, other, strategy, window=2_500) == found


def renamed(script: Conversation) -> Conversation:
    """The same script with other values."""

    def said(message: Message) -> Message:
        parts = tuple(msgspec.structs.replace(p, text=p.text.replace("val-", "kol-"))
                      for p in message.parts)  # fmt: skip
        return msgspec.structs.replace(message, parts=parts)

    def fact(each: Fact) -> Fact:
        return msgspec.structs.replace(each, value=each.value.replace("val-", "kol-"))

    events = tuple(said(e) if isinstance(e, Message) else e for e in script.events)
    return replace(script, events=events, facts=tuple(map(fact, script.facts)))


@settings(max_examples=30)
@given(data=st.data())
def test_what_is_done_beside_the_script_does_not_count(kit, data):
    script = data.draw(remembered(kit))
    trace = kit.replayed(script, forgetting(kit, script), seed=data.draw(st.integers(0, 99)))
    more = Trace(trace.header, [each for step in trace.steps for each in twice(step)])
    assert figures(RunData(more, script), NAMES) == figures(RunData(trace, script), NAMES)


def twice(step: Any) -> list[Any]:
    """A call that fetches something right before the call of the script, with the same prompt."""
    fetch = msgspec.structs.replace(step, answer="born", recovery="fetch")
    same = msgspec.structs.replace(
        step, shared=step.shared + len(step.added), added=Messages(), compaction=False, created=(),
        outside=NOWHERE,
    )  # fmt: skip
    return [fetch, same]


def test_a_script_without_facts_has_no_figures(kit, story):
    script = story.user("Hello").answer("Good day").script()
    found = measured(kit, script, kit.keep)
    assert set(found.values()) == {None}
    assert set(figures(RunData(kit.trace_of(), script), NAMES).values()) == {None}


def test_a_script_without_labels_is_measured_by_what_it_goes_on_to_use(kit, story):
    story.user("See src/main.py").acts('{"path": "src/main.py"}').result("see AB-1200")
    story.user("Go on").acts('{"ticket": "AB-1200", "path": "src/main.py"}').result("ok")
    script = story.answer("done").script()
    kept = measured(kit, script, find_strategy("keep_all"))
    assert (kept["amnesia_need"], kept["amnesia"]) == (0, 0)
    forgot = measured(kit, script, find_strategy("keep_none"))
    assert forgot["amnesia_need"] == 2 / 3
    # The second action says both again, so that they are there for the last call.
    assert (forgot["amnesia_artifact"], forgot["amnesia_tool_detail"]) == (1 / 3, 1 / 2)
    assert forgot["amnesia_decision"] is None
