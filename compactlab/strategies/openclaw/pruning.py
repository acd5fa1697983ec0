"""Old tool results made shorter when the cache has gone cold: OpenClaw's cache-ttl pruning."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import FRAME, Message, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.joined import ending, instead, pieces_of, spans_of
from compactlab.strategies.mechanisms.stub import Edits, PerReplay
from compactlab.strategies.mechanisms.text import BLANKS, head, holds, is_finite
from compactlab.strategies.pi.preparation import is_at_least

PLACEHOLDER = "[Old tool result content cleared]"

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?")


@dataclass(frozen=True)
class Pruning:
    """When results are made shorter, and how: OpenClaw's ``agents.defaults.contextPruning``."""

    ttl_ms: float = 300_000  # milliseconds that must have passed since the cache was last touched
    keep_last_assistants: float = 3  # everything from the newest so many answers on stays
    soft_trim_ratio: float = 0.3  # share of the window from which on long results are trimmed
    # Share of the window to which results are cleared, oldest first, if trimming was not enough.
    hard_clear_ratio: float = 0.5
    min_prunable_tool_chars: float = 50_000  # nothing is cleared where less than that could be
    # ``allow`` and ``deny``: patterns of the tools whose results may be made shorter.
    tools: Mapping[str, Any] = field(default_factory=dict)
    # max_chars, head_chars, tail_chars: a result longer than the first is trimmed to the other two
    max_chars: float = 4000
    head_chars: float = 1500
    tail_chars: float = 1500
    hard_clear: bool = True  # whether anything is cleared at all
    placeholder: str = PLACEHOLDER  # what stands in the place of a cleared result


def effective_settings(raw: object) -> Pruning | None:
    """Read settings as OpenClaw's ``computeEffectiveSettings`` does (2026.1.29).

    What does not fit is brought into its range or passed over; None unless the mode is
    ``cache-ttl``.
    """
    if not isinstance(raw, Mapping) or raw.get("mode") != "cache-ttl":
        return None
    values: dict[str, Any] = {}
    if isinstance(raw.get("ttl"), str):
        values["ttl_ms"] = duration_ms(raw["ttl"])
    values["keep_last_assistants"] = _whole(raw.get("keepLastAssistants"))
    values["soft_trim_ratio"] = _ratio(raw.get("softTrimRatio"))
    values["hard_clear_ratio"] = _ratio(raw.get("hardClearRatio"))
    values["min_prunable_tool_chars"] = _whole(raw.get("minPrunableToolChars"))
    values["tools"] = raw.get("tools") or None
    soft, hard = (_section(raw.get(name)) for name in ("softTrim", "hardClear"))
    for name in ("max", "head", "tail"):
        values[f"{name}_chars"] = _whole(soft.get(f"{name}Chars"))
    if isinstance(hard.get("enabled"), bool):
        values["hard_clear"] = hard["enabled"]
    if isinstance(hard.get("placeholder"), str):
        values["placeholder"] = hard["placeholder"].strip(BLANKS) or None
    return Pruning(**{name: value for name, value in values.items() if value is not None})


def duration_ms(text: str) -> int | None:
    """Read a duration, ``90s`` or ``1.5h``; minutes where no unit is given; None if it is none."""
    match = _DURATION.fullmatch(text.strip(BLANKS).lower())
    if match is None:
        return None
    milliseconds = float(match[1]) * _UNITS[match[2] or "m"]
    return math.floor(milliseconds + 0.5) if math.isfinite(milliseconds) else None


def _whole(value: object) -> int | None:
    return max(0, math.floor(value)) if is_finite(value) else None


def _ratio(value: object) -> float | None:
    return min(1, max(0, value)) if is_finite(value) else None


