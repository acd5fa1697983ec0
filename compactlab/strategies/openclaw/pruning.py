"""Old tool results are shortened after the cache has expired: OpenClaw's cache-ttl pruning."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import FRAME, Message, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.joined import ending, instead, pieces_of, spans_of
from compactlab.strategies.mechanisms.stub import Edits, PerReplay
from compactlab.strategies.mechanisms.text import BLANKS, head, holds
from compactlab.strategies.pi.preparation import is_at_least

PLACEHOLDER = "[Old tool result content cleared]"
IMAGE_GONE = "[image removed during context pruning]"  # from 2026.3.11 on

Version = Literal["2026.1.29", "2026.3.13"]
NEWEST: Version = "2026.3.13"
_TRIMS_IMAGES = "2026.3.11"  # its pull request 43045

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 8000
OTHER_CHARS = 256  # characters of a message with another role than user, assistant or tool

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?")


def duration_ms(text: str) -> int | None:
    """Parse a duration, ``90s`` or ``1.5h``; minutes without a unit; None if it is invalid."""
    match = _DURATION.fullmatch(text.strip(BLANKS).lower())
    if match is None:
        return None
    milliseconds = float(match[1]) * _UNITS[match[2] or "m"]
    return math.floor(milliseconds + 0.5) if math.isfinite(milliseconds) else None


def may_prune(allow: Iterable[str], deny: Iterable[str]) -> Callable[[str], bool]:
    """Whether results of a tool may be shortened, by its name.

    The only wildcard in patterns is the asterisk; case is ignored. Denied tools are excluded; if
    any are allowed, all others are excluded.
    """
    allowed, denied = _patterns(allow), _patterns(deny)

    def may(name: str) -> bool:
        plain = _plain(name)
        if any(pattern.fullmatch(plain) for pattern in denied):
            return False
        return not allowed or any(pattern.fullmatch(plain) for pattern in allowed)

    return may


def _patterns(names: Iterable[str]) -> list[re.Pattern[str]]:
    plain = map(_plain, names)
    return [re.compile(".*".join(map(re.escape, name.split("*")))) for name in plain if name]


def _plain(name: str) -> str:
    return name.strip(BLANKS).lower()


def trimmed(
    message: Message, max_chars: int, head_chars: int, tail_chars: int, *, images: bool
) -> Message:
    """Keep the beginning and the end of a long tool result.

    As in OpenClaw's pruner (2026.1.29 to 2026.3.13), the texts are joined by line breaks and cut by
    UTF-16 code units, even within a surrogate pair; a note gives the kept lengths. With ``images``,
    each image becomes a line of text, in results of any length; without, a result with images is
    left unchanged.
    """
    pictured = holds(message, "image")
    if pictured and not images:
        return message
    pieces = list(pieces_of(message, IMAGE_GONE))
    whole = "\n".join(piece.text for piece in pieces)
    length = utf16_length(whole)
    if length <= max_chars or head_chars + tail_chars >= length:
        if not pictured:
            return message
        return instead(message, whole, "truncated", spans_of(pieces, length, 0, length))
    ends = f"{head(whole, head_chars)}\n...\n{ending(whole, tail_chars)}"
    note = (
        f"\n\n[Tool result trimmed: kept first {head_chars} chars and last {tail_chars} chars of "
        f"{length} chars.]"
    )
    spans = spans_of(pieces, head_chars, tail_chars, length)
    return instead(message, ends + note, "truncated", spans)


def cleared(message: Message, placeholder: str) -> Message:
    """Replace a tool result by a placeholder."""
    return instead(message, placeholder, "stub", ())


def is_expired(now: float, touched: float | None, ttl_ms: float) -> bool:
    """Whether a cache last touched at that time has expired; without a touch it has not."""
    return bool(touched) and ttl_ms > 0 and now - (touched or 0) >= ttl_ms


def prune(
    messages: Messages, rule: TtlPrune, window: float, edits: Edits | None = None
) -> Messages:
    """Shorten old tool results: OpenClaw's ``pruneContextMessages``.

    Only results between the user's first message and the newest answers are changed. If the context
    fills a share of the window, all long results are trimmed. If it still fills a larger share,
    results are cleared, oldest first, until it does not. Newer versions trim results with images;
    older ones leave them unchanged.
    """
    stop = _protected(messages, rule.keep_last_assistants)
    room, total = window * CHARS_PER_TOKEN, messages.total(context_chars)
    if room <= 0 or stop is None or total / room < rule.soft_trim_ratio:
        return messages
    start = next((n for n, m in enumerate(messages) if m.starts_turn), stop)
    may = cache(may_prune(rule.tools_allow, rule.tools_deny))
    images, known = is_at_least(rule.version, _TRIMS_IMAGES), edits or Edits()
    results = {
        index: message
        for index, message in enumerate(messages[start:stop], start)
        if message.role == "tool"
        and may(_tool(message))
        and (images or not holds(message, "image"))
    }
    changed: dict[int, Message] = {}

    def edit(index: int, how: tuple[object, ...], shorten: Callable[[Message], Message]) -> int:
        """Replace a message by a shorter one; return the change in characters."""
        before = results[index]
        after = known.of(before, how, partial(shorten, before))
        if after is before:  # few are too long
            return 0
        results[index] = changed[index] = after
        return context_chars(after) - context_chars(before)

    ends = rule.soft_trim_max_chars, rule.soft_trim_head_chars, rule.soft_trim_tail_chars
    for index in results:
        total += edit(index, ("trim", *ends, images), lambda m: trimmed(m, *ends, images=images))
    word = rule.hard_clear_placeholder.strip(BLANKS)
    if rule.hard_clear_enabled and (
        sum(map(context_chars, results.values())) >= rule.min_prunable_tool_chars
    ):
        for index in results:
            if total / room < rule.hard_clear_ratio:
                break
            total += edit(index, ("clear", word), lambda m: cleared(m, word))
    return messages.replace(changed)


def _tool(message: Message) -> str:
    first = message.parts[0]
    if first.call_id:  # nearly always
        return first.name
    return next((part.name for part in message.parts if part.call_id), first.name)


def _protected(messages: Messages, keep: int) -> int | None:
    """Return the index of the n-th newest answer; None if there are fewer."""
    return messages.last_holding(is_answer, keep) if keep else len(messages)


def is_answer(message: Message) -> int:
    """Weigh a message by whether it is the model's."""
    return int(message.role == "assistant")


