"""What an agent that was told where to deploy still knows, when its context has been compacted."""

from __future__ import annotations

import msgspec
import pytest

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.memory import Remembered
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import ledger_of
from compactlab.sim.facts.tracker import Tracker
from tests.sim.facts.told import answer, calls, made, result, say, script, states

TOLD = say("u1", "Hello there. The deploy target is eu-west-3, as they say. Thank you very much.")
SPAN = Source("u1", 0, 13, 45)
WHERE = Fact("where", "decision", "deploy target", "eu-west-3", (SPAN,), variants=("Paris",))
ASIDE = say("u2", "Nice weather today.")
TALK = script(TOLD, answer("a1"), ASIDE, answer("a2"), facts=[WHERE])


def where(*view: Message, **more: object) -> str:
    return states(TALK, *view, **more)["where"]  # type: ignore[arg-type]


def test_the_span_is_what_it_should_be() -> None:
    assert TOLD.text[SPAN.start : SPAN.end] == "The deploy target is eu-west-3, "


def test_who_keeps_the_message_knows_it_verbatim() -> None:
    assert where(TOLD, ASIDE) == "verbatim"


def test_who_keeps_nothing_has_lost_it() -> None:
    assert where() == where(ASIDE) == "lost"


def test_a_copy_of_the_message_is_as_good_as_the_message() -> None:
    assert where(msgspec.structs.replace(TOLD, time=5.0)) == "verbatim"


def test_a_quote_that_was_put_back_is_verbatim() -> None:
    quote = "He said: The deploy target is eu-west-3, and so on"
    assert where(made(quote, "u1", kind="recovered")) == "verbatim"


def test_a_truncated_message_is_verbatim_as_far_as_it_goes() -> None:
    assert where(made(TOLD.text[:50], "u1", kind="truncated")) == "verbatim"
    assert where(made(TOLD.text[:40], "u1", kind="truncated")) == "key_only"
    assert where(made(TOLD.text[46:], "u1", kind="truncated")) == "lost"


def test_truncated_text_that_holds_the_words_but_not_the_span_is_intact() -> None:
    assert where(made(TOLD.text[17:50], "u1", kind="truncated")) == "intact"


def test_a_summary_is_never_verbatim() -> None:
    assert where(made(TOLD.text, "u1")) == "intact"


@pytest.mark.parametrize(
    ("summary", "state"),
    [
        ("Deploy target: eu-west-3.", "intact"),
        ("DEPLOY   TARGET is\n`EU-WEST-3`", "intact"),
        ("deploy target: Paris", "intact"),
        ("They deploy to eu-west-3.", "intact"),
        ("There is a deploy target.", "key_only"),
        ("deploy target: eu-west-31", "mutated"),
        ("deploy target " + "foo bar baz " * 14 + "eu-west-3", "key_only"),
        ("deploy target " + "foo bar baz " * 12 + "eu-west-3", "intact"),
        ("The deploy target is not eu-west-3.", "mutated"),
        ("Is eu-west-3 the deploy target?", "key_only"),
        ("nothing of note", "lost"),
    ],
)
def test_a_summary_says_it_says_it_wrongly_or_does_not(summary: str, state: str) -> None:
    assert where(made(summary, "u1", "a1")) == state


def test_the_same_words_count_only_from_whoever_was_there() -> None:
    said = "deploy target: eu-west-3"
    assert where(made(said, "u2", "a2")) == "lost"
    assert where(made(said, kind="synthetic")) == "lost"
    assert where(made(said, "u2", "u1")) == "intact"


def test_a_key_may_have_other_names() -> None:
    fact = msgspec.structs.replace(WHERE, aliases=("target region",))
    talk = script(TOLD, facts=[fact])
    assert states(talk, made("target region: eu-west-3", "u1"))["where"] == "intact"


