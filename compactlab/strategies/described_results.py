"""Rules describe old tool uses in one line each, and whole gaps in a notice: Hermes and Cline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.hermes import threshold_tokens
from compactlab.strategies.mechanisms.cut import after_results
from compactlab.strategies.mechanisms.notice import told_by_rule
from compactlab.strategies.mechanisms.old_uses import REPEATED, RESULT, shrunk
from compactlab.strategies.mechanisms.stub import Result, is_stub, results_of, with_stubs
from compactlab.strategies.mechanisms.text import arguments_of
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

AGAIN = "[the same output as that of a later call]"


def described(messages: Messages, boundary: int) -> Messages:
    """Shorten tool results and arguments before a boundary.

    The newest of several equal results is kept, on either side of the boundary. A history without
    changes is returned as the same object.
    """
    newest = _newest(messages)
    calls = {p.call_id: p for m in messages for p in m.parts if p.type == "tool_call"}
    changed = {}
    for index, message in enumerate(messages):
        shorter = _shorter(message, index, newest, calls, old=index < boundary)
        if shorter is not message:
            changed[index] = shorter
    return messages.replace(changed)


def _newest(messages: Messages) -> dict[str, tuple[int, int]]:
    """Return the last position of each long result text: message, and index in it."""
    return {
        _text(result): (index, place)
        for index, message in enumerate(messages)
        for place, result in enumerate(results_of(message))
        if len(_text(result)) >= REPEATED and not is_stub(result)
    }


def _text(result: Result) -> str:
    return result[0].text if len(result) == 1 else ""


def _shorter(
    message: Message,
    index: int,
    newest: dict[str, tuple[int, int]],
    calls: dict[str, Part],
    *,
    old: bool,
) -> Message:
    if message.role == "assistant":
        return shrunk(message) if old else message

    def say(place: int, result: Result) -> str | None:
        text = _text(result)
        if is_stub(result):
            return None
        if newest.get(text, (index, place)) != (index, place):
            return AGAIN
        return describe(result[0], calls.get(result[0].call_id)) if old else None

    return with_stubs(message, say)


def describe(result: Part, call: Part | None) -> str | None:
    """Describe a call and the size of its result in one line; None for a short result."""
    size = len(result.text)
    if size <= RESULT:
        return None
    name = result.name or (call.name if call else "") or "unknown"
    arguments = arguments_of(call) if call else None
    named = list(arguments.items())[:2] if isinstance(arguments, dict) else []
    shown = "".join(f" {key[:40]}={str(value)[:40]}" for key, value in named)
    lines = result.text.count("\n") + 1
    line = f"[{name}]{shown} ({size:,} characters, {lines:,} lines)"
    return line if len(line) < size else None


@dataclass(frozen=True)
class DescribedResults(Strategy):
    """Shorten tool results by rule; if that is not enough, drop older answers and say so.

    The rules are those of Hermes' passes before its summary (hermes-agent 0.19.0): of results
    repeated word for word (200 characters and more) only the newest stays; old results of more
    than 200 characters become one line; in arguments of more than 500 characters, texts are cut to
    200, and the arguments stay valid JSON. The trigger and the protected tail (20 % of the trigger,
    20 messages at least) are Hermes', too.

    Hermes would then summarise. Here the second step is Cline's ``basic`` compaction, which Cline
    uses after an overflow, because recovery must not need another successful call. Typed messages
    and the last three answers stay; a notice of files and commands replaces each gap. This step
    follows if the prompt still exceeds ``target``, or does not fit at all.

    Simplified: the line has one form for all tools (name, two arguments, size), not one for each;
    the trigger is compared with counted tokens, not with the last report; the notice's wording and
    the rules that classify calls (by names of arguments and tools) are our own; older attachments
    stay; no real system combines the two.

    Parameters
    ----------
    threshold
        Without a trigger, the share of the window at which it acts, 0 to 1, as Hermes' users set
        it; raised to 0.75 in windows below 512,000 tokens, and to 64,000 tokens.
    tail_ratio
        Share of the trigger for the newest messages, which stay unchanged.
    protect_last_n
        Minimum number of newest messages that stay unchanged.
    answers
        Number of newest answers that keep their text in the second step.
    target
        Share of the trigger; above it the second step is taken.
    trigger
        Tokens, or a share of the window, at which it acts; None for Hermes' rule (see threshold).
    """

    does = (Act.CLEAR, Act.TRUNCATE)

    threshold: Annotated[float, between(0, 1)] = 0.5
    tail_ratio: Annotated[float, between(0, 1)] = 0.2
    protect_last_n: Annotated[int, at_least(0)] = 20
    answers: Annotated[int, at_least(0)] = 3
    target: Annotated[float, between(0, 1)] = 0.7
    trigger: Trigger = None
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    def compact(self, view: View, host: Host) -> View:
        own = threshold_tokens(host.window, self.threshold)
        trigger = tokens_at(self.trigger, host, own)
        overflow = host.phase is Phase.ON_OVERFLOW
        if not overflow and host.count(view) < trigger:
            return view
        messages = view.messages
        start = min(
            messages.tail_from(host.weight, int(trigger * self.tail_ratio)),
            len(messages) - self.protect_last_n,
        )
        shorter = view.with_messages(described(messages, start))
        if not overflow and host.count(shorter) <= self.target * trigger:
            return shorter
        boundary = after_results(messages, max(start, 0))
        fewer = view.with_messages(told_by_rule(shorter.messages, boundary, self.answers))
        return fewer if host.count(fewer) < host.count(shorter) else shorter
