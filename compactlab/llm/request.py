"""A request to a language model, and its key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec

from compactlab.privacy import Redactor
from compactlab.sim.core.message import encoded


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of the conversation with the model."""

    role: Literal["user", "assistant"]
    text: str


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A request to a model, independent of its endpoint and purpose.

    Parameters
    ----------
    model
        The model's name, as its endpoint knows it.
    turns
        The turns, oldest first.
    max_tokens
        The most tokens of its answer.
    system
        The system prompt; "" for none.
    temperature
        The sampling temperature; None for the endpoint's default, because newer models of OpenAI
        and Anthropic refuse other values.
    draw
        The index among several answers to the same request. It is sent as the seed if the endpoint
        takes one.

    Examples
    --------
    >>> request = Request("some-model", (Turn("user", "Write to ann@example.org."),), 100)
    >>> request.redacted.turns[0].text
    'Write to [redacted Mail Address 1].'
    >>> request.key == request.redacted.key != msgspec.structs.replace(request, draw=1).key
    True
    """

    model: str
    turns: tuple[Turn, ...]
    max_tokens: int
    system: str = ""
    temperature: float | None = None
    draw: int = 0

    @cached_property
    def redacted(self) -> Request:
        """The request without secrets, which is sent and identified by the key."""
        redactor = Redactor()
        turns = tuple(Turn(turn.role, redactor.text(whole(turn.text))) for turn in self.turns)
        system = redactor.text(whole(self.system))
        return msgspec.structs.replace(self, turns=turns, system=system)

    @cached_property
    def key(self) -> str:
        """Thirty-two hex digits: a digest of the request without its secrets."""
        return hashlib.blake2b(encoded(self.redacted), digest_size=16).hexdigest()


def turns_of(texts: Iterable[tuple[Literal["user", "assistant"], str]]) -> tuple[Turn, ...]:
    r"""Merge texts into alternating turns for an endpoint: user first, none empty.

    Examples
    --------
    >>> [turn.text for turn in turns_of([("user", "a"), ("user", ""), ("user", "b")])]
    ['a\n\nb']
    >>> [turn.role for turn in turns_of([("assistant", "Done.")])]
    ['user', 'assistant']
    """
    turns: list[Turn] = []
    for role, text in texts:
        if not text.strip():
            continue
        if turns and turns[-1].role == role:
            turns[-1] = Turn(role, f"{turns[-1].text}\n\n{text}")
        else:
            if not turns and role == "assistant":
                turns.append(Turn("user", "(What came before is left out.)"))
            turns.append(Turn(role, text))
    return tuple(turns)


def whole(text: str) -> str:
    """Replace unpaired surrogates by question marks, so that a text can be sent and stored."""
    return text.encode("utf-8", "replace").decode("utf-8")
