"""Trim the history to a budget: LangChain's trim_messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.message import Message
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.sim.weight import Weight
from compactlab.strategies.mechanisms.langchain.approximate import approximate
from compactlab.strategies.mechanisms.langchain.trimming import SYSTEM, Trim, trimmed


@dataclass(frozen=True)
class TrimMessages(Strategy):
    """Send the newest messages that fit a budget, for this request alone.

    ``trim_messages`` (langchain-core 1.7.2), exactly. By itself it guards no pairs: that needs
    ``start_on=('human',)``, as its documentation recommends. The system prompt stands outside of
    the history here and always stays; ``include_system`` says whether it counts.

    Parameters
    ----------
    max_tokens
        The budget; the original has no default.
    strategy
        From which end: the ``first`` messages or the ``last``.
    token_counter
        What is counted: ``model`` the model's tokens, ``approximate`` LangChain's approximation,
        ``len`` messages.
    allow_partial
        Whether the message at the cut may stay in part.
    include_system
        Whether the system prompt counts.
    start_on, end_on
        Types of message that the rest must begin or end with: ``human``, ``ai``, ``tool``.
    """

    max_tokens: int = 20_000
    strategy: Literal["first", "last"] = "last"
    token_counter: Literal["model", "approximate", "len"] = "approximate"  # noqa: S105
    allow_partial: bool = False
    include_system: bool = False
    start_on: tuple[str, ...] = ()
    end_on: tuple[str, ...] = ()
    lifetime = Lifetime.REQUEST

    breaks = MappingProxyType(
        {
            "pairs": "without start_on it cuts anywhere; langchain-core 1.7.2",
            "last user message": "in a long turn it may not fit; langchain-core 1.7.2",
        }
    )

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        for name in ("start_on", "end_on"):
            types = getattr(self, name)
            types = (types,) if isinstance(types, str) else types
            if not isinstance(types, list | tuple) or not {"human", "ai", "tool"} >= set(types):
                raise ValueError(
                    f"{name} must be a tuple of 'human', 'ai' or 'tool', not {types!r}"
                )
            object.__setattr__(self, name, tuple(types))
        _ = self._trim  # refuses what does not go together

    @cached_property
    def _trim(self) -> Trim:
        return Trim(
            self.max_tokens,
            self.strategy,
            self.allow_partial,
            self.include_system,
            self.start_on,
            self.end_on,
        )

    def compact(self, view: View, host: Host) -> View:
        """Leave out what does not fit."""
        counters: dict[str, Weight] = {"model": host.weight, "approximate": approximate, "len": one}
        weight = counters[self.token_counter]
        trim = self._trim
        if self.include_system and view.system:
            head = Message(SYSTEM, "user", view.system, meta=True, origin=SYSTEM)
            model = self.token_counter == "model"  # noqa: S105
            taken = host.count(View(view.system)) if model else weight(head)
            trim = replace(trim, max_tokens=max(0, self.max_tokens - taken))
        return view.with_messages(trimmed(view.messages, trim, weight))


def one(message: Message) -> int:
    """Weigh a message by that it is one."""
    return 1