@remembered
def context_chars(message: Message) -> int:
    """Weigh a message in characters, as the pruner does: images 8,000, no names of tools."""
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


# An upper bound of a note's length, and the default minimum to clear: results shorter than a
# placeholder never reach it.
_NOTE_CHARS, _ENOUGH_CHARS = 120, 50_000
_LONGER: Mapping[str, str] = MappingProxyType(
    {"size": "a note or a place-holder may be longer than a result (OpenClaw 2026.1.29 on)"}
)


@dataclass(frozen=True)
class TtlPrune(Strategy):
    """After a pause, trim or clear old tool results for one request.

    OpenClaw's context pruning in mode ``cache-ttl``. When the cache must have expired since the end
    of the last turn, long results are trimmed and, if the context is still too large, old ones
    cleared. Three properties of the original are kept. Only the end of a turn counts as a touch (in
    2026.1.29 its start), so a turn longer than the lifetime prunes results although the cache is
    warm. The first turn prunes nothing, because there is no touch yet. Pruning lasts for one
    request: the next sends everything in full, and writes it to the cache again.

    Exact: the settings, the gate and the changes of messages. Simplified: touches are read from the
    log's times, not from the session's file, so a rewind reverts them.

    Parameters
    ----------
    ttl
        The assumed lifetime of the cache: a number and ``ms``, ``s``, ``m``, ``h`` or ``d``;
        minutes without a unit. OpenClaw sets ``1h`` itself for some of Anthropic's accounts.
    keep_last_assistants
        Number of newest answers; messages from the oldest of them on stay unchanged.
    soft_trim_ratio, hard_clear_ratio
        Shares of the window above which results are trimmed, and cleared.
    min_prunable_tool_chars
        Minimum characters of clearable results; below, nothing is cleared.
    tools_allow, tools_deny
        Patterns of the tools whose results are pruned; ``*`` stands for anything. Denied tools are
        excluded; if any are allowed, all others are excluded.
    soft_trim_max_chars, soft_trim_head_chars, soft_trim_tail_chars
        A result longer than the first is trimmed to the other two.
    hard_clear_enabled
        Whether results may be cleared.
    hard_clear_placeholder
        The text that replaces a cleared result.
    sticky
        Whether pruned results stay pruned; not in the original.
    every_provider
        Whether it also acts under models that are not Anthropic's; not in the original.
    version
        OpenClaw's: 2026.1.29 does not change results with images, and the start of a turn is the
        touch; 2026.3.13 replaces images by a line, the end of a turn is the touch, and a turn with
        a compaction does not count.
    """

    does = (Act.CLEAR,)
    waits = "the cache to expire; ratios say what it does then"

    ttl: str = "5m"
    keep_last_assistants: Annotated[int, at_least(0)] = 3
    soft_trim_ratio: Annotated[float, between(0, 1)] = 0.3
    hard_clear_ratio: Annotated[float, between(0, 1)] = 0.5
    min_prunable_tool_chars: Annotated[int, at_least(0)] = 50_000
    tools_allow: tuple[str, ...] = ()
    tools_deny: tuple[str, ...] = ()
    soft_trim_max_chars: Annotated[int, at_least(0)] = 4000
    soft_trim_head_chars: Annotated[int, at_least(0)] = 1500
    soft_trim_tail_chars: Annotated[int, at_least(0)] = 1500
    hard_clear_enabled: bool = True
    hard_clear_placeholder: str = PLACEHOLDER
    sticky: bool = False
    every_provider: bool = False
    version: Version = NEWEST
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    edits: PerReplay[Edits] = field(
        default_factory=partial(PerReplay, Edits), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not duration_ms(self.ttl):
            raise ValueError(f"ttl must be a duration above 0 like '5m' or '1h', not {self.ttl!r}")
        if not self.hard_clear_placeholder.strip():
            raise ValueError("hard_clear_placeholder must not be blank")

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        return Lifetime.SESSION if self.sticky else Lifetime.REQUEST

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The placeholder is longer than a very short result."""
        ends = self.soft_trim_head_chars + self.soft_trim_tail_chars
        trims_short = self.soft_trim_max_chars < ends + _NOTE_CHARS
        clears_short = self.hard_clear_enabled and self.min_prunable_tool_chars < _ENOUGH_CHARS
        return _LONGER if trims_short or clears_short else MappingProxyType({})

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.BEFORE_TURN:
            self._load(host)
            return view
        now, touched = _milliseconds(host.now), host.notes.get("touched")
        served = self.every_provider or host.model.price.startswith("anthropic/")
        if not served or not is_expired(now, touched, duration_ms(self.ttl) or 0):
            return view
        messages = prune(view.messages, self, host.window, self.edits.of(host))
        if messages is view.messages:
            return view
        host.notes["touched"] = now
        if self.sticky:
            host.notes["compactions"] += 1  # its own compactions do not exclude the turn
        return view.with_messages(messages)

    def _load(self, host: Host) -> None:
        """At the start of a turn, read when the last turn touched the cache."""
        notes, compactions = host.notes, len(host.compactions)
        if self.version == "2026.1.29":
            notes["touched"], notes["began"] = notes.get("began"), _milliseconds(host.now)
        else:
            if compactions == notes.get("compactions", 0):
                notes["ended"] = _last_answer(host)
            notes["touched"] = notes.get("ended")
        notes["compactions"] = compactions


def _last_answer(host: Host) -> int | None:
    times = (message.time for message in reversed(host.log) if message.role == "assistant")
    return next(map(_milliseconds, times), None)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
