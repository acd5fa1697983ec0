"""The session that repeats itself: what is the same, what is nearly the same, and what is not."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise

from compactlab.scenarios.rereading import Repetitions
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.facts.ledger import ledger_of
from tests.scenarios.made import SEEDS, made, of_all_seeds, spans, stated


def readings(conversation: Conversation, tool: str) -> dict[str, list[str]]:
    """What was read of each file or log, in order."""
    calls = {
        part.call_id: part.text
        for message in conversation.messages
        for part in message.parts
        if part.type == "tool_call"
    }
    found: dict[str, list[str]] = {}
    for message in conversation.messages:
        for part in message.parts:
            if part.type == "tool_result" and part.name == tool and not part.is_error:
                found.setdefault(calls[part.call_id], []).append(part.text)
    return found


@of_all_seeds
def test_the_same_is_asked_and_pasted_again_and_again(seed: int) -> None:
    session = made("repetitions", 100_000, seed)
    asked = [m.text for m in session.messages if m.starts_turn]
    lines = Counter(line for text in asked for line in set(text.split("\n")))
    requests = [line for line, times in lines.items() if times > 2 and line[0] != "["]
    pasted = [line for line, times in lines.items() if times > 1 and line[0] == "["]
    assert len(requests) > 3
    assert len(pasted) > 3


def test_a_message_is_sent_twice() -> None:
    twice = 0
    for seed in SEEDS:
        session = made("repetitions", 100_000, seed)
        asked = [m.text for m in session.messages if m.starts_turn]
        twice += sum(first == second for first, second in pairwise(asked))
    assert twice > 2 * len(SEEDS)


@of_all_seeds
def test_few_files_are_read_many_times_with_small_differences(seed: int) -> None:
    read = readings(made("repetitions", 100_000, seed), "read")
    assert len(read) == 5
    assert sum(map(len, read.values())) > 30
    alike = [
        SequenceMatcher(None, a.split("\n"), b.split("\n"), autojunk=False).ratio()
        for texts in read.values()
        for a, b in pairwise(texts)
        if abs(len(a) - len(b)) < 0.2 * len(a)  # else one of them was cut
    ]
    assert sum(ratio > 0.85 for ratio in alike) > 0.9 * len(alike)
    assert 0.1 < sum(ratio == 1 for ratio in alike) / len(alike) < 0.6


@of_all_seeds
def test_a_log_only_grows_but_for_lines_that_do_not_hold(seed: int) -> None:
    session = made("repetitions", 100_000, seed)
    values = {fact.value for fact in session.facts}
    for texts in readings(session, "tail").values():
        for earlier, later in pairwise(texts):
            plain = [
                [line for line in text.split("\n") if not any(v in line for v in values)]
                for text in (earlier, later)
            ]
            if len(plain[1]) > 10:  # more than has come
                assert plain[0][-1] in plain[1]


@of_all_seeds
def test_facts_are_stated_again_in_other_words_or_shown_again(seed: int) -> None:
    session = made("repetitions", 100_000, seed)
    several = [fact for fact in stated(session) if len(fact.origin) > 1]
    assert len(several) > 0.35 * len(stated(session))
    said = [fact for fact in several if not fact.handle]
    shown = [fact for fact in several if fact.handle]
    assert any(len(set(spans(session, fact))) > 1 for fact in said)
    assert all(len(set(spans(session, fact))) == 1 for fact in shown)
    assert max(len(fact.origin) for fact in shown) > 3


@of_all_seeds
def test_nothing_is_said_again_once_it_does_not_hold(seed: int) -> None:
    session = made("repetitions", 100_000, seed)
    ledger = ledger_of(session)
    order = {message.id: index for index, message in enumerate(session.messages)}
    for number, fact in enumerate(session.facts):
        for source in fact.origin[1:]:
            after = next(m for m in session.calls if order[m.id] > order[source.id])
            assert ledger.moments[after.id].due >> number & 1


def test_near_duplicates_abound() -> None:
    for seed in SEEDS:
        facts = [fact for fact in stated(made("repetitions", 100_000, seed)) if not fact.supersedes]
        things = Counter(fact.key.split(" ", 1)[1] for fact in facts)
        assert sum(times > 1 for times in things.values()) > 3


def test_bytes_never_change_unnoticed() -> None:
    assert Repetitions(tokens=10_000).conversation(0).digest == "5b18061d9d1f45c8"