def test_what_has_no_key_is_known_by_its_value() -> None:
    talk = script(TOLD, facts=[msgspec.structs.replace(WHERE, key="")])
    assert states(talk, made("off to eu-west-3", "u1"))["where"] == "intact"
    assert states(talk, made("off to somewhere", "u1"))["where"] == "lost"


NEVER = say("u3", "You must never push to main.")
BAN = Fact("ban", "prohibition", "push", "main", (Source("u3"),), "must_not")
AT_MOST = say("u4", "The retry limit must be 7 at most.")
CAP = Fact("cap", "constraint", "retry limit", "7", (Source("u4"),), "must")
RULES = script(NEVER, AT_MOST, facts=[BAN, CAP])


@pytest.mark.parametrize(
    ("summary", "ban", "cap"),
    [
        ("never push to main", "intact", "lost"),
        ("push to main", "mutated", "lost"),
        ("always push to main", "mutated", "lost"),
        ("the retry limit must be 7", "lost", "intact"),
        ("there is a retry limit", "lost", "key_only"),
        ("the retry limit must be 8", "lost", "mutated"),
        ("the retry limit must not be 7", "lost", "mutated"),
        ("retry limit 7", "lost", "key_only"),
    ],
)
def test_a_rule_needs_its_word_and_with_another_one_it_is_mutated(
    summary: str, ban: str, cap: str
) -> None:
    found = states(RULES, made(summary, "u3", "u4"))
    assert found == {"ban": ban, "cap": cap}


def test_polarity_must_stand_in_the_clause_of_key_and_value() -> None:
    assert states(RULES, made("never, really never push to main", "u3"))["ban"] == "intact"
    assert states(RULES, made("push to main, but never skip tests", "u3"))["ban"] == "mutated"


OLD = Fact("old", "decision", "port", "8123", (Source("p1"),))
NEW = Fact("new", "decision", "port", "9456", (Source("p2"),), supersedes=("old",))
FIRST, SECOND = say("p1", "The port is 8123."), say("p2", "No, the port is 9456.")
REVISED = script(FIRST, SECOND, answer("b1"), facts=[OLD, NEW])


def revised(*view: Message) -> str:
    return states(REVISED, *view)["new"]


def test_two_values_without_an_order_are_a_conflict() -> None:
    assert revised(made("port 8123; port 9456", "p1", "p2")) == "conflict"
    assert revised(made("port 8123", "p1"), made("port 9456", "p2")) == "conflict"


def test_a_word_of_order_settles_it() -> None:
    assert revised(made("port 9456 (formerly 8123)", "p1", "p2")) == "intact"
    assert revised(made("port 8123", "p1"), made("the port is now 9456", "p2")) == "intact"


def test_what_is_verbatim_is_no_conflict() -> None:
    assert revised(SECOND, made("port 8123", "p1")) == "verbatim"
    assert revised(FIRST, made("port 9456", "p2")) == "intact"


def test_who_has_only_the_old_value_is_stale() -> None:
    assert revised(FIRST) == revised(made("port 8123", "p1")) == "stale"
    assert revised(FIRST, made("there is another port", "p2")) == "stale"


def test_who_has_the_new_value_without_its_word_is_not_stale() -> None:
    rule = msgspec.structs.replace(NEW, polarity="must")
    talk = script(FIRST, SECOND, facts=[OLD, rule])
    assert states(talk, FIRST, made("port 9456", "p2"))["new"] == "key_only"
    assert states(talk, made("port 8123; port 9456", "p1", "p2"))["new"] == "conflict"


def test_a_chain_of_revisions_is_followed_to_its_beginning() -> None:
    third = Fact("third", "decision", "port", "7001", (Source("p3"),), supersedes=("new",))
    talk = script(FIRST, SECOND, say("p3", "port 7001 then"), facts=[OLD, NEW, third])
    assert states(talk, FIRST)["third"] == "stale"


