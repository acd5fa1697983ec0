"""What is left of a conversation in contexts that somebody else made of it."""

from typing import Any

import msgspec
import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab.reports.score import Score, spoken
from compactlab.sim.core.conversation import Conversation, Fact, Need, Rewind
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.message import Call, Message, Part, Role, Source, verbatim
from tests.lines import refusal

LONG = "The deploy target of the second service is eu-west-3, and nothing else counts for us."


def say(id: str, text: str, role: Role = "user") -> Message:
    call = Call() if role == "assistant" else None
    return Message(id, role, (verbatim(id, "text", text),), call=call)


def fact(id: str, value: str, *origins: str, **more: object) -> Fact:
    return Fact(id, "decision", "", value, tuple(map(Source, origins)), **more)  # type: ignore[arg-type]


EVENTS = (
    say("u1", LONG),
    say("a1", "Fine.", "assistant"),
    say("u2", "The limit of retries is 7."),
    say("a2", "Noted.", "assistant"),
    say("u3", "Make it 9 from now on."),
    say("a3", "Done.", "assistant"),
)
FACTS = (
    fact("where", "eu-west-3", "u1"),
    fact("seven", "7", "u2"),
    fact("nine", "9", "u3", supersedes=("seven",)),
    Fact("decoy", "entity", "", "hunter22", decoy=True),
)
NEEDS = (Need("where", "a2"), Need("where", "a3"), Need("seven", "a2"), Need("nine", "a3"))
ORIGINAL = Conversation("talk", "native", EVENTS, facts=FACTS, needs=NEEDS)


def context(*messages: Message, format: str = "openai-chat", **more: Any) -> Conversation:
    return Conversation("context", format, messages, **more)


def scored(*messages: Message, original: Conversation = ORIGINAL, **more: Any) -> Score:
    return compactlab.score(original, context(*messages, **more))


def states(score: Score) -> dict[str, str]:
    return {found.fact: found.state for found in score.found}


def test_who_changes_nothing_forgets_nothing():
    score = scored(*(say(f"x{n}", event.text, event.role) for n, event in enumerate(EVENTS)))
    assert states(score) == {"where": "verbatim", "nine": "verbatim"}
    assert score.figures["amnesia"] == score.figures["amnesia_need"] == 0
    assert score.figures["verbatim_recency"] == score.figures["order_fidelity"] == 1
    assert score.before == score.after
    assert score.context.found == score.context.words
    assert score.faults is None


def test_who_keeps_nothing_forgets_everything():
    score = scored(say("x", "---"))
    assert set(states(score).values()) == {"lost"}
    assert score.figures["amnesia"] == score.figures["amnesia_need"] == 1


def test_where_a_fact_was_found_is_told():
    score = scored(say("s", "They deploy to eu-west-3."), *EVENTS[-2:])
    where = {found.fact: found.where for found in score.found}
    assert where == {"where": ("compacted:1",), "nine": ("u3",)}
    part = Part("text", "Deploy to eu-west-3.", "memory", (Source("u1"),))
    score = scored(*EVENTS[-2:], system=(part,))
    assert {found.fact: found.where for found in score.found}["where"] == ("system",)


def test_a_fact_weighs_as_often_as_it_was_needed():
    score = scored(*EVENTS[-2:])
    assert states(score) == {"where": "lost", "nine": "verbatim"}
    assert {found.fact: found.needs for found in score.found} == {"where": 2, "nine": 1}
    assert score.figures["amnesia_need"] == pytest.approx(2 / 3)
    assert score.figures["amnesia"] == 0.5
    assert not score.later


def test_needs_after_the_end_weigh_more_than_those_before():
    needs = (*NEEDS, Need("nine", ""), Need("nine", ""), Need("where", ""), Need("nine", ""))
    original = Conversation("talk", "native", EVENTS, facts=FACTS, needs=needs)
    score = scored(*EVENTS[-2:], original=original)
    assert score.later
    assert score.figures["amnesia_need"] == 0.25


