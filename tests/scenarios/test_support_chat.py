"""A support chat: short messages, few tools, and much that is open until it is closed."""

from __future__ import annotations

from statistics import median

from compactlab.sim.core.message import Message
from compactlab.sim.core.tokens import Tokenizer
from tests.scenarios.made import all_made, places, stated


def test_messages_are_short_and_tools_are_few() -> None:
    for conversation in all_made("support_chat", 100_000):
        said = {"user": list[int](), "assistant": list[int]()}
        for message in conversation.messages:
            if message.role in said:
                said[message.role].append(Tokenizer().message(message))
        assert median(said["user"]) < 60
        assert median(said["assistant"]) < 250
        assert conversation.turns > 250
        assert calls_of_tools(conversation.messages) < 1.2 * conversation.turns


def calls_of_tools(messages: tuple[Message, ...]) -> int:
    return sum(part.type == "tool_call" for message in messages for part in message.parts)


def test_open_loops_are_closed_by_the_customer_later() -> None:
    open_for: list[int] = []
    for conversation in all_made("support_chat", 100_000):
        place = places(conversation)
        loops = [fact for fact in stated(conversation) if fact.kind == "open_loop"]
        assert len(loops) >= 4
        open_for += [place[loop.scope] - place[loop.origin[0].id] for loop in loops]
    assert median(open_for) > 10_000  # tokens


def test_it_is_about_people_and_how_things_are_done() -> None:
    kinds = [fact.kind for c in all_made("support_chat", 100_000) for fact in stated(c)]
    plain = ("preference", "entity", "procedure", "open_loop")
    assert sum(map(kinds.count, plain)) > 0.45 * len(kinds)


def test_a_turn_is_about_one_order() -> None:
    same = asked = 0
    for conversation in all_made("support_chat", 100_000):
        calls = {
            part.call_id: part.text
            for message in conversation.messages
            for part in message.parts
            if part.type == "tool_call"
        }
        for message in conversation.messages:
            for part in message.parts:
                if part.type == "tool_result" and part.name == "order" and "status" in part.text:
                    asked += 1
                    same += part.text.partition(",")[0] in calls[part.call_id]
    assert asked > 50
    assert same > 0.6 * asked