ASKED, GAVE = calls("a5", "c1"), result("t1", "c1", "build id: 4f2a91c7")
DETAIL = Fact("detail", "tool_detail", "build id", "4f2a91c7", (Source("t1"),), handle="t1")
TOOLS = script(say("u5", "Which build?"), ASKED, GAVE, answer("a6"), facts=[DETAIL])


def stub(**more: object) -> Message:
    part = Part("tool_result", "[cleared]", "stub", (Source("t1"),), "read", "c1", **more)  # type: ignore[arg-type]
    return Message("t1", "tool", (part,))


def detail(*view: Message, **more: object) -> str:
    return states(TOOLS, *view, **more)["detail"]  # type: ignore[arg-type]


def test_a_call_that_is_still_there_can_be_made_again() -> None:
    assert detail(ASKED, GAVE) == "verbatim"
    assert detail(ASKED, stub()) == "retrievable"
    assert detail(ASKED) == "retrievable"
    assert detail() == "lost"


def test_a_call_can_only_be_made_again_if_it_is_whole() -> None:
    short = msgspec.structs.replace(ASKED.parts[0], kind="truncated")
    assert detail(Message("a5", "assistant", (short,))) == "lost"


def test_a_call_without_a_handle_leads_nowhere() -> None:
    talk = script(*TOOLS.events, facts=[msgspec.structs.replace(DETAIL, handle="")])
    assert states(talk, ASKED, stub())["detail"] == "lost"


def test_a_pointer_leads_to_what_is_stored_there() -> None:
    pointer = made("saved to out/1.txt", "t1", kind="stub", handle="out/1.txt")
    assert detail(pointer, stored={"out/1.txt": GAVE.text}) == "retrievable"
    assert detail(pointer, stored={"out/1.txt": "the build id is 4f2a91c7"}) == "retrievable"
    assert detail(pointer, stored={"out/1.txt": "build id: ..."}) == "lost"
    assert detail(pointer, stored={"out/2.txt": GAVE.text}) == "lost"
    assert detail(stored={"out/1.txt": GAVE.text}) == "lost"


def test_memory_can_be_searched() -> None:
    held = Remembered("progress", "The build id was 4f2a91c7.", (Source("t1"),))
    assert detail(notes=[held]) == "retrievable"
    assert detail(notes=[msgspec.structs.replace(held, text="a build was made")]) == "lost"
    assert detail(notes=[msgspec.structs.replace(held, sources=(Source("u5"),))]) == "lost"


def test_memory_can_be_searched_as_soon_as_it_is_written() -> None:
    tracker = Tracker(ledger_of(TOOLS))
    assert tracker.move(View((), Messages())).of(0) == "lost"
    tracker.remember([Remembered("progress", "The build id was 4f2a91c7.", (Source("t1"),))])
    assert tracker.states.of(0) == "retrievable"


def test_tokens_without_text_may_hold_anything() -> None:
    part = Part("text", "", "opaque", (Source("t1"),), size=400)
    assert detail(Message("x", "user", (part,))) == "unknown"
    assert detail(ASKED, Message("x", "user", (part,))) == "retrievable"
    nobody = msgspec.structs.replace(part, sources=())
    assert detail(Message("x", "user", (nobody,))) == "lost"


def test_what_comes_back_counts_for_what_it_brings_back() -> None:
    again = made(GAVE.text, "t1", kind="recovered")
    assert detail(again, created=[again]) == "verbatim"
    about = made("build id: 4f2a91c7", "made")
    assert detail(about, created=[again]) == "intact"
    assert detail(about) == "lost"


def test_the_system_prompt_counts_too() -> None:
    part = Part("text", "build id: 4f2a91c7", "memory", (Source("t1"),))
    assert detail(system=(part,)) == "intact"


TWICE = (say("q1", "She left in May."), say("q2", "It was for Oslo."))
TRIP = Fact("trip", "entity", "", "Oslo", (Source("q1"), Source("q2")), whole=True)
EITHER = msgspec.structs.replace(TRIP, id="either", whole=False)


