"""A compaction before and after: one that can be read by eye, and any against a naive account."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.diff import (
    FATES,
    GAP,
    MOST,
    STILL,
    TOLD,
    Diff,
    DiffRow,
    blamed,
    diff_of,
    ends,
    excerpt,
    losses,
    most_forgetful,
    paired,
    prompt_of,
)
from compactlab.sim.metrics import RunData
from compactlab.sim.replay.meter import Meter
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import Step
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.tables import HEAD, SYSTEM, TABLES, TAIL, columns_of
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.sim.replayed.rewritten import replays

SPECS = (
    "claude_code",
    "clear_tool_results(trigger=15000)",
    "memory_flush + auto_compact + memory_recall",
    "sliding_window(keep=40)",
)


def rows_of(reading: RunData) -> Rows:
    return TABLES["views"].rows(reading)


def stated(id: str, origin: str, **more: Any) -> Fact:
    return Fact(id, "decision", f"{id} thing", f"{id}-7x7", (Source(origin, 0),), **more)


def summed_up(kit: Any, text: str, at: int, keep: int = 1) -> Any:
    """At a call, put a summary in the place of all but the last messages."""

    def tell(view: Any, host: Any) -> Any:
        if sum(message.role == "assistant" for message in host.log) != at - 1:
            return view
        old = view.messages[: len(view.messages) - keep]
        part = Part("text", text, "summary", tuple(Source(message.id) for message in old))
        return view.with_messages(
            [Message("made", "user", (part,), meta=True), *view.messages[-keep:]]
        )

    return kit.act(tell)


@pytest.fixture
def talk(story: Any) -> Conversation:
    """Three facts, of which the second is needed when the fourth call is made."""
    for name in ("color", "size", "port"):
        story.user(f"The {name} thing is {name}-7x7.").answer("ok")
    story.user("Now build it.").answer("size-7x7, built")
    facts = (stated("color", "u1"), stated("size", "u2"), stated("port", "u3"))
    script: Conversation = story.script(facts=facts, needs=(Need("size", "a4"),))
    return script


def test_a_fact_that_the_summary_forgets_is_told_where_it_stood(kit, talk):
    """The summary says one of two, and what it does not say is missed by the call after."""
    strategy = summed_up(kit, "So far: the color thing is color-7x7.", at=3)
    rows = rows_of(RunData(kit.replayed(talk, strategy), talk))
    told = zip(*(rows[n] for n in ("fate", "message", "became", "role", "count")), strict=True)
    summary = rows["became"][4]
    assert list(told) == [
        ("gone", "u1", "", "user", 1),
        ("gone", "a1", "", "assistant", 1),
        ("gone", "u2", "", "user", 1),
        ("gone", "a2", "", "assistant", 1),
        ("written", "", summary, "user", 1),
        ("new", "u3", "", "user", 1),
    ]
    assert summary.startswith("#")
    assert set(rows["call"]) == {3}
    assert rows["facts_lost"] == rows["facts_missed"] == [0, 0, 1, 0, 0, 0]
    assert rows["facts"][2] == ["size"]
    assert rows["statements"][2] == ["size thing: size-7x7"]
    assert rows["states"][2] == ["lost"]
    assert (rows["missed_at"][2], rows["missed_lag"][2]) == (["4"], ["0"])
    assert rows["text"] == [
        "The color thing is color-7x7.", "ok", "The size thing is size-7x7.", "ok", "",
        "The port thing is port-7x7.",
    ]  # fmt: skip


def test_what_is_forgotten_and_never_needed_is_not_missed(kit, talk):
    strategy = summed_up(kit, "So far: the size thing is size-7x7.", at=3)
    rows = rows_of(RunData(kit.replayed(talk, strategy), talk))
    assert rows["facts_lost"] == [1, 0, 0, 0, 0, 0]
    assert sum(rows["facts_missed"]) == 0
    assert (rows["facts"][0], rows["missed_at"][0]) == (["color"], [""])
    assert rows["missed_lag"][0] == [""]


def test_how_late_a_forgotten_fact_was_needed_is_told_by_its_lag(kit, story):
    """From its statement to the call 2,500 words are said, so the lag is one of 2,000 or more."""
    story.user("The size thing is size-7x7.").answer("ok").user("so " * 2_500).answer("ok")
    story.user("Now build it.").answer("size-7x7, built")
    talk = story.script(facts=(stated("size", "u1"),), needs=(Need("size", "a3"),))
    rows = rows_of(RunData(kit.replayed(talk, summed_up(kit, "So far.", at=2)), talk))
    assert [each for each in rows["missed_lag"] if each] == [["2000"]]


def test_what_was_never_sent_is_lost_with_its_message(kit, talk):
    """A summary of everything, the newest message with it: that would have been sent."""
    part = Part("text", "So far.", "summary", (Source("u3"),))

    def tell(view: Any, host: Any) -> Any:
        asked = sum(message.role == "assistant" for message in host.log)
        return view.with_messages([Message("made", "user", (part,))]) if asked == 2 else view

    reading = RunData(kit.replayed(talk, kit.act(tell)), talk)
    rows = rows_of(reading)
    assert rows["fate"] == ["gone"] * 5 + ["written"]
    assert rows["facts"] == [["color"], [], ["size"], [], ["port"], []]


def test_the_compaction_that_cost_most_is_shown(kit, talk):
    """Two compactions: what the second forgets is needed, what the first does is not."""

    def cut(view: Any, host: Any) -> Any:
        asked = sum(message.role == "assistant" for message in host.log)
        gone = {1: {"u1", "a1"}, 3: {"u2"}}.get(asked, set())
        return view.with_messages([m for m in view.messages if m.id not in gone])

    reading = RunData(kit.replayed(talk, kit.act(cut)), talk)
    assert [each.call for each in reading.paybacks] == [1, 3]
    assert {call: loss.facts for call, loss in losses(reading).items()} == {1: 1, 3: 2}
    assert set(rows_of(reading)["call"]) == {4}


def test_of_those_that_cost_nothing_the_largest_is_shown_and_then_the_first():
    cuts = [SimpleNamespace(call=call, removed=size) for call, size in ((2, 10), (5, 90), (7, 90))]
    reading: Any = SimpleNamespace(paybacks=cuts)
    assert most_forgetful(reading, {}) == 5


def test_a_fact_that_was_stated_twice_goes_with_the_last():
    said = [Message(name, "user", (verbatim(name, "text", "x"),)) for name in ("u1", "u2", "u3")]
    fact = Fact("f", "decision", "key", "value", (Source("u1", 0), Source("u2", 0)))
    assert blamed([DiffRow("gone", message=message) for message in said], fact) == 1


def test_a_need_is_put_down_to_the_last_that_lost_it(kit, talk):
    """Dropped, brought back and dropped again: the second time did the harm."""

    def cut(view: Any, host: Any) -> Any:
        asked = sum(message.role == "assistant" for message in host.log)
        gone = "u2" if asked in (1, 3) else ""
        return view.with_messages([m for m in host.log if m.id != gone])

    found = losses(RunData(kit.replayed(talk, kit.act(cut)), talk))
    assert {call: loss.missed for call, loss in found.items()} == {1: {}, 3: {1: 3}}


def test_what_is_cut_is_shortened_and_what_returns_is_back(kit, story):
    long = kit.prose(300)
    script = story.user("go").acts().result(long).answer("so").user("on").answer("done").script()
    short = Part("tool_result", "[cut]", "truncated", (Source("r1"),), "tool", "call-1")

    def cut(view: Any, host: Any) -> Any:
        messages = [m for m in host.log if m.id != "u1" or len(host.log) > 4]
        if len(host.log) > 4:
            r1 = Message("r1", "tool", (short,))
            messages = [r1 if m.id == "r1" else m for m in messages]
        return view.with_messages(messages)

    reading = RunData(kit.replayed(script, kit.act(cut)), script)
    rows = rows_of(reading)
    assert set(rows["call"]) == {3}
    assert rows["fate"] == ["back", "kept", "shortened", "new", "new"]
    assert rows["message"][2] == "r1"
    assert rows["became"][2].startswith("#")
    words = ["word"] * (HEAD // 5), ["word"] * (TAIL // 5)
    assert rows["text"][2] == GAP.join(map(" ".join, words))
    assert rows["what"] == ["text", "tool_call tool", "tool_result tool", "text", "text"]


def check(reading: RunData, index: int) -> None:
    """Every law that the lines of a compaction keep."""
    diff = diff_of(reading, index)
    check_sides(reading, diff, index)
    check_facts(reading, diff, index)
    assert len(diff.lines) <= MOST + (MOST + 1) * len(FATES)
    rows = TABLES["views"].filled(columns_of(diff))
    assert sum(rows["tokens_before"]) == sum(line.before for line in diff.lines)
    assert all(len(text) <= SYSTEM + len(GAP) for text in rows["text"])


def check_sides(reading: RunData, diff: Diff, index: int) -> None:
    """What stands before is the last prompt with what came since; what stands after was sent."""
    steps, prompts = reading.trace.steps, [list(each) for each in reading.trace.prompts()]
    last, step = steps[index - 1], steps[index]
    kept = next(
        (n for n, (a, b) in enumerate(zip(last.log, step.log, strict=False)) if a is not b),
        min(len(last.log), len(step.log)),
    )
    back = {id(message) for message in list(last.log)[kept:]}
    before = [m for m in prompts[index - 1] if id(m) not in back] + list(step.log)[kept:]
    lines = [line for line in diff.lines if not line.system]
    parts = {fate: [line for line in diff.lines if line.fate == fate] for fate in FATES}
    count = {fate: sum(n.count for n in parts[fate]) for fate in FATES}
    systems = [bool(s.system) for s in (last, step)]
    one = sum(count.values()) - count["written"] - count["back"] - any(systems)
    two = sum(count.values()) - count["gone"] - any(systems)
    assert (one, two) == (len(before), len(prompts[index]))
    assert sum(line.before for line in diff.lines) == tokens_of(reading, index, before, last)
    assert sum(line.after for line in diff.lines) == step.usage.prompt
    same = Counter(map(id, before)) & Counter(map(id, prompts[index]))
    assert count["kept"] + count["new"] >= same.total()
    assert all(line.before == line.after for line in lines if line.fate in STILL)
    assert all(line.before > line.after for line in lines if line.fate == "shortened")


def tokens_of(reading: RunData, index: int, messages: list[Message], step: Step) -> int:
    """Tokens of a prompt with the system blocks of a step, as a meter counts it."""
    model = reading.model(reading.trace.steps[index].model)
    return Meter().tokens(model, View(step.system, Messages(messages)))


def check_facts(reading: RunData, diff: Diff, index: int) -> None:
    """What was lost is what was due, held before or new, and is not held after."""
    ledger, steps = reading.ledger, reading.trace.steps
    due = [ledger.moments[step.answer].due for step in steps]
    held = [states.kept | states.unknown for states in reading.states]
    lost = {
        n for n in range(len(ledger.facts))
        if due[index] >> n & 1 and not held[index] >> n & 1
        and (held[index - 1] >> n & 1 or not any(d >> n & 1 for d in due[:index]))
    }  # fmt: skip
    assert sum(line.lost for line in diff.lines) == len(lost)
    told = [fact for line in diff.lines for fact in line.facts]
    assert {fact.id for fact in told} <= {ledger.facts[n].id for n in lost}
    assert len(told) == len({fact.id for fact in told})
    assert all(len(line.facts) == min(TOLD, line.lost) for line in diff.lines)
    for fact in told:
        number = ledger.number[fact.id]
        assert fact.state == reading.states[index].of(number)
        until = next(
            (i for i in range(index + 1, len(steps)) if lost_at(due, held, i, number)), len(steps)
        )
        needs = [
            i + 1 for i in range(index, until)
            if ledger.moments[steps[i].answer].needed >> number & 1 and not held[i] >> number & 1
        ]  # fmt: skip
        assert fact.missed == (needs[0] if needs else 0)


def lost_at(due: list[int], held: list[int], index: int, number: int) -> bool:
    gone = due[index] & ~held[index]
    return bool(gone & held[index - 1] & 1 << number)


@pytest.mark.parametrize("spec", SPECS)
def test_every_compaction_of_a_strategy_adds_up(spec):
    script = find_scenario("coding_agent(tokens=40000, calls=40)").conversation(seed=0)
    given: dict[str, Any] = {"summarizer": find_summarizer("lexrank"), "window": 40_000}
    reading = RunData(
        record(script, find_strategy(spec), Options("claude-sonnet-4-5", **given)), script
    )
    found = losses(reading)
    calls = [each.call for each in reading.paybacks]
    assert calls
    for index in sorted({*calls[:3], *calls[-3:]}):
        check(reading, index)
    missed = {index: len(found[index].missed) if index in found else 0 for index in calls}
    most = most_forgetful(reading, found)
    assert missed[most or 0] == max(missed.values())
    assert set(rows_of(reading)["call"]) == {(most or 0) + 1}


@given(st.data())
@settings(max_examples=15)
def test_so_it_is_under_strategies_that_do_anything(data):
    from tests.sim.replayed.conftest import Kit

    script, trace = data.draw(replays(Kit))
    reading = RunData(trace, script)
    for index in range(1, len(trace.steps)):
        check(reading, index)
    rows_of(reading)


@given(st.data())
@settings(max_examples=15)
def test_each_prompt_is_put_together_from_its_end(data):
    from tests.sim.replayed.conftest import Kit

    _, trace = data.draw(replays(Kit))
    for index, prompt in enumerate(trace.prompts()):
        assert list(map(id, prompt_of(trace.steps, index))) == list(map(id, prompt))


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_each_message_stands_in_one_row(one, two):
    """Twice the same message, in any order: each is there as often as it was."""
    drawn = [Message(str(n // 2), "user", (verbatim(str(n), "text", str(n)),)) for n in range(6)]
    before, after = [drawn[n] for n in one], [drawn[n] for n in two]
    rows = paired(before, after)
    assert sorted(r.before for r in rows if r.before is not None) == [*range(len(before))]
    assert [r.after for r in rows if r.after is not None] == [*range(len(after))]
    twins = [(before[was], after[now]) for was, now in rows if was is not None and now is not None]
    assert all(was.id == now.id for was, now in twins)
    both = Counter(map(id, before)) & Counter(map(id, after))
    assert sum(was is now for was, now in twins) == both.total()


def test_ten_million_characters_are_not_all_looked_at():
    text = "a b " * 1_250_000 + "c d " * 1_250_000
    told = excerpt([verbatim("m", "text", text)], HEAD, TAIL)
    assert told.startswith("a b ")
    assert told.endswith("c d")
    assert len(told) <= HEAD + TAIL + len(GAP)
    assert excerpt([verbatim("m", "text", "x" * 10_000_000)], HEAD, TAIL) == GAP.strip()


@given(st.text("ab-_.:/= \n", max_size=60), st.integers(0, 20), st.integers(0, 20))
def test_no_word_is_cut(text, head, tail):
    told = ends(text, head, tail)
    assert len(told) <= max(len(text), 1)
    assert set(told.split()) - {"…"} <= set(text.split())


@pytest.mark.parametrize("text", ["a\x00b", "</td><script>", "\u202eevil", "\x1b[2J"])
def test_hostile_words_are_stored_as_text(text, kit, talk):
    """Making them harmless is the business of whoever shows them; half a character is none."""
    facts = (stated("color", "u1"), Fact(text, "decision", text, text, (Source("u2", 0),)))
    events = tuple(
        Message(e.id, e.role, (verbatim(e.id, "text", text),), e.time)
        if isinstance(e, Message) and e.id == "u2" else e
        for e in talk.events
    )  # fmt: skip
    script = Conversation("c", "story", events, facts=facts)
    strategy = summed_up(kit, text, at=3)
    rows = rows_of(RunData(kit.replayed(script, strategy), script))
    for name in ("text", "message"):
        assert all(told.encode() is not None for told in rows[name])
    assert all(
        each.encode() is not None
        for name in ("facts", "statements")
        for row in rows[name]
        for each in row
    )
