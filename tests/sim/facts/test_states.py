"""What an agent that was told where to deploy still knows, when its context has been compacted."""

from __future__ import annotations

import msgspec
import pytest

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import ledger_of
from compactlab.sim.facts.tracker import Tracker
from tests.sim.facts.told import answer, calls, made, result, say, script, states

TOLD = say("u1", "Hello there. The deploy target is eu-west-3, as they say. Thank you very much.")
SPAN = Source("u1", 0, 13, 45)  # "The deploy target is eu-west-3, "
WHERE = Fact("where", "decision", "deploy target", "eu-west-3", (SPAN,), variants=("Paris",))
ASIDE = say("u2", "Nice weather today.")
TALK = script(TOLD, answer("a1"), ASIDE, answer("a2"), facts=[WHERE])


@pytest.mark.parametrize(
    ("view", "state"),
    [
        ([TOLD, ASIDE], "verbatim"),
        ([], "lost"),
        ([ASIDE], "lost"),
        # A copy of the message is as good as the message, and so is a quote that was put back.
        ([msgspec.structs.replace(TOLD, time=5.0)], "verbatim"),
        ([made(f"He said: {TOLD.text[13:45]}and so on", "u1", kind="recovered")], "verbatim"),
        # A truncated message is verbatim as far as it goes; without the span, its words may do.
        ([made(TOLD.text[:50], "u1", kind="truncated")], "verbatim"),
        ([made(TOLD.text[:40], "u1", kind="truncated")], "key_only"),
        ([made(TOLD.text[46:], "u1", kind="truncated")], "lost"),
        ([made(TOLD.text[17:50], "u1", kind="truncated")], "intact"),
        ([made(TOLD.text, "u1")], "intact"),  # a summary is never verbatim
        # The same words count only from whoever was there.
        ([made("deploy target: eu-west-3", "u2", "a2")], "lost"),
        ([made("deploy target: eu-west-3", kind="synthetic")], "lost"),
        ([made("deploy target: eu-west-3", "u2", "u1")], "intact"),
    ],
)
def test_what_a_view_holds_of_a_message(view: list[Message], state: str) -> None:
    assert states(TALK, *view)["where"] == state


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
    assert states(TALK, made(summary, "u1", "a1"))["where"] == state


@pytest.mark.parametrize(
    ("change", "summary", "state"),
    [
        ({"aliases": ("target region",)}, "target region: eu-west-3", "intact"),
        # What has no key is known by its value.
        ({"key": ""}, "off to eu-west-3", "intact"),
        ({"key": ""}, "off to somewhere", "lost"),
    ],
)
def test_a_key_may_have_other_names_or_none(
    change: dict[str, object], summary: str, state: str
) -> None:
    talk = script(TOLD, facts=[msgspec.structs.replace(WHERE, **change)])
    assert states(talk, made(summary, "u1"))["where"] == state


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
        # Polarity must stand in the clause of key and value.
        ("never, really never push to main", "intact", "lost"),
        ("push to main, but never skip tests", "mutated", "lost"),
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
    assert states(RULES, made(summary, "u3", "u4")) == {"ban": ban, "cap": cap}


OLD = Fact("old", "decision", "port", "8123", (Source("p1"),))
NEW = Fact("new", "decision", "port", "9456", (Source("p2"),), supersedes=("old",))
RULE = msgspec.structs.replace(NEW, polarity="must")
THIRD = Fact("new", "decision", "port", "7001", (Source("p3"),), supersedes=("mid",))
FIRST, SECOND = say("p1", "The port is 8123."), say("p2", "No, the port is 9456.")
BOTH_SAID = made("port 8123; port 9456", "p1", "p2")
OLD_SAID = made("port 8123", "p1")


@pytest.mark.parametrize(
    ("view", "state", "facts"),
    [
        # Two values without an order are a conflict; a word of order settles it.
        ([BOTH_SAID], "conflict", [OLD, NEW]),
        ([OLD_SAID, made("port 9456", "p2")], "conflict", [OLD, NEW]),
        ([made("port 9456 (formerly 8123)", "p1", "p2")], "intact", [OLD, NEW]),
        ([OLD_SAID, made("the port is now 9456", "p2")], "intact", [OLD, NEW]),
        # What is verbatim is no conflict.
        ([SECOND, OLD_SAID], "verbatim", [OLD, NEW]),
        ([FIRST, made("port 9456", "p2")], "intact", [OLD, NEW]),
        # Who has only the old value is stale; who lacks but the word of a rule is not.
        ([FIRST], "stale", [OLD, NEW]),
        ([OLD_SAID], "stale", [OLD, NEW]),
        ([FIRST, made("there is another port", "p2")], "stale", [OLD, NEW]),
        ([FIRST, made("port 9456", "p2")], "key_only", [OLD, RULE]),
        ([BOTH_SAID], "conflict", [OLD, RULE]),
        # A chain of revisions is followed to its beginning.
        ([FIRST], "stale", [OLD, msgspec.structs.replace(NEW, id="mid"), THIRD]),
    ],
)
def test_a_revised_fact_beside_its_older_values(
    view: list[Message], state: str, facts: list[Fact]
) -> None:
    talk = script(FIRST, SECOND, say("p3", "port 7001 then"), answer("b1"), facts=facts)
    assert states(talk, *view)["new"] == state


