"""A scenario of one's own on the engine: people who only talk, say things twice, and go back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactlab.scenarios.coding_agent import File
from compactlab.scenarios.engine.domain import Domain, Mix, Tool, Writer, value, words
from compactlab.scenarios.engine.generator import ShownLines
from compactlab.scenarios.engine.plan import PlannedFact, Planner
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import World
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.message import Message
from compactlab.sim.core.stream import stream
from compactlab.sim.facts.ledger import ledger_of
from tests.scenarios.made import size, spans, stated

AREAS = words("north south east west hill lake port mill dock moor glen vale ford cape bay isle")
DOMAIN = Domain(
    words={"n": words("tram bridge depot signal")},
    pools={"stop": ("stop-{n}-{h}", 12)},
    areas=AREAS,
    things={
        "decision": {"fare zone": "zone-{word}-{code}"},
        "constraint": {"ticket stamp": "stamp {code}"},
        "prohibition": {"closed track": "track/{hex}"},
        "open_loop": {"lost item": "item {code}"},
    },
    kinds={"decision": 4, "constraint": 1, "prohibition": 3, "open_loop": 1},
    requests=("How is {stop} reached from {stop2}?", "Is the {n} late?"),
    sentences=("The {n} at {stop} is late.", "From {stop} take the {n2}."),
    turn=600,
)


class Echo(World):
    """People say everything twice, and go back now and then."""

    def before(self, turn: int) -> None:
        messages = [event for event in self.draft.events if isinstance(event, Message)]
        if messages:
            self.draft.again(messages[-2])
            self.draft.again(messages[-1])
        if turn % 3 == 2:
            here = self.draft.events[-1]
            assert isinstance(here, Message)
            self.draft.say("user", [("text", "Or by ferry?")])
            self.draft.say("assistant", [("text", "There is none.")])
            self.draft.rewind(here.id)


@dataclass(frozen=True)
class TramTalk(Story):
    """Two people talk about trams."""

    domain: ClassVar[Domain] = DOMAIN


@dataclass(frozen=True)
class TramEcho(TramTalk):
    """The same, with everything said twice."""

    world: ClassVar[type[World]] = Echo


def test_where_people_only_talk_answers_fill_the_turns() -> None:
    made = TramTalk(tokens=20_000).conversation(0)
    assert made.turns == 33
    assert len(made.calls) == 33
    assert size(made) == pytest.approx(20_000, rel=0.05)
    assert not any(part.type == "tool_call" for m in made.messages for part in m.parts)
    assert {fact.handle for fact in made.facts} == {""}
    assert [need.how for need in made.needs] == ["said"] * len(made.needs)


def test_what_is_said_again_states_its_facts_again() -> None:
    made = TramEcho(tokens=20_000).conversation(1)
    assert any(len(fact.origin) > 1 for fact in stated(made))
    for fact in stated(made):
        assert len(set(spans(made, fact))) == 1


def test_going_back_leaves_the_facts_where_they_were() -> None:
    made = TramEcho(tokens=20_000).conversation(1)
    assert sum(isinstance(event, Rewind) for event in made.events) == 11
    known = needed_of(made)
    assert known == len(made.needs) > 0


def needed_of(made: Conversation) -> int:
    return sum(moment.needed.bit_count() for moment in ledger_of(made).moments.values())


def test_a_value_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(ValueError, match="zone' could be guessed"):
        Domain(
            words={},
            areas=AREAS,
            things={"decision": {"fare zone": "zone {word}"}},
            kinds={"decision": 1},
            requests=(),
            sentences=(),
        )


# --------------------------------------------------------------------------------------- the plan


@given(
    st.integers(0, 2**32),
    st.lists(st.floats(1, 9_000), min_size=1, max_size=40),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
)
def test_a_plan_can_be_told_in_its_order(
    seed: int, turns: list[float], superseded: float, deleted: float, dependent: float
) -> None:
    starts = [sum(turns[:turn]) for turn in range(len(turns))]
    mix = Mix(superseded=superseded, deleted=deleted, dependent=dependent)
    domain = Domain(**{**vars(DOMAIN), "mix": mix})
    threads = Planner(stream(seed, "plan"), domain, starts, sum(turns)).facts()
    assert len({thread.key for thread in threads if not thread.old}) == len(
        [thread for thread in threads if not thread.old]
    )
    for thread in threads:
        assert 0 <= thread.turn < len(turns)
        assert 0 <= thread.place <= thread.ends <= sum(turns)
        assert not (thread.dropped >= 0 and thread.newer)
        if thread.dropped >= 0:
            assert thread.dropped > thread.turn
        if thread.old:
            assert thread.old.turn < thread.turn
            assert (thread.old.newer, thread.old.ends) == (thread, thread.place)
        if thread.parent:
            assert thread.parent.newer
            assert thread.parent.turn <= thread.turn < thread.parent.newer.turn
    places = [thread.place for thread in threads]
    assert places == sorted(places)


def test_a_dependent_is_said_after_what_it_follows_from() -> None:
    mix = Mix(superseded=0.4, dependent=0.3, density=0.5)
    domain = Domain(**{**vars(DOMAIN), "mix": mix})

    @dataclass(frozen=True)
    class Revised(Story):
        pass

    Revised.domain = domain
    for seed in range(5):
        made = Revised(tokens=20_000).conversation(seed)
        order = {(fact.origin[0].id, fact.origin[0].start): fact.id for fact in stated(made)}
        place = {message.id: n for n, message in enumerate(made.messages)}
        said = sorted(order, key=lambda at: (place[at[0]], at[1]))
        rank = {order[at]: n for n, at in enumerate(said)}
        followers = [fact for fact in stated(made) if fact.depends_on]
        assert followers
        assert all(rank[f.depends_on[0]] < rank[f.id] for f in followers)


# ------------------------------------------------------------------------------- words and values


@given(st.integers(0, 2**48), st.sampled_from(["{code}", "{hex}", "{chain}"]))
def test_other_bits_make_another_value(seed: int, template: str) -> None:
    one, other = (value(template, stream(seed, n), "otter") for n in ("one", "other"))
    assert one != other
    assert value(template, stream(seed, "one"), "otter") == one


def test_names_of_a_pool_come_back_and_change_with_the_subject() -> None:
    writer = Writer(stream(0, "words"), {"n": ("tram",)}, {"stop": ("stop-{h}", 30)})
    first = [writer.fill("{stop}") for _ in range(200)]
    assert len(set(first)) <= 30
    common = {name for name in first if first.count(name) > 12}
    assert 1 <= len(common) <= 4
    writer.refocus()
    then = [writer.fill("{stop}") for _ in range(200)]
    assert {name for name in then if then.count(name) > 12} != common


def test_one_name_stands_for_one_word_in_a_template() -> None:
    writer = Writer(stream(0, "words"), {"n": tuple("abcdefgh")})
    for _ in range(20):
        one, two, three = writer.fill("{n} {n} {n2}").split()
        assert one == two
        assert len({one, three}) <= 2


def test_tools_are_called_as_often_as_the_domain_says_where_the_profile_does_not() -> None:
    tools = {
        "much": Tool({"stop": "{stop}"}, ("{k} {n}",), share=4),
        "little": Tool({"stop": "{stop}"}, ("{k} {n}",)),
    }

    @dataclass(frozen=True)
    class Asked(Story):
        pass

    Asked.domain = Domain(**{**vars(DOMAIN), "tools": tools})
    made = Asked(tokens=40_000).conversation(0)
    calls = [p.name for m in made.messages for p in m.parts if p.type == "tool_call"]
    assert 2.5 < calls.count("much") / calls.count("little") < 6


PIECES = st.lists(st.sampled_from(["key", "a", "=", " ", ".", "host7", "-", "\n", "é"]), min_size=1)


@given(lines=st.lists(PIECES.map("".join), max_size=8), text=st.lists(PIECES.map("".join)))
@example(lines=["key"], text=["a"])  # behind a letter, the line's word is no word of the text
def test_lines_that_stand_in_a_text_again_are_those_that_a_search_for_each_finds(
    lines: list[str], text: list[str]
) -> None:
    shown, facts = (
        ShownLines(),
        [PlannedFact("decision", "", "", "", "user", 0, 0, 0) for _ in lines],
    )
    known = dict(zip(facts, lines, strict=True))
    for fact, line in known.items():
        shown.add({fact: line})
    if facts:  # a line of the same fact replaces the one before
        known[facts[0]] = lines[-1]
        shown.add({facts[0]: lines[-1]})
    whole = "".join([*text, *lines[::2]])
    found = [(fact, line) for fact, line in known.items() if line in whole]
    assert [*shown.again(whole)] == found


@given(
    edits=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 4))),
    asked=st.lists(st.sampled_from("fgh")),
)
def test_functions_are_found_where_they_are_after_edits(
    edits: list[tuple[int, int, int]], asked: list[str]
) -> None:
    lines = ["x = 1", "def f(a):", "    pass", "def g(b):", "    pass", "y = 2", "    z()"]
    file = File("one.py", lines, ["f", "g", "h"])
    for function in asked:
        file.line_of(function)
    for start, old, new in edits:
        file.replace(start, old, ["def h(c):" if new == 4 else "    more()"] * new)
        for function in "fgh":
            fresh = File("one.py", file.lines, file.functions)
            assert file.line_of(function) == fresh.line_of(function)