def test_what_only_all_of_it_states_is_verbatim_only_where_all_of_it_is() -> None:
    talk = script(*TWICE, facts=[TRIP, EITHER])
    assert states(talk, *TWICE) == {"trip": "verbatim", "either": "verbatim"}
    for half in TWICE:
        assert states(talk, half) == {"trip": "lost", "either": "verbatim"}
    copy = msgspec.structs.replace(TWICE[1], time=9.0)
    assert states(talk, copy) == {"trip": "lost", "either": "verbatim"}
    assert states(talk, TWICE[0], copy)["trip"] == "verbatim"
    assert states(talk, made("off to Oslo", "q1", "q2"))["trip"] == "intact"


def test_a_span_without_a_character_states_nothing() -> None:
    empty = msgspec.structs.replace(WHERE, origin=(Source("u1", 0, 200),))
    talk = script(TOLD, facts=[empty])
    assert states(talk, made("...", "u1", kind="truncated"))["where"] == "lost"


def test_thinking_states_nothing() -> None:
    parts = (verbatim("a7", "thinking", "port 8123?"), verbatim("a7", "text", "Which port?"))
    talk = script(
        Message("a7", "assistant", parts), facts=[Fact("f", "entity", "", "8123", (Source("a7"),))]
    )
    spoken = Message("a7", "assistant", parts[1:])
    assert states(talk, spoken)["f"] == "verbatim"


THOUGHT = Message("a8", "assistant", (verbatim("a8", "thinking", "The port must be 8123."),))
MUSED = Fact("mused", "entity", "port", "8123", (Source("a8", 0),))
MUSING = script(say("u8", "Which port?"), THOUGHT, say("u9", "Go on."), facts=[MUSED])


def test_what_was_only_thought_is_gone_once_the_model_drops_its_thinking() -> None:
    first, later = MUSING.messages[:2], MUSING.messages
    for strips, states_then in ((False, ["verbatim", "verbatim"]), (True, ["verbatim", "lost"])):
        tracker = Tracker(ledger_of(MUSING), strips=strips)
        prompts = [View((), Messages(messages)) for messages in (first, later)]
        assert [tracker.move(prompt).of(0) for prompt in prompts] == states_then


HOST, SCHEMA = say("h1", "The connection goes to db7."), say("h2", "Its schema is ledger.")
BOTH = Fact(
    "both",
    "entity",
    "connection",
    "db7, ledger",
    (Source("h1", 0, 23, 26), Source("h2", 0, 14, 20)),
    whole=True,
)


def test_a_part_may_be_kept_as_it_was_said_and_another_in_other_words() -> None:
    talk = script(HOST, SCHEMA, facts=[BOTH])
    assert states(talk, HOST, SCHEMA)["both"] == "verbatim"
    assert states(talk, HOST, made("connection: schema ledger", "h2"))["both"] == "intact"
    assert (
        states(talk, made("The connection is db7, schema ledger.", "h1", "h2"))["both"] == "intact"
    )
    assert states(talk, HOST, made("connection: some schema", "h2"))["both"] == "key_only"
    assert states(talk, HOST)["both"] == "lost"


def test_a_shortened_path_is_known_by_an_end_that_no_other_has() -> None:
    one = Fact("one", "artifact", "", "/repo/shop/src/auth.py", (Source("u1"),))
    two = Fact("two", "artifact", "", "/repo/mail/src/auth.py", (Source("u1"),))
    told = script(TOLD, facts=[one, two])
    assert states(told, made("see shop/src/auth.py", "u1")) == {"one": "intact", "two": "lost"}
    assert states(told, made("see src/auth.py", "u1")) == {"one": "lost", "two": "lost"}
    assert states(script(TOLD, facts=[one]), made("see src/auth.py", "u1"))["one"] == "intact"
    assert states(script(TOLD, facts=[one]), made("see auth.py", "u1"))["one"] == "lost"