ASKED, GAVE = calls("a5", "c1"), result("t1", "c1", "build id: 4f2a91c7")
DETAIL = Fact("detail", "tool_detail", "build id", "4f2a91c7", (Source("t1"),), handle="t1")
TOOLS = script(say("u5", "Which build?"), ASKED, GAVE, answer("a6"), facts=[DETAIL])
CLEARED = Part("tool_result", "[cleared]", "stub", (Source("t1"),), "read", "c1")
STUB = Message("t1", "tool", (CLEARED,))
SHORT = Message("a5", "assistant", (msgspec.structs.replace(ASKED.parts[0], kind="truncated"),))
OPAQUE = Part("text", "", "opaque", (Source("t1"),), size=400)
POINTER = made("saved to out/1.txt", "t1", kind="stub", handle="out/1.txt")
NOTE = Remembered("progress", "The build id was 4f2a91c7.", (Source("t1"),))
AGAIN = made(GAVE.text, "t1", kind="recovered")


def opaque(part: Part) -> Message:
    return Message("x", "user", (part,))


@pytest.mark.parametrize(
    ("view", "state", "more"),
    [
        # A call that is still there, whole, can be made again.
        ([ASKED, GAVE], "verbatim", {}),
        ([ASKED, STUB], "retrievable", {}),
        ([ASKED], "retrievable", {}),
        ([SHORT], "lost", {}),
        ([], "lost", {}),
        # A pointer leads to what is stored there.
        ([POINTER], "retrievable", {"stored": {"out/1.txt": GAVE.text}}),
        ([POINTER], "retrievable", {"stored": {"out/1.txt": "the build id is 4f2a91c7"}}),
        ([POINTER], "lost", {"stored": {"out/1.txt": "build id: ..."}}),
        ([POINTER], "lost", {"stored": {"out/2.txt": GAVE.text}}),
        ([], "lost", {"stored": {"out/1.txt": GAVE.text}}),
        # Memory can be searched.
        ([], "retrievable", {"notes": [NOTE]}),
        ([], "lost", {"notes": [msgspec.structs.replace(NOTE, text="a build was made")]}),
        ([], "lost", {"notes": [msgspec.structs.replace(NOTE, sources=(Source("u5"),))]}),
        # Tokens without text may hold anything of their sources.
        ([opaque(OPAQUE)], "unknown", {}),
        ([ASKED, opaque(OPAQUE)], "retrievable", {}),
        ([opaque(msgspec.structs.replace(OPAQUE, sources=()))], "lost", {}),
        # What comes back counts for what it brings back.
        ([AGAIN], "verbatim", {"created": [AGAIN]}),
        ([made("build id: 4f2a91c7", "made")], "intact", {"created": [AGAIN]}),
        ([made("build id: 4f2a91c7", "made")], "lost", {}),
        # The system prompt counts, too.
        (
            [],
            "intact",
            {"system": (Part("text", "build id: 4f2a91c7", "memory", (Source("t1"),)),)},
        ),
    ],
)
def test_what_can_be_had_again(view: list[Message], state: str, more: dict[str, object]) -> None:
    assert states(TOOLS, *view, **more)["detail"] == state  # type: ignore[arg-type]


def test_a_call_without_a_handle_leads_nowhere() -> None:
    talk = script(*TOOLS.events, facts=[msgspec.structs.replace(DETAIL, handle="")])
    assert states(talk, ASKED, STUB)["detail"] == "lost"


def test_memory_can_be_searched_as_soon_as_it_is_written() -> None:
    tracker = Tracker(ledger_of(TOOLS))
    assert tracker.move(View((), Messages())).of(0) == "lost"
    tracker.remember([NOTE])
    assert tracker.states.of(0) == "retrievable"


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
    for state, *view in (
        ("verbatim", HOST, SCHEMA),
        ("intact", HOST, made("connection: schema ledger", "h2")),
        ("intact", made("The connection is db7, schema ledger.", "h1", "h2")),
        ("key_only", HOST, made("connection: some schema", "h2")),
        ("lost", HOST),
    ):
        assert states(talk, *view)["both"] == state


def test_a_shortened_path_is_known_by_an_end_that_no_other_has() -> None:
    one = Fact("one", "artifact", "", "/repo/shop/src/auth.py", (Source("u1"),))
    two = Fact("two", "artifact", "", "/repo/mail/src/auth.py", (Source("u1"),))
    told = script(TOLD, facts=[one, two])
    assert states(told, made("see shop/src/auth.py", "u1")) == {"one": "intact", "two": "lost"}
    assert states(told, made("see src/auth.py", "u1")) == {"one": "lost", "two": "lost"}
    assert states(script(TOLD, facts=[one]), made("see src/auth.py", "u1"))["one"] == "intact"
    assert states(script(TOLD, facts=[one]), made("see auth.py", "u1"))["one"] == "lost"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("The release steps go on: publish the wheel to PyPI.", "intact"),
        ("After that comes the publishing, to PyPI, by hand.", "lost"),
        ("They publish the wheel to PyPI then.", "intact"),
        ("The release steps go on.", "key_only"),
    ],
)
def test_a_fact_of_two_parts_is_kept_if_one_is_verbatim_and_one_is_summarised(
    text: str, state: str
) -> None:
    steps = Fact(
        "f", "procedure", "release steps", "tag, publish", (Source("a"), Source("b")), whole=True
    )
    first, second = (
        Message(id, "user", (verbatim(id, "text", said),))
        for id, said in (("a", "As release steps, first tag."), ("b", "publish the wheel to PyPI"))
    )
    talk = Conversation("c", "native", (first, second), facts=(steps,))
    summary = Message("m", "user", (Part("text", text, "summary", (Source("b"),)),), meta=True)
    view = View((), Messages([first, summary]))
    assert Tracker(ledger_of(talk)).move(view).of(0) == state
