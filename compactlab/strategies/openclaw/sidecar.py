"""A file beside the transcript with one line per message: OpenClaw pull request 17345."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, NoReturn

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Kind, Message, Part, Source
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.estimate import estimate, estimate_system
from compactlab.strategies.mechanisms.handover import glued
from compactlab.strategies.mechanisms.text import as_json, collapsed, head, speaker, spoken, whole

# The original's header; the line below it is our own, with the original's length.
HEADER = "[SESSION_SUMMARY]"
INSTRUCTION = (
    "Earlier messages, a line each; where a message itself is in view, go by its own words."
)
VERSION = 1
MAX_ITEMS = 60
ITEM_CHARS = 220
MAX_CHARS = 1200
THRESHOLD = 0.72


class Item(NamedTuple):
    """A line, and the id of its message; "" if unknown."""

    text: str
    id: str = ""


class Block(NamedTuple):
    """The displayed text, and its lines."""

    text: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Sidecar:
    """The state in the file beside the transcript."""

    processed: float  # number of messages read
    items: tuple[Item, ...]  # lines, oldest first
    updated: float  # last change, in milliseconds since 1970
    version: float = VERSION  # version of the format


def load(file: str | None, now: float, ids: Sequence[str] = ()) -> Sidecar:
    """Read the file; missing or invalid content counts as empty, for any version.

    ``ids`` are the message ids of the lines, which the original does not keep. ``now`` is in
    milliseconds since 1970.
    """
    raw = _parsed(file)
    items, count, updated = (
        raw.get(k) for k in ("items", "lastProcessedMessageCount", "updatedAt")
    )
    texts = [text for text in items if isinstance(text, str)] if isinstance(items, list) else []
    known = ids if len(ids) == len(texts) else [""] * len(texts)
    return Sidecar(
        math.floor(max(_number(count), 0.0)),
        tuple(map(Item, texts, known)),
        _number(updated, now),
    )


def _parsed(file: str | None) -> dict[str, Any]:
    try:
        # JavaScript's numbers are floats, and its JSON has no NaN.
        raw = json.loads(file or "", parse_int=float, parse_constant=_refused)
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(value: object, default: float = 0.0) -> float:
    return value if isinstance(value, float) and math.isfinite(value) else default


def dump(state: Sidecar, now: float) -> str:
    """Write the file, with the current time."""
    lines = ",\n    ".join(_quoted(item.text) for item in state.items)
    items = f"[\n    {lines}\n  ]" if lines else "[]"
    return (
        f'{{\n  "version": {VERSION},\n'
        f'  "lastProcessedMessageCount": {_written(max(0, math.floor(state.processed)))},\n'
        f'  "items": {items},\n  "updatedAt": {_written(now)}\n}}\n'
    )


def _quoted(text: str) -> str:
    """Encode a text as JSON; JavaScript escapes unpaired surrogates."""
    try:
        return msgspec.json.encode(text).decode()
    except UnicodeEncodeError:
        return as_json(text)


def _written(value: float) -> str:
    """Write a whole number as JavaScript does: the shortest digits of the float."""
    shortest = repr(float(value))
    return shortest if value >= 1e21 else str(int(Decimal(shortest)))


def update(
    state: Sidecar,
    messages: Sequence[Message],
    now: float,
    *,
    max_items: float | None = None,
    item_chars: int = ITEM_CHARS,
    hardened: bool = False,
) -> Sidecar:
    """Add a line for each unread message of user and assistant with text.

    A line that equals the last old line is left out; new lines are not compared with each other.
    The newest ``max_items`` lines are kept, 60 if that is None. ``hardened`` ignores messages that
    begin with a block of the sidecar, and starts over when the transcript has become shorter;
    otherwise reading pauses until it is as long again. If nothing is new, the same state object is
    returned.
    """
    if hardened and state.processed > len(messages):
        state = replace(state, processed=0, items=())
    start = max(0, min(state.processed, len(messages)))
    if start >= len(messages):
        return state
    last = state.items[-1].text if state.items else ""
    read = (_item(m, item_chars, hardened) for m in messages[int(start) :])
    items = (*state.items, *(item for item in read if item and item.text != last))
    most = MAX_ITEMS if max_items is None else max_items
    if math.isfinite(most):
        items = items[-max(1, math.floor(most)) :]
    return replace(state, items=items, processed=len(messages), updated=now)


def _item(message: Message, chars: int, hardened: bool) -> Item | None:
    """Return the line of a message; None if it has no user or assistant text."""
    who = speaker(message)
    if not who:
        return None
    # A word and a blank have at least two characters, which limits the number of words.
    words = chars // 2 + 2
    text = " ".join(filter(None, (collapsed(part.text, words) for _, part in spoken(message))))
    if not text or (hardened and text.startswith(HEADER)):
        return None
    return Item(f"{who}: {shortened(text, chars)}", message.id)


def shortened(text: str, chars: int) -> str:
    r"""Cut a text to a number of UTF-16 code units; the last marks the cut.

    Examples
    --------
    >>> shortened("abcd", 4), shortened("abcd", 3), shortened("abcd", 1)
    ('abcd', 'ab…', 'a')
    """
    if utf16_length(text) <= chars:
        return text
    return head(text, chars) if chars <= 1 else head(text, chars - 1) + "\N{HORIZONTAL ELLIPSIS}"


def block(
    items: Sequence[Item], max_chars: float | None = None, instruction: str = INSTRUCTION
) -> Block | None:
    """Write the newest lines that fit below the header, oldest first.

    The limit is ``max_chars`` UTF-16 code units, 1,200 if that is None. The result is None if there
    are no lines, and only the header, cut if necessary, if no line fits.
    """
    if not items:
        return None
    limit: float = MAX_CHARS if max_chars is None else max_chars
    if math.isfinite(limit):
        limit = max(1, math.floor(limit))
    header = f"{HEADER}\n{instruction}"
    total = utf16_length(header) + 1
    if total > limit:
        return Block(shortened(header, int(limit)))
    first = len(items)
    while first:
        total += utf16_length(items[first - 1].text) + 3
        if total > limit:
            break
        first -= 1
    shown = tuple(items[first:])
    return Block("\n".join([header, *(f"- {item.text}" for item in shown)]), shown)


def is_needed(trimmed: bool, pressure: float, threshold: float = THRESHOLD) -> bool:
    """Whether the hardened version shows its lines: history was removed, or the window fills.

    Only the original's threshold is known; reaching it is assumed to be enough.
    """
    return trimmed or pressure >= threshold


# The original's file, and a second one with the message ids of its lines.
FILE = "session.jsonl.summary.json"
_IDS = "session.jsonl.summary.ids.json"
_NAME = "session summary"


@dataclass(frozen=True)
class SummarySidecar(Strategy):
    """Keep a line for each user and assistant message in a separate file, and show the newest.

    After OpenClaw pull request 17345 (never merged). The lines are extracted, not written by a
    model, and kept in a file that rewinds do not change. Before each turn, new messages of the
    session's view are read, except the new prompt.

    ``hardened=False`` is the first version (commit 4c779794), exact except for the second line of
    the block, which has our wording and the original's length. It always inserts the lines into the
    user's new prompt, where they stay. So it reads its own blocks as user text and quotes them in
    the next blocks: a loop. The prompt grows by up to 1,200 characters per turn, and the user's own
    text disappears from the lines. If a rewind or a compaction shortens the view, it reads nothing
    until the view is as long again, and shows old lines.

    ``hardened=True`` is the last version, of which only a report and a test are known, not the
    source. It skips messages that begin with a block, and reads a shortened view again (so after a
    compaction only kept messages have lines). A view of equal length counts as unchanged, so lines
    of an abandoned branch stay. The lines are appended to the system prompt for one turn, if
    another strategy removed messages, or if the pressure reaches the threshold. The original's
    definition of pressure is unknown; here it is pi's estimate of the prompt over the context
    window.

    Both compare a new line only with the last old one. Simplified in both: successive user messages
    are not merged; a line of a message abandoned by a rewind has no known source.

    Parameters
    ----------
    hardened
        The last version, or the first.
    threshold
        Share of the window at which the hardened version shows its lines.
    max_items
        Number of newest lines that are kept.
    item_chars
        Maximum UTF-16 code units of a line.
    max_chars
        Maximum UTF-16 code units of the block.
    """

    does = (Act.NOTE,)
    waits = "another to leave something out; its threshold says how full it must be"

    hardened: bool = True
    threshold: Annotated[float, at_least(0)] = THRESHOLD
    max_items: Annotated[int, at_least(1)] = MAX_ITEMS
    item_chars: Annotated[int, at_least(1)] = ITEM_CHARS
    max_chars: Annotated[int, at_least(1)] = MAX_CHARS
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    breaks = MappingProxyType({"size": "adds a block of notes; pull request 17345"})

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        return Lifetime.TURN if self.hardened else Lifetime.SESSION

    def compact(self, view: View, host: Host) -> View:
        if self.hardened:
            return self._in_system(view, host)
        return self._in_prompt(view, host) if host.phase is Phase.BEFORE_TURN else view

    def _in_prompt(self, view: View, host: Host) -> View:
        state = self._kept_up(view.messages[: current_turn(view.messages)], host)
        shown = self._part(state, host, "\n\n")
        return glued(view, shown) if shown else view

    def _in_system(self, view: View, host: Host) -> View:
        if host.phase is Phase.BEFORE_TURN:
            session = host.session.messages
            state = self._kept_up(session[: current_turn(session)], host)
            host.notes["shown"] = is_needed(
                len(view.messages) < len(session), _pressure(view, host), self.threshold
            )
        elif host.notes.get("shown") and not any(part.name == _NAME for part in view.system):
            state = _loaded(host)  # a compaction within the turn removed the block
        else:
            return view
        shown = self._part(state, host) if host.notes["shown"] else None
        return view.with_system(*view.system, shown) if shown else view

    def _kept_up(self, messages: Messages, host: Host) -> Sidecar:
        before, now = _loaded(host), int(host.now * 1000)
        state = update(
            before,
            messages,
            now,
            max_items=self.max_items,
            item_chars=self.item_chars,
            hardened=self.hardened,
        )
        if state is not before:
            host.files[FILE] = dump(state, now)
            host.files[_IDS] = json.dumps([item.id for item in state.items])
        return state

    def _part(self, state: Sidecar, host: Host, end: str = "") -> Part | None:
        shown = block(state.items, self.max_chars)
        if shown is None:
            return None
        known = {message.id for message in host.log}
        ids = dict.fromkeys(item.id for item in shown.items if item.id in known)
        kind: Kind = "summary" if ids else "synthetic"
        return Part("text", whole(shown.text) + end, kind, tuple(map(Source, ids)), _NAME)


def _pressure(view: View, host: Host) -> float:
    return (estimate_system(view) + view.messages.total(estimate)) / host.window


def _loaded(host: Host) -> Sidecar:
    ids = json.loads(host.files.get(_IDS, "[]"))
    return load(host.files.get(FILE), int(host.now * 1000), ids)
