"""The lossy summariser: what was planted comes out, and luck is the same for all."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Call, Message, Part, Source, verbatim
from compactlab.sim.core.tokens import Tokenizer, chars4
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import Tracker, ledger_of
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.extractive import SHORTEST
from compactlab.strategies.summarizers.lossy import Case, Fate, Lossy
from tests.summarizers.story import Story, fate, many, token

o200k = Tokenizer("o200k_base", 1.3).text
SEEDS = range(60)


def summarize(
    lossy: Lossy,
    told: Conversation,
    messages: tuple[Message, ...] | None = None,
    previous: tuple[Part, ...] = (),
    *,
    seed: int = 0,
    budget: int = 50_000,
    count: Callable[[str], int] = chars4,
) -> tuple[Part, ...]:
    messages = told.messages if messages is None else messages
    return lossy.bound(told, seed).summarize(SummaryRequest(messages, budget, previous), count)


def fates(told: Conversation, parts: tuple[Part, ...]) -> dict[str, str]:
    gone = {id for fact in told.facts for id in fact.supersedes}
    due = (fact for fact in told.facts if fact.id not in gone and not fact.decoy)
    return {fact.id: fate(fact, told.facts, parts) for fact in due}


def close(hits: int, n: int, p: float) -> bool:
    """Whether a count is within 3.9 standard deviations: a chance of one in ten thousand."""
    return abs(hits - n * p) <= 3.9 * math.sqrt(n * p * (1 - p)) + 1e-9


def test_planted_fates_come_back():
    lossy = Lossy(first=0.5, mutated=0.3, stale=0.4)
    alone, revised = Counter[str](), Counter[str]()
    for seed in SEEDS:
        told = many(seed).told()
        older = {fact.id for fact in told.facts if fact.supersedes}
        for id, found in fates(told, summarize(lossy, told, seed=seed)).items():
            (revised if id in older else alone)[found] += 1
    n = alone.total()
    assert n == revised.total() == 30 * len(SEEDS)
    assert alone["stale"] == 0
    for found, p in (("intact", 0.5), ("mutated", 0.15), ("lost", 0.35)):
        assert close(alone[found], n, p)
    for found, p in (("intact", 0.5), ("stale", 0.2), ("mutated", 0.15), ("lost", 0.15)):
        assert close(revised[found], n, p)


def test_survivors_have_chances_of_their_own_and_what_is_lost_stays_lost():
    lossy = Lossy(first=0.5, later=0.8, mutated=0.3, stale=0.4)
    moves = Counter[tuple[str, str]]()
    for seed in SEEDS:
        told = many(seed).told()
        first = summarize(lossy, told, seed=seed)
        second = summarize(lossy, told, (), first, seed=seed)
        before, after = fates(told, first), fates(told, second)
        moves.update((before[id], after[id]) for id in before)
    for found in ("intact", "mutated", "stale"):
        n = sum(times for (one, _), times in moves.items() if one == found)
        assert close(moves[found, found], n, 0.8)
    assert moves["lost", "lost"] == sum(t for (one, _), t in moves.items() if one == "lost")
    assert not moves["mutated", "intact"] + moves["stale", "intact"] + moves["stale", "mutated"]


def test_what_is_said_once_more_is_heard_once_more():
    told = many(1).told()
    first = summarize(Lossy(first=0.5, later=0.9), told)
    both = summarize(Lossy(first=0.1, later=1.0), told, told.messages, first)
    kept = [id for id, found in fates(told, first).items() if found == "intact"]
    assert {fates(told, both)[id] for id in kept} == {"intact"}


@pytest.mark.parametrize(("first", "found"), [(1.0, "intact"), (0.0, "lost")])
def test_at_the_ends_nothing_is_left_to_chance(first, found):
    told = many(2).told()
    parts = summarize(Lossy(first=first, mutated=0.0, stale=0.0), told)
    assert set(fates(told, parts).values()) == {found}


def test_the_levels_are_nested_as_the_luck_is_the_same():
    told = many(3).told()
    kept = []
    for level in ("low", "mid", "high"):
        parts = summarize(Lossy(level=level), told)  # type: ignore[arg-type]
        kept.append({id for id, found in fates(told, parts).items() if found == "intact"})
    assert kept[0] < kept[1] < kept[2]


def test_the_luck_of_a_fact_depends_on_nothing_around_it():
    """Another strategy asks for other messages, with another budget, about the same facts."""
    told = many(4).told()
    lossy = Lossy(first=0.5)
    whole = fates(told, summarize(lossy, told))
    some = fates(told, summarize(lossy, told, told.messages[:20], budget=9_000))
    early = {fact.id for fact in told.facts[:20]}
    assert {id: whole[id] for id in early} == {id: some[id] for id in early}
    others = (summarize(replace(lossy, draw=1), told), summarize(lossy, told, seed=1))
    assert all(fates(told, other) != whole for other in others)


@pytest.mark.parametrize("budget", [400, 900])
def test_the_ratio_is_of_what_there_is_room_for(budget, monkeypatch):
    """A length is drawn without looking at the budget, and at how much was said."""
    told = many(5).told()
    given = sum(chars4(part.text) for message in told.messages for part in message.parts)
    assert budget < given < SHORTEST
    assert ratios(told, budget, monkeypatch) == {budget / given}
    assert ratios(told, 50_000, monkeypatch) == {1.0}


def ratios(told: Conversation, budget: int, monkeypatch: pytest.MonkeyPatch) -> set[float]:
    """The ratios that facts come before the summariser with."""
    seen, drawn = set(), Lossy.drawn

    def spied(lossy: Lossy, fact: Fact, case: Case, chance: float) -> Fate:
        seen.add(case.ratio)
        return drawn(lossy, fact, case, chance)

    monkeypatch.setattr(Lossy, "drawn", spied)
    summarize(Lossy(), told, budget=budget)
    return seen


def test_a_line_stands_for_where_its_fact_was_said():
    story = Story()
    old = story.state("port", "8123")
    new = story.state("port", "9456", supersedes=(old.id,))
    ban = story.state("branch", "main", "must_not")
    told = story.told()
    heading, kept, never = summarize(Lossy(first=1.0), told)[:3]
    assert heading.text.startswith("Simulated summary, round 1")
    assert (kept.text, kept.sources) == ("port: 9456", new.origin)
    assert (never.text, never.sources) == ("branch (must not): main", ban.origin)
    stale = summarize(Lossy(first=0.0, stale=1.0), told)[1]
    assert (stale.text, stale.sources) == ("port: 8123", (*old.origin, *new.origin))
    again = summarize(Lossy(later=1.0), told, (), (heading, stale))
    assert again[0].text.startswith("Simulated summary, round 2")
    assert again[1] == stale


def test_an_older_value_that_was_forgotten_does_not_come_back():
    story = Story()
    old = story.state("port", "8123")
    story.state("port", "9456", supersedes=(old.id,))
    told = story.told()
    first = summarize(Lossy(first=0.0, stale=0.0, mutated=0.0), told, told.messages[:1])
    second = summarize(Lossy(first=0.0, stale=1.0), told, told.messages[1:], first)
    assert "8123" not in " ".join(part.text for part in second)


def test_what_is_still_to_come_is_not_known():
    """The newer value stands in messages that are kept: the older one is the latest here."""
    story = Story()
    old = story.state("port", "8123")
    story.state("port", "9456", supersedes=(old.id,))
    told = story.told()
    first = summarize(Lossy(first=1.0, later=1.0), told, told.messages[:1])
    assert summarize(Lossy(first=1.0, later=1.0), told, (), first)[1].text == "port: 8123"


@pytest.mark.parametrize(("level", "share"), [("low", 0.5), ("mid", 0.2), ("high", 0.02)])
def test_what_is_taken_back_is_dropped_but_for_a_leak(level, share):
    leaks = 0
    for seed in range(400):
        story = Story(f"s{seed}")
        fact = story.state("port", "8123")
        away = story.say("Forget about that number.")
        story.facts = [msgspec.structs.replace(fact, deleted_at=away)]
        parts = summarize(Lossy(level=level, first=1.0), story.told())  # type: ignore[arg-type]
        leaks += any("8123" in part.text for part in parts)
    assert close(leaks, 400, share)


def test_a_loop_that_was_closed_is_not_told():
    story = Story()
    fact = story.state("review", "8123")
    done = story.say("All done with that.")
    story.facts = [msgspec.structs.replace(fact, scope=done)]
    parts = summarize(Lossy(first=1.0), story.told())
    assert "8123" not in " ".join(part.text for part in parts)


def test_fillers_hold_no_fact_and_no_decoy_appears():
    story = many(5)
    for number in range(300):
        story.say(f"Number {number} of the weather reports speaks of ghost ships and clouds.")
        story.say(f"Report {number} again: only rain over the northern hills.", "assistant")
    told = story.told()
    parts = summarize(Lossy(first=0.0, mutated=0.0, stale=0.0), told, count=o200k)
    text = "\n".join(part.text for part in parts)
    assert o200k(text) > 1000
    assert not [word for word in ("ghost", "thing", "item") if word in text]
    by_id = {message.id: message for message in told.messages}
    for part in parts[1:]:
        for line, source in zip(part.text.split("\n"), part.sources, strict=True):
            assert by_id[source.id].parts[source.part].text[source.start : source.end] == line


@pytest.mark.parametrize("budget", [0, 5, 20, 60, 200, 900])
def test_where_room_is_scarce_the_luckiest_facts_stay(budget):
    told = many(6).told()
    lossy = Lossy(first=0.8)
    parts = summarize(lossy, told, budget=budget, count=o200k)
    assert sum(o200k(part.text) for part in parts) <= budget
    whole = fates(told, summarize(lossy, told))
    assert all(found in ("lost", whole[id]) for id, found in fates(told, parts).items())


def test_a_summary_is_no_longer_than_what_it_is_made_of_and_no_longer_than_recorded_ones():
    story = many(7)
    for _ in range(40):
        story.say("The rain goes on and on. " * 30 + token(7, str(len(story.messages))))
    told = story.told()
    for seed in range(20):
        size = sum(o200k(p.text) for p in summarize(Lossy(), told, seed=seed, count=o200k))
        assert 200 < size <= 5540
    short = Story()
    short.say("Nothing much was said here, and it was said in so many words.")
    given = o200k(short.messages[0].text)
    assert sum(o200k(p.text) for p in summarize(Lossy(), short.told(), count=o200k)) <= given + 15


def test_without_labels_the_facts_are_what_actions_use():
    call = verbatim("a1", "tool_call", '{"path":"src/parser.py"}', name="read", call_id="c1")
    said = Message("u1", "user", (verbatim("u1", "text", "Mend src/parser.py, will you."),))
    told = Story(messages=[said, Message("a1", "assistant", (call,), call=Call())]).told()
    parts = summarize(Lossy(first=1.0), told, told.messages[:1])
    assert parts[1].text == "src/parser.py"
    assert parts[1].sources == (Source("u1", 0),)


def test_it_must_know_the_conversation_and_keeps_its_name():
    with pytest.raises(UsageError, match="bind"):
        Lossy().summarize(SummaryRequest((), 100), len)
    bound = Lossy(level="low").bound(Story().told(), 3)
    assert bound.spec == Lossy(level="low").spec
    assert bound.simulated == Lossy.simulated != ""


@pytest.mark.parametrize(
    "nonsense",
    [
        {"level": "most"},
        {"first": 1.5},
        {"later": -1},
        {"stale": "x"},
        {"mutated": 0.6, "stale": 0.6},
    ],
)
def test_nonsense_is_refused(nonsense):
    with pytest.raises(ValueError, match=r"must be|at most"):
        Lossy(**nonsense)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_the_states_of_facts_say_what_was_drawn(seed):
    told = many(seed).told()
    parts = summarize(Lossy(first=0.5, mutated=0.3, stale=0.4), told, seed=seed)
    ledger = ledger_of(told)
    said = Message("s1", "user", parts, meta=True)
    states = Tracker(ledger).move(View((), Messages([said])))
    for id, found in fates(told, parts).items():
        assert states.of(ledger.number[id]) == found


def asking(seed: int, facts: int = 30) -> Conversation:
    """A session of questions that nobody has answered."""
    story = Story(f"asking-{seed}")
    for number in range(facts):
        key, value = f"item {number}", token(seed, f"new {number}")
        id = story.say(f"{key} could become {value}, but nobody has said so yet.", "assistant")
        story.facts.append(Fact(f"f{number}", "proposal", key, value, (Source(id),), "asks"))
    return story.told()


def state_after(lossy: Lossy, told: Conversation, seed: int) -> Counter[str]:
    """The states in a prompt that holds nothing but the summary."""
    prompt = View((), Messages([Message("made", "user", summarize(lossy, told, seed=seed))]))
    states = Tracker(ledger_of(told)).move(prompt)
    return Counter(states.of(number) for number, fact in enumerate(told.facts) if not fact.decoy)


def test_a_question_is_damaged_by_being_stated_as_decided():
    lossy, count = Lossy(first=0.5, mutated=0.3), Counter[str]()
    for seed in SEEDS:
        count += state_after(lossy, asking(seed), seed)
    n = count.total()
    for found, p in (("intact", 0.5), ("presumed", 0.15), ("lost", 0.35)):
        assert close(count[found], n, p), found
    assert set(count) == {"intact", "presumed", "lost"}


def test_what_was_presumed_stays_so_or_is_lost():
    lossy, told = Lossy(first=0.0, later=1.0, mutated=1.0), asking(1)
    first = summarize(lossy, told)
    second = summarize(lossy, told, (), first)
    prompt = View((), Messages([Message("made", "user", second)]))
    assert Tracker(ledger_of(told)).move(prompt).presumed.bit_count() == 30


def test_an_end_of_a_task_that_is_kept_stale_resurrects_it():
    lossy, count = Lossy(first=0.5, mutated=0.0, stale=0.4), Counter[str]()
    for seed in SEEDS:
        story = Story(f"tasks-{seed}")
        for number in range(30):
            name = f"thing {number}"
            old = story.state(name, token(seed, f"old {number}"))
            story.state(name, token(seed, f"newer {number}"), supersedes=(old.id,))
            story.facts[-1] = msgspec.structs.replace(story.facts[-1], kind="done")
        told = story.told()
        prompt = View((), Messages([Message("made", "user", summarize(lossy, told, seed=seed))]))
        states = Tracker(ledger_of(told)).move(prompt)
        count.update(states.of(n) for n, fact in enumerate(told.facts) if fact.kind == "done")
    for found, p in (("intact", 0.5), ("resurrected", 0.2), ("lost", 0.3)):
        assert close(count[found], count.total(), p), found
