"""Readers in the place of models: one that finds what is there, one that knows nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compactlab.sim.core.conversation import Conversation
from tests.llm import server


def finds(*conversations: Conversation) -> Callable[[dict[str, Any]], str]:
    """Gives the newest value that it reads of the fact that it is asked about; and judges well."""
    facts = [fact for each in conversations for fact in each.facts if not fact.decoy]

    def answer(body: dict[str, Any]) -> str:
        texts = [message["content"] for message in body["messages"]]
        _, given, question = texts[-1].rpartition("\nQuestion: ")
        if not given:  # it is to judge
            return "yes" if texts[-1].count(texts[-1].split("\n")[1][14:]) > 1 else "no"
        read = "\n".join(texts)[: -len(question)]
        told = [f.value for f in facts if f" {f.key}?" in question or f" {f.key}," in question]
        known = [value for value in told if value in read]
        return f"It is {known[-1]}." if known else "unknown"

    return answer


def knows_nothing(body: dict[str, Any]) -> str:
    """Answers every question in the same way."""
    return "I am a small model."


@contextmanager
def reading(answer: Callable[[dict[str, Any]], str]) -> Iterator[server.Endpoint]:
    """An endpoint that answers as a reader does."""
    with pytest.MonkeyPatch.context() as patched, server.serving() as endpoint:
        patched.setattr(server, "answer_to", answer)
        yield endpoint
