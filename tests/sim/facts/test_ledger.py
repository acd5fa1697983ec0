"""What holds when: facts that are stated, revised, taken back, closed, and said on a branch that
was given up.
"""

from __future__ import annotations

from compactlab.sim.core.conversation import Fact, Need
from compactlab.sim.core.message import Source
from compactlab.sim.facts import ledger_of, numbers
from tests.sim.facts.told import answer, back_to, due, say, script


def fact(id: str, *origins: str, **more: object) -> Fact:
    origin = tuple(Source(each) for each in origins)
    return Fact(id, "decision", id, f"value of {id}", origin, **more)  # type: ignore[arg-type]


STORY = [
    say("u1", "one"),
    answer("a1"),
    say("u2", "two"),
    answer("a2"),
    say("u3", "three"),
    answer("a3"),
]


def test_a_fact_is_due_from_the_call_after_it_was_said() -> None:
    talk = script(*STORY, facts=[fact("f", "u2"), fact("mine", "a1")])
    assert [due(talk, at) for at in ("a1", "a2", "a3", "")] == [
        set(),
        {"f", "mine"},
        {"f", "mine"},
        {"f", "mine"},
    ]


def test_each_origin_states_a_fact_unless_all_are_needed() -> None:
    talk = script(*STORY, facts=[fact("any", "u1", "u3"), fact("all", "u1", "u3", whole=True)])
    assert [due(talk, at) for at in ("a1", "a2", "a3")] == [{"any"}, {"any"}, {"any", "all"}]


def test_the_newer_takes_the_place_of_the_older_and_of_all_before() -> None:
    chain = [
        fact("f1", "u1"),
        fact("f2", "u2", supersedes=("f1",)),
        fact("f3", "u3", supersedes=("f2",)),
    ]
    talk = script(*STORY, facts=chain)
    assert [due(talk, at) for at in ("a1", "a2", "a3")] == [{"f1"}, {"f2"}, {"f3"}]
    moments = ledger_of(talk).moments
    assert [moments[at].replaced for at in ("a1", "a2", "a3")] == [0b000, 0b001, 0b011]


def test_a_chain_with_a_link_that_was_never_said_still_holds() -> None:
    chain = [fact("f1", "u1"), fact("f2", supersedes=("f1",)), fact("f3", "u3", supersedes=("f2",))]
    assert due(script(*STORY, facts=chain)) == {"f3"}


def test_facts_that_replace_each_other_are_both_gone_once_both_are_said() -> None:
    ring = [fact("f1", "u1", supersedes=("f2",)), fact("f2", "u2", supersedes=("f1",))]
    talk = script(*STORY, facts=ring)
    assert [due(talk, at) for at in ("a1", "a2")] == [{"f1"}, set()]
    assert ledger_of(talk).older == {0: 0b10, 1: 0b01}


def test_a_fact_that_replaces_itself_replaces_nothing() -> None:
    talk = script(*STORY, facts=[fact("f", "u1", supersedes=("f",))])
    assert due(talk) == {"f"}
    assert ledger_of(talk).revised == 0


def test_what_is_taken_back_is_gone_from_the_next_call_on() -> None:
    talk = script(*STORY, facts=[fact("f", "u1", deleted_at="u2")])
    assert [due(talk, at) for at in ("a1", "a2")] == [{"f"}, set()]
    assert [m.deleted for m in ledger_of(talk).moments.values()] == [0, 1, 1]


def test_what_was_taken_back_and_replaced_counts_as_taken_back() -> None:
    talk = script(
        *STORY, facts=[fact("f", "u1", deleted_at="u3"), fact("g", "u2", supersedes=("f",))]
    )
    moments = ledger_of(talk).moments
    assert [(m.replaced, m.deleted) for m in moments.values()] == [(0, 0), (1, 0), (0, 1)]


def test_a_scope_ends_with_its_message() -> None:
    talk = script(*STORY, facts=[fact("loop", "u1", scope="a2"), fact("all", "u1")])
    assert [due(talk, at) for at in ("a2", "a3")] == [{"loop", "all"}, {"all"}]
    assert ledger_of(talk).moments["a3"].deleted == 0


def test_a_message_of_an_unlucky_name_ends_nothing() -> None:
    talk = script(say("session", "hello"), say("", "nobody"), *STORY, facts=[fact("f", "u1")])
    assert due(talk) == {"f"}


def test_a_decoy_is_never_due() -> None:
    talk = script(
        *STORY, facts=[fact("f", "u1"), fact("decoy", decoy=True), fact("odd", "u1", decoy=True)]
    )
    assert due(talk) == {"f"}
    assert list(numbers(ledger_of(talk).decoys)) == [1, 2]


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
    talk = script(
        *STORY,
        back_to(""),
        say("v1", "again"),
        answer("b1"),
        facts=[fact("f", "u1"), fact("g", "v1")],
    )
    assert due(talk, "b1") == {"g"}
    moment = ledger_of(talk).moments["b1"]
    assert (moment.seen, moment.turn) == (1, 1)


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
    assert [ledger.conversation is talk for ledger, talk in zip(ledgers, talks, strict=True)] == [
        True,
        True,
    ]
    assert ledger_of(talks[1]) is ledgers[1]
