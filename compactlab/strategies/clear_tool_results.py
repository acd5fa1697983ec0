"""Clear old tool results: Anthropic's context editing, and LangChain's edit of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.tokens import Tokenizer
from compactlab.sim.view import View
from compactlab.sim.weight import Weight
from compactlab.strategies.mechanisms.clearing import Clearing, Past, clear_tool_uses
from compactlab.strategies.mechanisms.langchain.approximate import approximate
from compactlab.strategies.mechanisms.stub import unstubbed

_LARGER = MappingProxyType({"size": "the place-holder of a tiny result is longer; langchain 1.4.7"})


@dataclass(frozen=True)
class ClearToolResults(Strategy):
    """Put a place-holder in the place of old tool results once the prompt is large.

    ``gate="api"`` is the request option ``clear_tool_uses_20250919`` of Anthropic's API (beta
    ``context-management-2025-06-27``), after its documentation and the types of the Python SDK
    (2.12). The client keeps the full history and sends it every time; the service edits the
    prompt. Its documentation says that each clearing costs one cache write and that later
    requests read what was written then, and that ``clear_at_least`` decides whether breaking the
    cache is worth it. Both only make sense if a clearing that was made is made again in the same
    way at the next request, and the trigger is held against what is left. So the lifetime is the
    session's: the view is what the service sends to the model, a clearing stays, and a rewind
    takes it back. An edit that begins anew at every request would find the full history above
    the trigger for ever after, and break the cache with every tool use, as LangChain's does.

    What is not documented is taken from LangChain: a result counts for ``keep`` even if its tool
    is excluded. Not exact: the text of the place-holder, and that a result which is no larger
    than it stays. A trigger of ``tool_uses`` counts those that are not cleared yet.

    ``gate="langchain"`` is ``ClearToolUsesEdit`` (langchain 1.4.7), exactly: for one request
    alone, the tokens are its approximation, of the messages without the system prompt, and
    ``clear_at_least`` is where it *stops*.

    Parameters
    ----------
    trigger
        Beyond how many tokens (or tool uses) results are cleared.
    trigger_type
        What the trigger counts: ``input_tokens`` of the prompt, or ``tool_uses``; LangChain has
        only the former.
    keep
        How many of the newest tool uses stay.
    clear_at_least
        Tokens. For the API a gate: nothing is cleared unless so much can be. For LangChain enough:
        it stops when so much has been cleared. 0 for no such rule.
    exclude_tools
        Names of tools whose results stay.
    clear_tool_inputs
        Whether the arguments of the calls go, too.
    placeholder
        What stands in the place of a result.
    gate
        Who is followed.
    """

    trigger: int = 100_000
    trigger_type: Literal["input_tokens", "tool_uses"] = "input_tokens"
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: tuple[str, ...] = ()
    clear_tool_inputs: bool = False
    placeholder: str = "[cleared]"
    gate: Literal["api", "langchain"] = "api"
    past: Past = field(default_factory=Past, init=False, repr=False, compare=False)
    rules: dict[Tokenizer, Clearing] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name in ("trigger", "keep", "clear_at_least"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        tools = self.exclude_tools
        if not isinstance(tools, list | tuple) or not all(isinstance(t, str) for t in tools):
            raise ValueError(f"exclude_tools must be a tuple of names, not {tools!r}")
        object.__setattr__(self, "exclude_tools", tuple(tools))
        if self.gate == "langchain" and self.trigger_type != "input_tokens":
            raise ValueError("trigger_type must be 'input_tokens' with gate='langchain'")

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """What the API has cleared stays cleared; LangChain begins anew at every request."""
        return Lifetime.REQUEST if self.gate == "langchain" else Lifetime.SESSION

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """LangChain's place-holder may be longer than what it stands for."""
        return _LARGER if self.gate == "langchain" else MappingProxyType({})

    def compact(self, view: View, host: Host) -> View:
        """Clear, if it is time."""
        excess = self._size(view, host) - self.trigger
        if excess <= 0:
            return view
        weight: Weight = approximate if self.gate == "langchain" else host.weight
        rule = self._rule(host.model.tokenizer)
        cleared = clear_tool_uses(view.messages, rule, weight, excess, self.past)
        return view.with_messages(cleared)

    def _rule(self, tokenizer: Tokenizer) -> Clearing:
        """What is cleared under a tokenizer."""
        rule = self.rules.get(tokenizer)
        if rule is None:
            rule = self.rules[tokenizer] = Clearing(
                self.keep,
                self.clear_at_least,
                self.exclude_tools,
                self.clear_tool_inputs,
                self.placeholder,
                self.gate,
                None if self.gate == "langchain" else tokenizer.part,
            )
        return rule

    def _size(self, view: View, host: Host) -> int:
        if self.trigger_type == "tool_uses":
            return view.messages.total(unstubbed)
        return view.messages.total(approximate) if self.gate == "langchain" else host.count(view)
