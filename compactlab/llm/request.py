"""What a language model is asked, whatever for, and the key of that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec

from compactlab.privacy import Redactor
from compactlab.sim.core.message import encoded


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of what a model is given to read."""

    role: Literal["user", "assistant"]
    text: str


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What a model is asked. It does not say where the model is, nor what its answer is for.

    Parameters
    ----------
    model
        The model's name, as its endpoint knows it.
    turns
        What it is given to read, oldest first.
    max_tokens
        How long its answer may be, in tokens of its own.
    system
        The system prompt; "" for none.
    temperature
        How much chance there is in its answer; None for the endpoint's own, as newer models of
        OpenAI and Anthropic refuse any other.
    draw
        Which of several answers to the same request it is. Endpoints that take a seed get it as
        one.

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
        """The same without secrets: what is asked, and what the key is of."""
        redactor = Redactor()
        turns = tuple(Turn(turn.role, redactor.text(whole(turn.text))) for turn in self.turns)
        system = redactor.text(whole(self.system))
        return msgspec.structs.replace(self, turns=turns, system=system)

    @cached_property
    def key(self) -> str:
        """Thirty-two hex digits of the request without its secrets."""
        return hashlib.blake2b(encoded(self.redacted), digest_size=16).hexdigest()


def turns_of(texts: Iterable[tuple[Literal["user", "assistant"], str]]) -> tuple[Turn, ...]:
    r"""Turns that take turns, as endpoints want them: the user begins, and none is empty.

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
    """A text that can be sent and stored: halves of characters become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
