"""Readers in the place of models: one that finds what is there, one that knows nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compactlab.reports.probe.reader import Context
from compactlab.sim.core.conversation import Conversation
from tests.llm import server
from tests.llm.server import answer_to as summary_by

Answering = Callable[[dict[str, Any]], str]


def finds(conversation: Conversation) -> Answering:
    """Gives the newest value that it reads of the fact that it is asked about; and judges well."""

    def answer(body: dict[str, Any]) -> str:
        texts = [message["content"] for message in body["messages"]]
        _, asked, question = texts[-1].rpartition("\nQuestion: ")
        if "\nGiven answer: " in texts[-1]:  # it is to judge
            right, given = texts[-1].split("\n")[1:3]
            return "yes" if right.removeprefix("Right answer: ") in given else "no"
        if not asked:  # it is to summarise
            return summary_by(body)
        read = "\n".join(texts)[: -len(question)]
        facts = [f for f in conversation.facts if not f.decoy and f.key in question]
        longest = max((len(fact.key) for fact in facts), default=0)
        values = [f.value for f in facts if len(f.key) == longest and f.value in read]
        return f"It is {values[-1]}." if values else "unknown"

    return answer


def repeats(conversation: Conversation) -> Answering:
    """Makes the call that the log has behind the messages that it reads last."""
    messages = conversation.messages
    texts = [Context.of((), [message]).texts[0][1] for message in messages]

    def answer(body: dict[str, Any]) -> str:
        *_, before, last = ["", *(message["content"] for message in body["messages"])]
        read, _, _ = last.rpartition("\n\nYou are the assistant")
        places = [n for n, text in enumerate(texts) if text and read.endswith(text)]
        # What is said twice is known by what was said before.
        index = max(places, key=lambda n: (texts[n - 1] == before, len(texts[n])))
        call = next(part for part in messages[index + 1].parts if part.type == "tool_call")
        return f'I go on.\n{{"tool": "{call.name}", "arguments": {call.text}}}'

    return answer


def knows_nothing(body: dict[str, Any]) -> str:
    """Answers every question in the same way."""
    return "I am a small model."


@contextmanager
def reading(answer: Answering) -> Iterator[server.Endpoint]:
    """An endpoint that answers as a reader does."""
    with pytest.MonkeyPatch.context() as patched, server.serving() as endpoint:
        patched.setattr(server, "answer_to", answer)
        yield endpoint