def test_needs_after_the_end_have_a_lag_and_the_figures_begin_with_recall_from_there():
    long = (*EVENTS, say("u4", "and then some more " * 6_000), say("a4", "Done.", "assistant"))
    needs = (Need("where", ""), Need("new", ""))
    facts = (FACTS[0], fact("new", "blue", "u5"))
    late = (*long, say("u5", "The deployment that is live is the blue one."))
    original = Conversation("talk", "native", late, facts=facts, needs=needs)
    score = scored(late[-1], original=original)
    assert [*score.figures][:4] == ["recall_20k", "recall_10k", "recall_40k", "amnesia_need"]
    assert (score.figures["recall_20k"], score.figures["recall_40k"]) == (0, None)
    assert score.figures["amnesia_need"] == 0.5
    score = scored(say("s", "They deploy to eu-west-3."), late[-1], original=original)
    assert score.figures["recall_20k"] == 1
    # Needs of the original have no end to be that far from.
    assert scored(late[0]).figures["recall_20k"] is None


def test_old_values_are_stale_and_both_together_a_conflict():
    stale, both = scored(EVENTS[2]), scored(say("s", "The limit is 7. The limit is 9."))
    assert states(stale)["nine"] == "stale"
    assert stale.figures["stale"] == 1
    assert {found.fact: found.where for found in stale.found}["nine"] == ("u2",)
    assert states(both)["nine"] == "conflict"
    assert both.figures["conflict"] == 1


def test_what_was_said_on_a_branch_that_was_given_up_is_not_due():
    events = (*EVENTS[:2], say("b", "Or take 5."), Rewind("a1"), *EVENTS[2:])
    original = Conversation(
        "t", "native", events, facts=(*FACTS, fact("five", "5", "b")), needs=NEEDS
    )
    assert [message.id for message in spoken(original)] == [event.id for event in EVENTS]
    score = scored(*EVENTS, original=original)
    assert states(score) == {"where": "verbatim", "nine": "verbatim"}
    assert score.figures["verbatim_recency"] == 1


def test_values_that_anybody_could_guess_are_noticed():
    score = scored(say("s", "hunter22"))
    assert (score.figures["decoys_found"], score.figures["guessable"]) == (1, 1)


def test_an_answer_in_the_place_of_a_summary_is_noticed():
    score = scored(say("s", "Sure! Which service do you mean?"))
    assert {"answers", "asks_user"} <= set(score.faults or ())


def test_without_labels_facts_are_what_actions_use():
    events = (
        say("u1", "See src/main.py"),
        say("a1", "ok", "assistant"),
        say("a2", "src/main.py is fine", "assistant"),
    )
    score = scored(say("s", "nothing"), original=Conversation("t", "native", events))
    assert not score.labelled
    assert [(found.value, found.state, found.needs) for found in score.found] == [
        ("src/main.py", "lost", 1)
    ]


def test_a_conversation_in_which_nothing_is_due_has_no_amnesia():
    score = scored(say("s", "x"), original=Conversation("t", "native", EVENTS[:1]))
    assert (score.found, score.figures["amnesia"], score.amnesia_need) == ((), None, None)


def test_declared_provenance_is_taken_as_it_is():
    part = Part("text", "to eu-west-3", "summary", (Source("u2"),))
    made = Message("s", "user", (part,))
    told = scored(made, format="native")
    assert not told.context.inferred
    assert states(told)["where"] == "lost"
    found_out = scored(msgspec.structs.replace(made))
    assert found_out.context.inferred
    assert states(found_out)["where"] == "intact"


def test_tokens_without_text_leave_facts_unknown():
    score = scored(Message("s", "user", (Part("text", "", "opaque", (), size=90),)))
    assert set(states(score).values()) == {"unknown"}
    assert score.figures["amnesia"] is None
    assert score.after == 101  # 90 of o200k, as this model counts


# ---------------------------------------------------------------- what is found by chance

CHATTER = [
    "I saw 3 birds at the lake.", "Yes, that is nice.", "We stay 3 days in Paris.", "Yes.",
    "My aunt lives in Paris, too.", "Lunch was at 3.", "It rained all day.", "Yes, I think so.",
    "There were 3 of us.", "The train leaves at noon.", "In Paris it was cold.", "Call me later.",
] * 12  # fmt: skip
MOVED = "My sister moved her bakery to Lyon."
TALK = Conversation(
    "chat",
    "native",
    tuple(
        say(f"m{n}", text, "assistant" if n % 2 else "user")
        for n, text in enumerate(
            [*CHATTER[:30], MOVED, "Did she hire 7 people?", *CHATTER[30:], "Bus 7."]
        )
    ),
    facts=(
        fact("town", "Lyon", "m30"),
        fact("staff", "7", "m31"),
        fact("birds", "3", "m0"),
        fact("city", "Paris", "m2"),
        fact("agreed", "Yes", "m1"),
    ),
)


