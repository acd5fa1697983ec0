"""Gemini CLI: the older part of the history is summarised, and the summary is verified."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, NamedTuple

import msgspec

from compactlab.sim.core.limits import above, at_least
from compactlab.sim.core.message import Message, Part, Source, frame, plain, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import history_end, parted
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.handover import live_request, summary_message
from compactlab.strategies.mechanisms.text import (
    LONE,
    holds,
    with_parts,
    without_middle,
)
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# @google/gemini-cli-core 0.61.0: an output that does not fit keeps this many characters (a fifth of
# them from its beginning), and fewer if the window has little room, at four per token. Estimates
# count a quarter of a token per character, 1.5 if it is not ASCII, and above a maximum length
# always a quarter.
KEPT_CHARS = 40_000
_CHARS_PER_TOKEN = 4
_MARKER = 200  # a cut text exceeds the limit by the note that replaces the middle
_HEAD = 0.2
_ASCII, _OTHER, _LONG = 0.25, 1.5, 100_000
_IMAGE = 3000
AROUND = len('{"role":,"parts":[]}')
_quote = json.JSONEncoder(ensure_ascii=False).encode


class Content(NamedTuple):
    """The data of a content that the search for a cut needs."""

    first: int  # index of its first message
    model: bool  # whether it has the model role
    results: bool  # whether it has tool results, like every tool message
    calls: bool
    chars: int  # of its JSON, in UTF-16 code units


def split_point(contents: Sequence[Content], fraction: float) -> int:
    """Return the index of the oldest content to keep; as ``findCompressSplitPoint`` (0.61.0).

    ``fraction`` is the share of characters to remove. The cut is at the first user content without
    function responses that has at least this share before it. If there is none, everything is
    removed (the index is the number of contents) when the last content is the model's and calls no
    function; otherwise the cut is at the last such user content.
    """
    target = sum(content.chars for content in contents) * fraction
    last = before = 0
    for index, content in enumerate(contents):
        if not content.model and not content.results:
            if before >= target:
                return index
            last = index
        before += content.chars
    if contents and contents[-1].model and not contents[-1].calls:
        return len(contents)
    return last


def history_split(history: Messages, fraction: float) -> int:
    """Return the index of the oldest message to keep of a history.

    The history has no thoughts. Consecutive messages without an answer between them are one
    content: a tool's result and the user's next message, or the results of several calls.
    """
    contents = curated(history)
    index = split_point(contents, fraction)
    if index == len(contents):
        return len(history)
    return contents[index].first if index else 0


def curated(history: Messages) -> list[Content]:
    """Return the client's contents of a history (``getHistory(true)``, 0.61.0)."""
    contents: list[Content] = []
    for index, message in enumerate(history):
        chars = _spoken_chars(message)
        if not chars:
            continue
        model = message.role == "assistant"
        results = message.role == "tool" or holds(message, "tool_result")
        calls = holds(message, "tool_call")
        last = contents[-1] if contents else None
        if last is not None and last.model == model:
            results, calls = results or last.results, calls or last.calls
            contents[-1] = Content(last.first, model, results, calls, last.chars + chars)
        else:
            # One comma less than parts.
            around = AROUND - 1 + quoted("model" if model else "user")
            contents.append(Content(index, model, results, calls, around + chars))
    return contents


@remembered
def _spoken_chars(message: Message) -> int:
    """Count the characters of a message's parts except thoughts, with a comma each; 0 for none."""
    return sum(part_chars(part) + 1 for part in message.parts if part.type != "thinking")


def part_chars(part: Part) -> int:
    """Count the characters (UTF-16) of a part as JSON of Gemini's API."""
    id = len('"id":,') + quoted(part.call_id) if part.call_id else 0
    if part.type == "tool_call":
        around = len('{"functionCall":{"name":,"args":}}')
        return around + id + quoted(part.name) + utf16_length(part.text or "{}")
    if part.type == "tool_result":
        key = "error" if part.is_error else "output"
        around = len('{"functionResponse":{"name":,"response":{"":}}}') + len(key)
        return around + id + quoted(part.name) + quoted(part.text)
    if part.type == "image":
        return len('{"inlineData":{}}') + 4 * part.size
    thought = len('"thought":true,') if part.type == "thinking" else 0
    return len('{"text":}') + thought + quoted(part.text) + 4 * part.size


def quoted(text: str) -> int:
    """Return the length of a text in `JSON.stringify` form: lone surrogates are escaped."""
    written = _quote(text)
    lone = 0 if text.isascii() else len(LONE.findall(text))
    return utf16_length(written) + 5 * lone


