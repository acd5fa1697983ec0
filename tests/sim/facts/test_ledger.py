"""What holds when: facts that are stated, revised, taken back, closed, and said on a branch that
was given up.
"""

from __future__ import annotations

import pytest

from compactlab.sim.core.conversation import Fact, Need
from compactlab.sim.core.message import Source
from compactlab.sim.facts import ledger_of, numbers
from tests.sim.facts.told import answer, back_to, due, say, script


def fact(id: str, *origins: str, **more: object) -> Fact:
    origin = tuple(Source(each) for each in origins)
    return Fact(id, "decision", id, f"value of {id}", origin, **more)  # type: ignore[arg-type]


STORY = [each for n in (1, 2, 3) for each in (say(f"u{n}", "well"), answer(f"a{n}"))]


CALLS = ("a1", "a2", "a3")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # A fact is due from the call after it was said.
        ([fact("f", "u2"), fact("mine", "a1")], [set(), {"f", "mine"}, {"f", "mine"}]),
        # Each origin states it, unless all are needed.
        ([fact("any", "u1", "u3"), fact("all", "u1", "u3", whole=True)],
         [{"any"}, {"any"}, {"any", "all"}]),
        # The newer takes the place of the older and of all before, also by a link never said.
        ([fact("f1", "u1"), fact("f2", "u2", supersedes=("f1",)),
          fact("f3", "u3", supersedes=("f2",))], [{"f1"}, {"f2"}, {"f3"}]),
        ([fact("f1", "u1"), fact("f2", supersedes=("f1",)), fact("f3", "u3", supersedes=("f2",))],
         [{"f1"}, {"f1"}, {"f3"}]),
        # What is taken back is gone from the next call on; a scope ends with its message.
        ([fact("f", "u1", deleted_at="u2")], [{"f"}, set(), set()]),
        ([fact("loop", "u1", scope="a2"), fact("all", "u1")],
         [{"loop", "all"}, {"loop", "all"}, {"all"}]),
        # A decoy is never due.
        ([fact("f", "u1"), fact("decoy", decoy=True), fact("odd", "u1", decoy=True)],
         [{"f"}, {"f"}, {"f"}]),
    ],
)  # fmt: skip
def test_which_facts_are_due(facts: list[Fact], expected: list[set[str]]) -> None:
    talk = script(*STORY, facts=facts)
    assert [due(talk, at) for at in CALLS] == expected
    assert due(talk) == expected[-1]


@pytest.mark.parametrize(
    ("facts", "replaced", "deleted"),
    [
        ([fact("f1", "u1"), fact("f2", "u2", supersedes=("f1",)),
          fact("f3", "u3", supersedes=("f2",))], [0b000, 0b001, 0b011], [0, 0, 0]),
        ([fact("f", "u1", deleted_at="u2")], [0, 0, 0], [0, 1, 1]),
        # What was replaced and taken back counts as taken back.
        ([fact("f", "u1", deleted_at="u3"), fact("g", "u2", supersedes=("f",))],
         [0, 1, 0], [0, 0, 1]),
        ([fact("loop", "u1", scope="a2")], [0, 0, 0], [0, 0, 0]),
    ],
)  # fmt: skip
def test_which_facts_are_replaced_and_deleted(
    facts: list[Fact], replaced: list[int], deleted: list[int]
) -> None:
    moments = [ledger_of(script(*STORY, facts=facts)).moments[at] for at in CALLS]
    assert [moment.replaced for moment in moments] == replaced
    assert [moment.deleted for moment in moments] == deleted


def test_facts_that_replace_each_other_are_both_gone_once_both_are_said() -> None:
    ring = [fact("f1", "u1", supersedes=("f2",)), fact("f2", "u2", supersedes=("f1",))]
    talk = script(*STORY, facts=ring)
    assert [due(talk, at) for at in ("a1", "a2")] == [{"f1"}, set()]
    assert ledger_of(talk).older == {0: 0b10, 1: 0b01}


def test_a_fact_that_replaces_itself_replaces_nothing() -> None:
    talk = script(*STORY, facts=[fact("f", "u1", supersedes=("f",))])
    assert due(talk) == {"f"}
    assert ledger_of(talk).revised == 0


def test_a_message_of_an_unlucky_name_ends_nothing() -> None:
    talk = script(say("session", "hello"), say("", "nobody"), *STORY, facts=[fact("f", "u1")])
    assert due(talk) == {"f"}


def test_decoys_are_told_apart() -> None:
    facts = [fact("f", "u1"), fact("decoy", decoy=True), fact("odd", "u1", decoy=True)]
    assert list(numbers(ledger_of(script(*STORY, facts=facts)).decoys)) == [1, 2]


def test_what_was_said_on_a_branch_that_was_given_up_is_not_due() -> None:
    branch = [say("b1", "no, rather"), answer("b2"), back_to("a1"), say("c1", "yes"), answer("c2")]
    facts = [fact("f1", "u1"), fact("f2", "b1", supersedes=("f1",)), fact("f3", "c1")]
    talk = script(*STORY[:2], *branch, facts=facts)
    assert [due(talk, at) for at in ("b2", "c2", "")] == [{"f2"}, {"f1", "f3"}, {"f1", "f3"}]


def test_a_rewind_brings_back_what_was_taken_back_after_it() -> None:
    facts = [fact("f", "u1", deleted_at="u2"), fact("g", "u1", scope="u2")]
    talk = script(*STORY[:4], back_to("u1"), answer("b1"), facts=facts)
    assert due(talk, "a2") == set()
    assert due(talk, "b1") == {"f", "g"}


def test_a_rewind_to_the_start_forgets_everything() -> None:
    again = [back_to(""), say("v1", "again"), answer("b1")]
    talk = script(*STORY, *again, facts=[fact("f", "u1"), fact("g", "v1")])
    assert due(talk, "b1") == {"g"}


def test_only_what_is_due_is_needed() -> None:
    facts = [fact("f", "u1", deleted_at="u3"), fact("g", "u3")]
    needs = [Need("f", "a2"), Need("f", "a3"), Need("g", "a1"), Need("g", "a3"), Need("g", "a3")]
    moments = ledger_of(script(*STORY, facts=facts, needs=needs)).moments
    assert [moments[at].needed for at in ("a1", "a2", "a3")] == [0, 0b01, 0b10]


def test_a_conversation_without_labels_gets_those_that_its_actions_show() -> None:
    talk = script(
        say("u1", "Look at src/main.py please"), answer("a1"), answer("a2", "src/main.py is fine")
    )
    ledger = ledger_of(talk)
    assert not ledger.declared
    assert [f.value for f in ledger.facts] == ["src/main.py"]
    assert ledger.moments["a2"].needed == 1


def test_what_is_read_a_second_time_is_known_by_its_own_messages() -> None:
    talks = [script(say("u1", "one"), answer("a1"), facts=[fact("f", "u1")]) for _ in range(2)]
    ledgers = [ledger_of(talk) for talk in talks]
    assert talks[0].digest == talks[1].digest
    assert all(ledger.conversation is talk for ledger, talk in zip(ledgers, talks, strict=True))
    assert ledger_of(talks[1]) is ledgers[1]
