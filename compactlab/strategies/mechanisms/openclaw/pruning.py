"""Old tool results made shorter when the cache has gone cold: OpenClaw's context pruning."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal, get_args

from compactlab.sim.message import FRAME, Message
from compactlab.sim.messages import Messages
from compactlab.sim.tokens import utf16_length
from compactlab.sim.weight import remembered
from compactlab.strategies.mechanisms.openclaw.pruning_settings import Pruning, may_prune
from compactlab.strategies.mechanisms.openclaw.trim import cleared, trimmed
from compactlab.strategies.mechanisms.pi.preparation import at_least
from compactlab.strategies.mechanisms.stub import Edits

Version = Literal["2026.1.29", "2026.3.13"]
NEWEST: Version = "2026.3.13"
VERSIONS: tuple[str, ...] = get_args(Version)
_TRIMS_IMAGES = "2026.3.11"  # its pull request 43045

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 8000
OTHER_CHARS = 256  # of whatever is neither the user's, nor an answer, nor a tool's


def prune_expired(
    messages: Messages,
    settings: Pruning | None,
    *,
    now: float,
    touched: float | None,
    window: float | None,
    model_window: float | None = None,
    version: str = NEWEST,
    edits: Edits | None = None,
) -> tuple[Messages, float | None]:
    """Prune if the cache has not been touched for long enough: OpenClaw's handler of ``context``.

    Parameters
    ----------
    messages
        What is about to be sent.
    settings
        None if pruning is not configured.
    now, touched
        This moment and that of the last touch, in milliseconds. Where no touch is known, nothing
        is pruned.
    window, model_window, version, edits
        See :func:`prune`.

    Returns
    -------
    tuple
        What is sent, and when the cache was touched last: now, if anything was pruned.
    """
    if settings is None or not is_expired(now, touched, settings.ttl_ms):
        return messages, touched
    pruned = prune(
        messages, settings, window, model_window=model_window, version=version, edits=edits
    )
    return pruned, touched if pruned is messages else now


def is_expired(now: float, touched: float | None, ttl_ms: float) -> bool:
    """Whether a cache that was touched then has outlived its time; without a touch it has not."""
    if not touched or math.isnan(touched) or ttl_ms <= 0:
        return False
    return not now - touched < ttl_ms


def prune(
    messages: Messages,
    settings: Pruning,
    window: float | None,
    *,
    model_window: float | None = None,
    version: str = NEWEST,
    edits: Edits | None = None,
) -> Messages:
    """Make old tool results shorter: OpenClaw's ``pruneContextMessages``.

    Only results between the first words of the user and the newest few answers are touched. If the
    context fills a share of the window, all that are too long are trimmed; if it then still fills
    a larger one, they are cleared, oldest first, until it does not.

    Parameters
    ----------
    messages
        What is about to be sent.
    settings
        When and how.
    window
        Tokens of the window as configured; where that is no positive number, the model's counts.
    model_window
        The model's.
    version
        OpenClaw's: newer ones take images for something that can be trimmed away, older ones leave
        results with images alone.
    edits
        Messages that have been made shorter before.
    """
    tokens = window if window and 0 < window < math.inf else model_window
    stop = _protected(messages, settings.keep_last_assistants)
    if not tokens or not tokens > 0 or stop is None:
        return messages
    room, total = tokens * CHARS_PER_TOKEN, messages.total(context_chars)
    if total / room < settings.soft_trim_ratio:
        return messages
    start = next((n for n, m in enumerate(messages) if m.starts_turn), stop)
    may = cache(may_prune(settings.tools))
    images = at_least(version, _TRIMS_IMAGES)
    results = {
        place: message
        for place, message in enumerate(messages[start:stop], start)
        if message.role == "tool" and may(_tool(message)) and (images or not _pictured(message))
    }
    work = _Work(settings, room, total, results, edits or Edits())
    work.trim(images=images)
    if settings.hard_clear and work.exceeds():
        work.clear()
    return messages.replace(work.changed)


@dataclass
class _Work:
    """Results by place, and how many characters all messages have together."""

    settings: Pruning
    room: float
    total: int
    results: dict[int, Message]
    edits: Edits
    changed: dict[int, Message] = field(default_factory=dict)

    def exceeds(self) -> bool:
        """Whether the context still fills its larger share of the window."""
        return not self.total / self.room < self.settings.hard_clear_ratio

    def trim(self, *, images: bool) -> None:
        """Trim all that are too long."""
        rule = self.settings
        how = (rule.max_chars, rule.head_chars, rule.tail_chars)
        for place, message in self.results.items():
            edited = self.edits.of(
                message, ("trim", *how, images), partial(trimmed, message, *how, images=images)
            )
            self._put(place, edited)

    def clear(self) -> None:
        """Clear the oldest until it is enough, if there is enough to clear."""
        rule = self.settings
        if sum(map(context_chars, self.results.values())) < rule.min_prunable_tool_chars:
            return
        for place, message in self.results.items():
            if not self.exceeds():
                break
            how, edit = ("clear", rule.placeholder), partial(cleared, message, rule.placeholder)
            self._put(place, self.edits.of(message, how, edit))

    def _put(self, place: int, message: Message) -> None:
        before = self.results[place]
        if message is not before:  # few are too long
            self.total += context_chars(message) - context_chars(before)
            self.results[place] = self.changed[place] = message


def _tool(message: Message) -> str:
    first = message.parts[0]
    if first.call_id:  # nearly always
        return first.name
    return next((part.name for part in message.parts if part.call_id), first.name)


def _pictured(message: Message) -> bool:
    return any(part.type == "image" for part in message.parts)


def _protected(messages: Messages, keep: float) -> int | None:
    """Where the newest answers begin, so many of them; None if there are fewer."""
    if keep <= 0:
        return len(messages)
    return messages.last_holding(is_answer, int(keep)) if keep % 1 == 0 else None


def is_answer(message: Message) -> int:
    """Weigh a message by whether the model said it."""
    return int(message.role == "assistant")


@remembered
def context_chars(message: Message) -> int:
    """Weigh a message in characters, as the pruner does: images 8,000, and no names of tools."""
    if message.role == "user" and message.origin:
        return OTHER_CHARS
    chars = 0
    for part in message.parts:
        if part.type == "image":
            chars += IMAGE_CHARS if message.role != "assistant" else 0
        elif part.type == "tool_call":
            chars += utf16_length(part.text) or len("{}")
        elif part.name != FRAME or part.kind != "synthetic":
            chars += utf16_length(part.text) + CHARS_PER_TOKEN * part.size
    return chars