def estimate_text(text: str) -> float:
    """Estimate the tokens of a text as Gemini CLI does, without rounding."""
    length = utf16_length(text)
    if text.isascii() or length > _LONG:
        return length * _ASCII
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only * _ASCII + (length - ascii_only) * _OTHER


def estimate(history: Messages) -> int:
    """Estimate the tokens of a history as Gemini CLI does: the sum is rounded down."""
    return history.total(_quarters) // 4


@remembered
def _quarters(message: Message) -> int:
    """Return quarters of tokens of a message; the history has no thoughts."""
    quarters = 0
    for part in message.parts:
        if part.type == "image":
            quarters += 4 * _IMAGE
        elif part.type == "tool_result":
            wrapped = len('{"error":}' if part.is_error else '{"output":}') + quoted(part.text)
            quarters += utf16_length(part.name) + wrapped + 4 * part.size
        elif part.type == "tool_call":
            quarters += part_chars(part)
        elif part.type == "text":
            quarters += round(4 * estimate_text(part.text)) + 4 * part.size
    return quarters


def within_budget(messages: Messages, host: Host, budget: int, most: int = KEPT_CHARS) -> Messages:
    """Keep the newest tool outputs whole up to a budget; cut older long ones.

    The removed text stays in a file and can be fetched again by its path. As
    ``truncateHistoryToBudget`` (0.61.0); an output of up to ``most`` characters is never cut.
    """
    used, changed = 0, {}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role != "tool":
            continue
        parts = list(message.parts)
        for index in range(len(parts) - 1, -1, -1):
            if parts[index].type != "tool_result":
                continue
            tokens = math.floor(estimate_text(_written(parts[index])))
            if used + tokens > budget:
                parts[index] = _beyond(message, index, host, most)
                tokens = math.floor(estimate_text(parts[index].text))
            used += tokens
        if (shorter := with_parts(message, parts)) is not message:
            changed[place] = shorter
    return messages.replace(changed)


def _written(part: Part) -> str:
    """Return a result as the client reads it: a failed one is multi-line JSON without output."""
    return f'{{\n  "error": {_quote(part.text)}\n}}' if part.is_error else part.text


def _beyond(message: Message, index: int, host: Host, most: int) -> Part:
    """Handle a result beyond the budget: a long one is cut, a failed one becomes a plain output.

    If the prompt exceeds the window, ``most`` is negative. JavaScript's ``slice`` then counts both
    ends from the other side: most results become empty, and parts of very long ones may occur
    twice.
    """
    part = message.parts[index]
    length = len(part.text)
    if length <= most + (_MARKER if part.kind in ("truncated", "stub") else 0):
        if not part.is_error or part.kind != "verbatim":
            return part
        return msgspec.structs.replace(part, text=_written(part), kind="truncated", is_error=False)
    head = math.floor(most * _HEAD)
    tail = most - head
    head = head if head >= 0 else max(length + head, 0)
    tail = tail if tail > 0 else max(length + tail, 0)
    path = f"tool-outputs/{message.id}-{index}.txt"
    host.files.setdefault(path, part.text)
    left_out = length - most
    marker = f"\n\n[{left_out} characters left out; all of it is in {path}]\n\n"
    if head or tail or part.kind != "verbatim":
        shorter = without_middle(message, index, head, tail, marker)
    else:
        sources = (Source(message.id, index),)
        shorter = msgspec.structs.replace(part, text=marker, kind="stub", sources=sources)
    return msgspec.structs.replace(shorter, is_error=False, handle=part.handle or path)


# Our own wording; only its length matters.
SYSTEM = (
    "You keep the record of an agent's work. You are given what was said so far and answer with a "
    "snapshot of its state: goal, facts that must not be lost, files and what was done to them, "
    "what was tried, and the plan with what is done of it. An older snapshot is carried on."
)
VERIFY = (
    "Look at your snapshot again. If a path, a name, a number, a result or a wish of the user is "
    "missing or could be said more exactly, answer with a better one; else with the same."
)
# Tokens (o200k) by which the original's instructions are longer than ours.
_LONGER = Part("text", "", "opaque", (), name="instructions", size=610)
ACKNOWLEDGED = "Understood, I go on from there."
_MAX_TOKENS = 8192  # the original sets no limit
_TRIGGER = 0.5  # its DEFAULT_COMPRESSION_TOKEN_THRESHOLD
# Limits of one read by its file-reading tool, from its fileUtils.
_READ_LINES, _READ_CHARS = 2_000, 2_000


