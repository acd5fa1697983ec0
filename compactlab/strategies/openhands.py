"""OpenHands: recent events, amortised forgetting, and masked observations (also SWE-agent's)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Weight
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.cut import starts_turn
from compactlab.strategies.mechanisms.stub import (
    Result,
    is_stub,
    results_of,
    sources_of,
    unstubbed,
    with_stubs,
)

# OpenHands: the first and the newest events, and amortised forgetting of the middle.


def recent(
    messages: Messages, keep_first: int, max_events: int, *, mended: bool = False
) -> Messages:
    """Return the first and the newest messages, as ``RecentEventsCondenser`` (openhands-ai 0.62.0).

    Unless ``mended``, head and tail may overlap: a history that fits has its head twice. If the
    head alone fills the limit, the tail is the whole history.
    """
    head = messages[:keep_first]
    length = max(0, max_events - len(head))
    if mended:
        start = max(len(messages) - length, len(head))
        return messages if start == len(head) else head.branch(len(head), messages[start:])
    tail = messages[-length:] if length else messages
    return head.branch(len(head), tail)


def forgotten(length: int, keep_first: int, max_size: int) -> range:
    """Return what ``AmortizedForgettingCondenser`` (openhands-ai 0.62.0) forgets, as a range.

    It is empty up to ``max_size`` messages. Above that, half of ``max_size`` is kept: the first and
    the newest messages.
    """
    if length <= max_size:
        return range(0)
    head = len(range(length)[:keep_first])
    tail = max_size // 2 - head
    return range(head, length - tail if tail else 0)


_PARTS = {
    "pairs": "it cuts between a call and its result; openhands-ai 0.62.0",
    "last user message": "in a long turn it is neither first nor new; openhands-ai 0.62.0",
}
_TWICE = {
    "order": "the head stands twice while the history is short; openhands-ai 0.62.0",
    "size": "for the same reason",
}


@dataclass(frozen=True)
class RecentEvents(Strategy):
    """Send the first messages and the newest, for this request only.

    ``RecentEventsCondenser`` (openhands-ai 0.62.0). It is exact with ``mended=False``, which sends
    the head twice while the history fits. Simplified: an event is a message, so the system prompt
    is not an event, and a message with several calls is one event; the original's conversation
    memory, which later removes calls and results without a partner, is not built.

    Parameters
    ----------
    keep_first
        Number of first messages that stay.
    max_events
        Number of messages that are sent.
    mended
        Whether each message is sent only once.
    """

    does = (Act.TRUNCATE,)
    waits = "a number of messages"

    keep_first: Annotated[int, at_least(0)] = 1
    max_events: int = 100
    mended: bool = True
    lifetime = Lifetime.REQUEST

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_events <= self.keep_first:
            raise ValueError(
                f"max_events must be above keep_first ({self.keep_first}), not {self.max_events}"
            )

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The effects on a history, with or without the original's fault."""
        return MappingProxyType(_PARTS if self.mended else _PARTS | _TWICE)

    def compact(self, view: View, host: Host) -> View:
        recent_events = recent(view.messages, self.keep_first, self.max_events, mended=self.mended)
        return view.with_messages(recent_events)


