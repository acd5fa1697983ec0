"""Every scenario's conversations, made once for all tests, and what is asked about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import pytest

from compactlab.scenarios.catalogue import SCENARIOS
from compactlab.scenarios.engine.story import Story
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer

STORIES: dict[str, type[Story]] = {
    name: cls for name, cls in SCENARIOS.built_in.items() if issubclass(cls, Story)
}
SEEDS = range(4)
# Of a law about each conversation for itself; where seeds are taken together, all of them are.
of_all_seeds = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])]
)
SIZES = [20_000, *(pytest.param(size, marks=pytest.mark.slow) for size in (100_000, 400_000))]
FAMILIES = ("public", "held_out")


@cache
def made(name: str, tokens: int, seed: int, phrasing: str = "public") -> Conversation:
    """The conversation of a seed."""
    return STORIES[name](tokens=tokens, phrasing=phrasing).conversation(seed)  # type: ignore[arg-type]


def all_made(name: str, tokens: int, phrasing: str = "public") -> Iterator[Conversation]:
    """The conversations of all seeds."""
    return (made(name, tokens, seed, phrasing) for seed in SEEDS)


def stated(conversation: Conversation) -> list[Fact]:
    """The facts that are no decoys."""
    return [fact for fact in conversation.facts if not fact.decoy]


def spans(conversation: Conversation, fact: Fact) -> list[str]:
    """The pieces of text that state a fact."""
    messages = {message.id: message for message in conversation.messages}
    return [
        messages[source.id].parts[source.part].text[source.start : source.end]
        for source in fact.origin
    ]


def places(conversation: Conversation) -> dict[str, int]:
    """Tokens before each message, by its id."""
    sizes = map(Tokenizer().message, conversation.messages)
    before = [0, *accumulate(sizes)]
    return {m.id: place for m, place in zip(conversation.messages, before, strict=False)}


def size(conversation: Conversation) -> int:
    """Tokens of all messages."""
    return sum(map(Tokenizer().message, conversation.messages))


def written(part: Part) -> str:
    """A part's text; of a call, its arguments as they were before JSON."""
    return str(json.loads(part.text)) if part.type == "tool_call" else part.text


def whole(message: Message) -> str:
    """All of a message's text, calls included."""
    return "\n".join(map(written, message.parts))