def _section(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def may_prune(tools: Mapping[str, Any]) -> Callable[[str], bool]:
    """Say of a tool's name whether its results may be made shorter.

    Patterns know the asterisk only, and case does not matter. A tool that is denied is out; where
    any are allowed, so are all others.
    """
    allow, deny = (_patterns(tools.get(name)) for name in ("allow", "deny"))

    def may(name: str) -> bool:
        plain = _plain(name)
        if any(pattern.fullmatch(plain) for pattern in deny):
            return False
        return not allow or any(pattern.fullmatch(plain) for pattern in allow)

    return may


def _patterns(raw: object) -> list[re.Pattern[str]]:
    plain = map(_plain, raw) if isinstance(raw, list | tuple) else ()
    return [re.compile(".*".join(map(re.escape, name.split("*")))) for name in plain if name]


def _plain(name: object) -> str:
    return str("" if name is None else name).strip(BLANKS).lower()


# A tool's result made shorter: its head and its tail, or a word in its place.

# What OpenClaw says in the place of an image (2026.3.11 on).
IMAGE_GONE = "[image removed during context pruning]"


def trimmed(
    message: Message, max_chars: float, head_chars: float, tail_chars: float, *, images: bool
) -> Message:
    """Keep the beginning and the end of a tool's result that is too long.

    As OpenClaw's pruner does (2026.1.29 to 2026.3.13): the texts are joined by line breaks and
    cut by UTF-16 code units, if need be through a pair; a note says what was kept. With
    ``images`` a line takes the place of each image, however short the result is; without, a
    result with images is left alone.
    """
    pictured = holds(message, "image")
    if pictured and not images:
        return message
    pieces = list(pieces_of(message, IMAGE_GONE))
    whole = "\n".join(piece.text for piece in pieces)
    length, first, last = utf16_length(whole), max(0, head_chars), max(0, tail_chars)
    if length <= max_chars or first + last >= length:
        if not pictured:
            return message
        return instead(message, whole, "truncated", spans_of(pieces, length, 0, length))
    ends = f"{head(whole, int(first))}\n...\n{ending(whole, math.ceil(last))}"
    note = (
        f"\n\n[Tool result trimmed: kept first {_written(first)} chars and last {_written(last)} "
        f"chars of {length} chars.]"
    )
    spans = spans_of(pieces, int(first), math.ceil(last), length)
    return instead(message, ends + note, "truncated", spans)


def cleared(message: Message, placeholder: str) -> Message:
    """Put a word in the place of a tool's result; its call keeps it."""
    return instead(message, placeholder, "stub", ())


def _written(number: float) -> str:
    """A number as JavaScript writes it into a text."""
    return str(int(number)) if float(number).is_integer() else str(number)


# Old tool results made shorter when the cache has gone cold: OpenClaw's context pruning.

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

    Times are in milliseconds; where no touch is known, nothing is pruned. With what is sent
    comes when the cache was touched last: now, if anything was pruned.
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

    Only results between the first words of the user and the newest few answers are touched. If
    the context fills a share of the window, all that are too long are trimmed; if it then still
    fills a larger one, they are cleared, oldest first, until it does not. A window that is no
    positive number gives way to the model's. Newer versions take images for something that can
    be trimmed away, older ones leave results with images alone.
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
    images = is_at_least(version, _TRIMS_IMAGES)
    results = {
        place: message
        for place, message in enumerate(messages[start:stop], start)
        if message.role == "tool"
        and may(_tool(message))
        and (images or not holds(message, "image"))
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


# What a strategy calls its settings, and what OpenClaw does.
_NAMES = {
    "keep_last_assistants": "keepLastAssistants",
    "soft_trim_ratio": "softTrimRatio",
    "hard_clear_ratio": "hardClearRatio",
    "min_prunable_tool_chars": "minPrunableToolChars",
}
# What a note is no longer than, and the least that is cleared by default: so much is never made of
# results that are shorter than a place-holder.
_NOTE_CHARS, _ENOUGH_CHARS = 120, 50_000
_LONGER: Mapping[str, str] = MappingProxyType(
    {"size": "a note or a place-holder may be longer than a result (OpenClaw 2026.1.29 on)"}
)


@dataclass(frozen=True)
class TtlPrune(Strategy):
    """After a pause, send old tool results trimmed or cleared, for one request.

    After OpenClaw's context pruning in mode ``cache-ttl``. When so much time has passed since the
    end of the last turn that the provider's cache must be cold, long results are trimmed and, if
    the context is still too large, old ones cleared. Three things about the original are kept.
    Only the end of a turn counts as a touch (its beginning, in 2026.1.29), so within a turn that
    goes on for longer than that, results are pruned although the cache is warm. In the first turn
    nothing is pruned, because nothing has been touched. And what is pruned is pruned for one
    request only: the next sends everything in full, and writes it to the cache once more.

    Exact are the settings, the gate and what is done to the messages. Simplified: a touch is read
    from the times of the log and not from the session's file, so a rewind takes it back.

    Parameters
    ----------
    ttl
        How long the cache is taken to live: a number and ``ms``, ``s``, ``m``, ``h`` or ``d``;
        minutes without a unit. OpenClaw sets ``1h`` itself for some of Anthropic's accounts.
    keep_last_assistants
        Everything from the newest so many answers on stays.
    soft_trim_ratio, hard_clear_ratio
        Shares of the window that the context has to fill for results to be trimmed, and cleared.
    min_prunable_tool_chars
        Nothing is cleared where less than that could be.
    tools_allow, tools_deny
        Patterns of the tools whose results are pruned; ``*`` stands for anything. Denied ones are
        left out, and where any are allowed, so are all others.
    soft_trim_max_chars, soft_trim_head_chars, soft_trim_tail_chars
        A result longer than the first is trimmed to the other two.
    hard_clear_enabled
        Whether anything is cleared.
    hard_clear_placeholder
        What stands in the place of a cleared result.
    sticky
        Whether what was pruned stays pruned, which the original's does not.
    every_provider
        Whether models of others than Anthropic are served, too; the original leaves them alone.
    version
        OpenClaw's: 2026.1.29 leaves results with images alone and takes the beginning of a turn
        for a touch; 2026.3.13 puts a line in the place of images, takes the end of a turn, and
        does not count a turn in which the session was compacted.
    """

    does = (Act.CLEAR,)

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
        """One request, or the session."""
        return Lifetime.SESSION if self.sticky else Lifetime.REQUEST

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What stands in the place of a result is longer than a very short one."""
        ends = self.soft_trim_head_chars + self.soft_trim_tail_chars
        trims_short = self.soft_trim_max_chars < ends + _NOTE_CHARS
        clears_short = self.hard_clear_enabled and self.min_prunable_tool_chars < _ENOUGH_CHARS
        return _LONGER if trims_short or clears_short else MappingProxyType({})

    @cached_property
    def settings(self) -> Pruning | None:
        """The settings as OpenClaw reads them."""
        raw: dict[str, object] = {name: getattr(self, ours) for ours, name in _NAMES.items()}
        tools = {"allow": list(self.tools_allow), "deny": list(self.tools_deny)}
        soft = {
            "maxChars": self.soft_trim_max_chars,
            "headChars": self.soft_trim_head_chars,
            "tailChars": self.soft_trim_tail_chars,
        }
        hard = {"enabled": self.hard_clear_enabled, "placeholder": self.hard_clear_placeholder}
        raw |= {"mode": "cache-ttl", "ttl": self.ttl}
        return effective_settings(raw | {"tools": tools, "softTrim": soft, "hardClear": hard})

    def compact(self, view: View, host: Host) -> View:
        """Prune, if it is time."""
        if host.phase is Phase.BEFORE_TURN:
            self._load(host)
            return view
        before = host.notes.get("touched")
        if before is None or not (self.every_provider or host.model.price.startswith("anthropic/")):
            return view
        messages, touched = prune_expired(
            view.messages,
            self.settings,
            now=_milliseconds(host.now),
            touched=before,
            window=host.window,
            version=self.version,
            edits=self.edits.of(host),
        )
        if messages is view.messages:
            return view
        host.notes["touched"] = touched
        if self.sticky:
            host.notes["compactions"] += 1  # this one is no reason not to count the turn
        return view.with_messages(messages)

    def _load(self, host: Host) -> None:
        """A turn begins: find out when the last one touched the cache."""
        notes, compactions = host.notes, len(host.compactions)
        if self.version == VERSIONS[0]:
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