MUCH = "They talked about a lot of things and then about other things. " * 5


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        # What stands in many messages is found in any text.
        ("They talked about 3 birds, Paris and the weather. Yes, they did.", set()),
        # What stands in none of the others is not.
        ("The sister of one of them has a bakery in Lyon.", {"town"}),
        # Between the two, it is asked what the sentence is about.
        (f"{MUCH}After the sister moved her bakery, did she hire 7 people?", {"staff"}),
        (f"{MUCH}There was a bus, the number 7, and it was late.", set()),
    ],
)
def test_a_value_counts_as_kept_beyond_what_chance_gives(summary, kept):
    score = scored(say("s", summary), *TALK.messages[-4:], original=TALK)
    assert {each.fact for each in score.found if each.state == "intact"} == kept


def test_what_is_copied_from_another_message_says_nothing_of_the_fact():
    copied = "There were 7 of us and then it rained for all of the long day in Paris."
    events = (*TALK.events[:40], say("x", copied), *TALK.events[40:])
    original = Conversation("chat", "native", events, facts=(fact("staff", "7", "m31"),))
    score = scored(
        say("s", f"So: {copied[:50]}, they said."), *TALK.messages[-4:], original=original
    )
    assert states(score) == {"staff": "lost"}
    copied_too = scored(say("s", MOVED + " Did she hire 7 people?"), original=original)
    assert states(copied_too) == {"staff": "intact"}


def test_a_value_without_words_can_be_found_by_chance_too():
    original = Conversation(
        "c", "native", (*EVENTS, say("u4", "->")), facts=(fact("f", "->", "u4"),)
    )
    assert states(scored(say("s", "->"), original=original)) == {"f": "verbatim"}
    assert states(scored(say("s", "So it goes -> on."), original=original)) == {"f": "intact"}


def test_a_question_that_holds_the_value_keeps_nothing():
    score = scored(*EVENTS[2:], say("q", "Is it eu-west-3 that they deploy to?"))
    assert states(score)["where"] == "lost"


def test_chance_counts_for_nothing_where_provenance_is_declared():
    part = Part("text", "3 birds", "summary", (Source("m0"),))
    declared = scored(Message("s", "user", (part,)), original=TALK, format="native")
    assert states(declared)["birds"] == "intact"


def test_what_cannot_be_scored_is_said(tmp_path):
    said = refusal(
        InputError, lambda: compactlab.score(Conversation("t", "native", ()), context(*EVENTS))
    )
    assert said == snapshot("there is no message in the original")
    said = refusal(
        UsageError,
        lambda: compactlab.score(ORIGINAL, context(*EVENTS), model="claude-sonet-4-5"),
    )
    assert said == snapshot("""\
unknown model 'claude-sonet-4-5'; did you mean claude-sonnet-4-5 or claude-sonnet-5-5 or
claude-sonnet-4-6? Or name another, e.g. --model claude-sonnet-4-5, or NAME@none for one
without a cache (compactlab list models), or write it down with its prices in a file of
your own: --models FILE\
""")
    two = tmp_path / "two.json"
    two.write_text('[[{"role":"user","content":"a"}],[{"role":"user","content":"b"}]]')
    assert refusal(UsageError, lambda: compactlab.score(ORIGINAL, two)) == snapshot(
        "2 conversations in 'two.json'; name one of both files"
    )
    assert compactlab.score(ORIGINAL, two, id="two/2").after > 0
    assert refusal(UsageError, lambda: compactlab.score(ORIGINAL, two, id="three")) == snapshot(
        "unknown conversation 'three'; known: two, two/2"
    )


def test_a_real_summary_that_becomes_an_order_is_told():
    asks = say("a1", "Should the tariff become plan-otter-4f9a? That is yours to say.", "assistant")
    proposal = Fact(
        "fee", "proposal", "tariff", "plan-otter-4f9a", (Source("a1"),), polarity="asks"
    )
    talk = Conversation("talk", "native", (say("u1", "Go."), asks), facts=(proposal,))
    for text, state, rate in (
        ("Next: set the tariff to plan-otter-4f9a.", "presumed", 1),
        ("Open question: should the tariff become plan-otter-4f9a?", "intact", 0),
    ):
        score = scored(say("x", text), original=talk)
        assert states(score) == {"fee": state}
        assert score.figures["presumed_rate"] == rate
