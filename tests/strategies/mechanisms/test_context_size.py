"""Sizes of a context, what they decide, and what the summariser is given; as LangChain's."""

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.langchain import clauses, cutoff, last_tokens, reached, with_call
from compactlab.strategies.mechanisms.estimate import approximate, approximate_claude


def test_a_trigger_is_clauses_of_sizes():
    assert clauses(()) == []
    assert clauses(("tokens", 5)) == [[("tokens", 5)]]
    assert clauses((("tokens", 5), (("messages", 2), ("fraction", 0.5)))) == [
        [("tokens", 5)],
        [("messages", 2), ("fraction", 0.5)],
    ]


def test_sizes_are_reached_inclusively():
    def met(size, **more):
        figures = {"messages": 10, "tokens": 50, "reported": 0, "window": 100, **more}
        return reached([[size]], **figures)

    assert all(map(met, [("messages", 10), ("tokens", 50), ("fraction", 0.5)]))
    assert not any(map(met, [("messages", 11), ("tokens", 51), ("fraction", 0.51)]))
    assert met(("tokens", 60), reported=60)
    assert met(("fraction", 0.001), tokens=1, window=3)  # a size is never less than one token
    assert not reached([], messages=10, tokens=50, reported=0, window=100)


def test_a_message_is_approximated_from_content_role_ids_and_calls():
    def told(role, *parts, **more):
        return Message("m", role, parts, **more)

    assert approximate(told("user", verbatim("m", "text", "x" * 13))) == 5 + 3
    assert approximate_claude(told("user", verbatim("m", "text", "x" * 13))) == 6 + 3
    result = verbatim("m", "tool_result", "x" * 9, name="read", call_id="c1")
    assert approximate(told("tool", result)) == 5 + 3
    call = verbatim("m", "tool_call", '{"a":1}', name="read", call_id="c1")
    written = "[{'name': 'read', 'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]"
    assert approximate(told("assistant", call)) == -(-(len(written) + 9) // 4) + 3
    image = Part("image", "", "verbatim", (Source("m"),), size=999)
    assert approximate(told("user", image)) == 1 + 3 + 85
    assert approximate(told("user", origin="system")) == 2 + 3


def test_a_cut_goes_back_to_the_call_or_else_behind_the_results(moment):
    messages = moment("uc2rra oo").messages
    assert [with_call(messages, n) for n in range(7)] == [0, 1, 1, 1, 4, 7, 7]


def test_a_tail_of_tokens_keeps_at_least_the_last_message(moment):
    messages = moment("uaua", size=400).messages

    def cut(*keep):
        tokens = messages.total(approximate)
        return cutoff(messages, keep, weight=approximate, tokens=tokens, window=1000)

    assert cut("tokens", 10_000) == 0
    assert cut("tokens", 1) == 3
    assert cut("fraction", 0.22) == 2
    assert cut("messages", 3) == 1


def test_the_summariser_is_given_the_end_from_a_user_on(moment, ids):
    messages = moment("uauaucra", size=40).messages
    tail = messages[4:].total(approximate)
    assert ids(last_tokens(messages, 1000, approximate)) == ids(messages)
    assert ids(last_tokens(messages, tail, approximate)) == "u5 c6 r7 a8"
    assert ids(last_tokens(messages, tail - 1, approximate)) == ""


def test_of_the_first_message_the_last_lines_are_given():
    text = "one\ntwo\nthree"
    told = Messages([Message("u", "user", (verbatim("u", "text", text),))])
    (message,) = last_tokens(told, 6, approximate)
    (part,) = message.parts
    assert (part.text, part.kind) == ("two\nthree"[4:], "truncated")
    assert part.sources == (Source("u", 0, 8, 13),)