@dataclass(frozen=True)
class AmortizedForgetting(Strategy):
    """When the history is too long, keep half of it: the first messages and the newest.

    ``AmortizedForgettingCondenser`` (openhands-ai 0.62.0): forgotten messages stay forgotten, so
    the prompt is rewritten occasionally instead of at every call. Simplified: an event is a
    message, so the system prompt is not an event, and a message with several calls is one event.

    Parameters
    ----------
    max_size
        Maximum number of messages.
    keep_first
        Number of first messages that stay; less than half of ``max_size``.
    """

    does = (Act.TRUNCATE,)
    waits = "a number of messages"

    max_size: Annotated[int, at_least(1)] = 100
    keep_first: int = 1

    breaks = MappingProxyType(_PARTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.keep_first < self.max_size // 2:
            raise ValueError(
                f"keep_first must be at least 0 and below half of max_size, not {self.keep_first}"
            )

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        gone = forgotten(len(messages), self.keep_first, self.max_size)
        if not gone:
            return view
        if not gone.start:
            return view.with_messages(messages[gone.stop :])
        return view.with_messages(messages.branch(gone.start, messages[gone.stop :]))


# Masking of old tool results: SWE-agent's last observations, OpenHands' window.

OBSERVATION = "observation"
"""The origin of a user message in which an agent's environment speaks."""

MASKED = "<MASKED>"


def observes(message: Message) -> int:
    """Weigh a message by whether it is an observation."""
    return int(message.role == "tool" or message.origin == OBSERVATION)


def is_open(message: Message) -> bool:
    """Whether a message is an observation that is not yet masked."""
    if message.role == "tool":
        return unstubbed(message) > 0
    return message.origin == OBSERVATION and message.parts[0].kind != "stub"


def mask_last_n(messages: Messages, rule: ObservationMasking, task: int = 0) -> Messages:
    """Mask all observations except the first and the newest, as SWE-agent's ``LastNObservations``.

    The first observation is never masked. ``task`` is 1 if :func:`observes` does not count it:
    SWE-agent presents the task as an observation.
    """
    seen = messages.total(observes) + task
    last = max(0, seen // rule.polling * rule.polling - rule.n)
    start, stop = (
        _after(messages, 1 - task, seen - task),
        _after(messages, last - task, seen - task),
    )
    marks = {n: _omit(messages[n]) for n in _weighty(messages[:stop], rule.maskable, start)}
    if rule.remove_tools:
        marks |= {n: _omit(messages[n]) for n in _weighty(messages, rule.unwanted, 0)}
    return messages.replace(marks)


def mask_window(messages: Messages, window: int) -> Messages:
    """Mask the observations before the newest messages, as OpenHands' attention window."""
    old = messages[: max(len(messages) - window, 0)]
    return messages.replace({n: _mask(messages[n]) for n in _weighty(old, unstubbed, 0)})


def told_as_user(masked: Messages) -> Messages:
    """Convert masked observations to the messages that OpenHands' memory sends.

    A masked observation has lost its call id (openhands-ai 0.62.0), so it becomes a user message.
    Agent messages whose call has no result are removed with all their text, and so are results
    without a call.
    """
    unanswered: set[str] = set()
    sent: list[Message] = []
    for message in reversed(masked):
        calls = {part.call_id for part in message.parts if part.type == "tool_call"}
        hidden = {result[0].call_id for result in results_of(message) if is_stub(result)}
        unanswered |= hidden
        if message.role == "assistant" and calls & unanswered:
            unanswered |= calls
        elif hidden:
            told = _with_text(message, MASKED)
            sent.append(msgspec.structs.replace(told, role="user", origin=OBSERVATION))
        else:
            sent.append(message)
    called = {part.call_id for m in sent for part in m.parts if part.type == "tool_call"}
    left = [m for m in reversed(sent) if m.role != "tool" or _answers(m) & called]
    same = next((n for n, (a, b) in enumerate(zip(masked, left, strict=False)) if a is not b), 0)
    return masked.branch(same, left[same:])


def _answers(message: Message) -> set[str]:
    return {result[0].call_id for result in results_of(message)}


def _after(messages: Messages, count: int, total: int) -> int:
    """Return the index after the n-th observation."""
    if count <= 0:
        return 0
    following = messages.last_holding(observes, total - count + 1)
    return len(messages) if following is None else following + 1


def _weighty(messages: Messages, weight: Weight, start: int) -> Iterator[int]:
    """Yield the indices of messages with a positive weight, from an index on."""
    rest = messages[start:]
    left = rest.total(weight)
    first = rest.last_holding(weight, left) if left else None
    while first is not None and left:
        weighs = weight(rest[first])
        if weighs:
            yield start + first
        first, left = first + 1, left - weighs


def _omit(message: Message) -> Message:
    if message.role == "tool":
        return with_stubs(message, lambda _, result: omitted(result))
    return _with_text(message, omitted(message.parts))


def _mask(message: Message) -> Message:
    return with_stubs(message, lambda *_: MASKED)


def _with_text(message: Message, text: str) -> Message:
    """Convert an observation to a user message with another text."""
    part = Part("text", text, "stub", sources_of(message.parts))
    return msgspec.structs.replace(message, parts=(part,))


def omitted(result: Result) -> str:
    """Return SWE-agent's replacement of an observation: its numbers of lines and images."""
    lines = sum(len(part.text.splitlines()) for part in result)
    images = sum(part.type == "image" for part in result)
    text = f"Old environment output: ({lines} lines omitted)"
    return f"{text} ({images} images omitted)" if images else text


@dataclass(frozen=True)
class ObservationMasking(Strategy):
    """Replace all but the newest tool results by one line each, and keep calls and text.

    ``system="swe-agent"`` is ``LastNObservations`` (SWE-agent at 3ea751c), which the paper The
    Complexity Trap (2508.21433) found to be as good as summaries at half the cost. The original
    masks the full history for every query. Its mask only moves forward, so keeping masked messages
    in the session gives exactly the same prompts. An observation is a tool message; the task,
    SWE-agent's first observation, counts as one and is never masked. Later user messages are not
    observations (SWE-agent has none).

    ``system="openhands"`` is ``ObservationMaskingCondenser`` (openhands-ai 0.62.0): the window
    counts all messages, not only observations, and the text is ``<MASKED>``. An event is a message
    here; for a message with several calls, OpenHands has several events. As in its conversation
    memory, a masked observation becomes a user message, and the agent's message with its call is
    removed. If that has several calls, all their messages are removed with the first masked one;
    they no longer count, so the window reaches further back.

    As in the originals, the line may be longer than a very short output.

    Parameters
    ----------
    n
        Number of newest observations that stay; under OpenHands, of newest messages.
    polling
        Number of observations by which the mask moves: in between the prompt only grows and stays
        cached. SWE-agent only.
    keep_tools, remove_tools
        Tools whose outputs are never, or always, masked: SWE-agent's tags ``keep_output`` and
        ``remove_output``, which a processor sets by the tool's name.
    system
        ``swe-agent`` or ``openhands``.
    """

    does = (Act.CLEAR,)
    waits = "a number of observations"

    n: Annotated[int, at_least(0)] = 5
    polling: Annotated[int, at_least(1)] = 1
    keep_tools: tuple[str, ...] = ()
    remove_tools: tuple[str, ...] = ()
    system: Literal["swe-agent", "openhands"] = "swe-agent"

    breaks = MappingProxyType({"size": "the line may be longer than a tiny output; both systems"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.system == "swe-agent" and self.n < 1:
            raise ValueError(f"n must be at least 1, not {self.n}")
        if self.system == "openhands" and (self.polling > 1 or self.keep_tools + self.remove_tools):
            raise ValueError("polling, keep_tools and remove_tools are SWE-agent's alone")

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        if self.system == "openhands":
            masked = mask_window(messages, self.n)
            if masked is messages:
                return view
            return view.with_messages(told_as_user(masked))
        task = int(messages.total(starts_turn) > 0)
        return view.with_messages(mask_last_n(messages, self, task))

    def maskable(self, message: Message) -> int:
        """Weigh a message by whether it may be masked once it is old."""
        if message.role == "assistant" or not is_open(message):
            return 0
        return int(self.tags(message).isdisjoint(self.keep_tools))

    def unwanted(self, message: Message) -> int:
        """Weigh a message by whether it is masked at any age."""
        return int(is_open(message) and not self.tags(message).isdisjoint(self.remove_tools))

    def tags(self, message: Message) -> set[str]:
        """Return the names of the tools whose results a message has; SWE-agent allows any tags."""
        return {result[0].name for result in results_of(message)}