@dataclass(frozen=True)
class FractionSplit(Strategy):
    """Summarise the older 70 % of the history by characters, in two calls.

    Gemini CLI's chat compression (``@google/gemini-cli-core`` 0.61.0), before every call, on the
    history without new messages and without thoughts. The cut point and the cutting of tool outputs
    before it are exact. A request with a prompt of its own makes the summary; a second one, which
    continues the first, checks it. The summary comes first, with an acknowledging answer of the
    model. If the history would grow, the summary is discarded, and from then on only tool outputs
    are cut. An empty summary is discarded, and requested again at the next call.

    Simplified: the client's text about the environment is not inserted again; a shortened output is
    not shortened again for its note; histories that grow by our count, but not by Gemini's
    estimate, are discarded, too.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; None for half of the window.
    preserve
        Minimum share of the characters that stay, above 0 and below 1.
    output_budget
        Tokens of tool outputs that stay whole; older ones above 40,000 characters lose their
        middle.
    verify
        Whether the second request is made.
    """

    does = (Act.SUMMARISE, Act.OFFLOAD)

    trigger: Trigger = _TRIGGER
    preserve: Annotated[float, above(0, below=1)] = 0.3
    output_budget: Annotated[int, at_least(0)] = 50_000
    verify: bool = True

    breaks = MappingProxyType(
        {
            "last user message": "all of a finished turn may be summarised; gemini-cli-core 0.61.0",
            "size": "what failed becomes JSON where it does not fit; gemini-cli-core 0.61.0",
        }
    )

    def fetch(self, handle: str, host: Host) -> str | None:
        """Return the removed part of an output, as Gemini CLI's ``read_file`` would.

        It returns 2,000 lines of 2,000 characters. A real agent can read on; ours does not.
        """
        text = host.files.get(handle)
        if text is None:
            return None
        lines = text.splitlines()[:_READ_LINES]
        return "\n".join(line[:_READ_CHARS] for line in lines)

    def compact(self, view: View, host: Host) -> View:
        before = _prompt_tokens(view, host)
        host.believe(before, view)
        end = history_end(view.messages)
        if before < tokens_at(self.trigger, host, _TRIGGER * host.window) or not end:
            return view
        history, pending = view.messages[:end], view.messages[end:]
        most = min(KEPT_CHARS, _CHARS_PER_TOKEN * (host.window - before))
        short = within_budget(history, host, self.output_budget, most)
        if host.notes.get("inflated"):
            smaller = estimate(short) < before
            return view.with_messages([*short, *pending]) if smaller else view
        cut = history_split(short, 1 - self.preserve)
        if not cut:
            return view
        snapshot = self._snapshot(view, host, history[:cut], short[:cut])
        if not snapshot:
            return view
        first = summary_message(host, snapshot, lead="")
        model = Message(
            f"{first.id}/answer", "assistant", (frame(ACKNOWLEDGED),), host.now, meta=True
        )
        _, rest = parted(short.append(*pending), cut)
        after = Messages([first, model, *rest])
        size = estimate(after[: len(after) - len(pending)])
        # Failures converted to JSON add a few tokens, which is not the summary's fault.
        if size > before or host.count(after) > host.count(Messages([*short, *pending])):
            host.notes["inflated"] = True
            return view
        return view.with_messages(after)

    def _snapshot(
        self, view: View, host: Host, whole: Messages, short: Messages
    ) -> tuple[Part, ...]:
        """Summarise the older part, with uncut outputs if they fit."""
        old = whole if estimate(whole) < host.window else short
        live = View((plain(SYSTEM), _LONGER), without_thoughts(old))
        most = host.model.max_output or _MAX_TOKENS
        request = live_request(old, most)
        summary = host.summarize(live, request)
        if not self.verify:
            return summary
        if summary:
            live = live.append(Message("snapshot", "assistant", summary, host.now, meta=True))
        before = summary or request.previous
        again = replace(request, previous=before, instructions=VERIFY)
        return host.summarize(live, again) or summary


def _prompt_tokens(view: View, host: Host) -> int:
    """Return the tokens of the last prompt; after a compaction, an estimate of the history."""
    if host.reported is not None and not is_stale(host):
        return host.reported.prompt
    if host.reported is None:
        return 0
    return estimate(view.messages[: history_end(view.messages)])


def without_thoughts(messages: Messages) -> Messages:
    """Return messages for the summariser; messages of thoughts alone are removed."""
    spoken = (
        with_parts(message, [part for part in message.parts if part.type != "thinking"])
        for message in messages
    )
    return Messages(message for message in spoken if message.parts)


@dataclass(frozen=True)
class GeminiCli(Agent):
    """Gemini CLI: at half of the window, summarise the older part and verify the summary.

    After v0.61 (2026). Left out: its service that masks tool outputs, and the newer profiles, which
    render the context anew.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it compresses; None for half of the window
        (``model.compressionThreshold`` sets the share in its settings).
    """

    trigger: Trigger = _TRIGGER

    def steps(self) -> tuple[Strategy, ...]:
        return (FractionSplit(self.trigger),)
