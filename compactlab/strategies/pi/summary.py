"""Summaries of the old part of a history, and the requests for them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from compactlab.sim.core.message import Message, Part, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.text import LONE, as_json, head
from compactlab.strategies.pi.preparation import Preparation, follows

# The instructions for a summary. The wording is our own, about as long as pi's, because it is
# billed; the sections are pi's.

_SECTIONS = """\
## Goal
What the user wants to reach; several points if there were several tasks.

## Constraints & Preferences
- What the user demands, forbids or likes; "none" if nothing of the kind was said.

## Progress
### Done
- [x] What is finished

### In Progress
- [ ] What is being worked on

### Blocked
- What keeps the work from going on

## Key Decisions
- **What was decided**: and why, in a few words

## Next Steps
1. What comes next, in order

## Critical Context
- Data, examples and references without which nobody could go on; "none" if there are none

Write no more than is needed. Paths, names of functions and error messages stand exactly as they \
were."""

FIRST = f"""\
Above stands a conversation. Write a checkpoint of it, from which another model can go on with \
the work without having seen a word of the conversation. Use these headings, all of them and in \
this order:

{_SECTIONS}"""

UPDATE = f"""\
Above stand the messages that came after a checkpoint, and the checkpoint itself in \
<previous-summary>. Bring the checkpoint up to date:
- what it holds stays in it
- what the new messages add goes in: progress, decisions, things to know
- what was finished moves from "In Progress" to "Done"
- the next steps follow from what was done
- paths, names of functions and error messages stand exactly as they were
- only what no longer matters may be dropped

Use these headings, all of them and in this order; under each goes what was there before and what \
is new:

{_SECTIONS}"""

PREFIX = """\
Above stands the first part of a turn that is too long to be kept. Its second part, the newest \
work, is kept as it is. Write what one must know of the first part to understand the second:

## Original Request
What the user asked for in this turn

## Early Progress
- What was decided and done in this part

## Context for Suffix
- What the kept part builds on

Be brief: only what makes the kept part understandable."""

# Since 0.87.1, instead of the text before: about as long as pi's, again.
BEGINNING = """\
# Instructions
Above stands an earlier piece of a conversation that goes on. What came after it is kept as it \
is, word for word, and nobody asks you to tell it again.

Write a short checkpoint of what the user wanted and of what has been done. It will be put before \
the later messages, so that the work can go on with what it needs to know:

## Original Request
What the user asked for

## Progress So Far
- What was decided and finished in these messages

## Context Needed to Continue
- What one must know of these messages to understand the later work

Tell only what stands above in so many words. Do not guess at the later messages, and do not make \
them up."""

# OpenClaw's safeguard uses the request for a history also for the first part of a turn, with this
# text at its end.
TURN_PREFIX = (
    "What stands above is only the first part of a turn, whose second part is kept as it is. Keep "
    "to what was asked for, what was done first, and what the second part builds on."
)
MERGE = (
    "What stands above are summaries of parts of one conversation. Make one summary of them. Keep "
    "decisions, what is to be done, open questions, and what must be observed."
)
# OpenClaw's additional instructions since March 2026: five headings, and unchanged identifiers.
STRUCTURE = (
    "Use these headings as well, in this order: ## Decisions, ## Open TODOs, ## Constraints/Rules, "
    "## Pending user asks, ## Exact identifiers. Leave none of them out; write that there is "
    "nothing where there is nothing. Under the last one, and wherever else they occur, give ids, "
    "addresses, hashes, paths, dates and numbers exactly as they were, and neither shorten nor "
    "rebuild them."
)


# Messages as text, for a summary request with its own prompt.

RESULT_CHARS = 2000  # length to which pi cuts tool results that it summarises

# Messages with the user role that the model sees; pi drops all others.
_SEEN = {"", "bashExecution", "custom", "branchSummary", "compactionSummary"}


def serialise(messages: Iterable[Message], version: str) -> str:
    """Write messages as text, one block each: pi's ``serializeConversation`` (0.49.3 to 1.6.0).

    Tool results are cut to 2,000 UTF-16 code units since 0.56.3; thinking is left out since 1.2.0.
    """
    return "\n\n".join(block for m in messages for block in _blocks(m, version))


def _blocks(message: Message, version: str) -> list[str]:
    def texts(*types: str) -> list[str]:
        return [part.text for part in message.parts if part.type in types]

    if message.role == "user":
        text = "".join(texts("text")) if message.origin in _SEEN else ""
        return [f"[User]: {text}"] if text else []
    if message.role == "tool":
        text = _shortened("".join(texts("text", "tool_result")), version)
        return [f"[Tool result]: {text}"] if text else []
    calls = [_call(part) for part in message.parts if part.type == "tool_call"]
    thinking = [] if follows(version, "thinking is left out") else texts("thinking")
    labelled = (
        ("[Assistant thinking]: ", "\n", thinking),
        ("[Assistant]: ", "\n", texts("text")),
        ("[Assistant tool calls]: ", "; ", calls),
    )
    return [label + between.join(pieces) for label, between, pieces in labelled if pieces]


def _shortened(text: str, version: str) -> str:
    more = utf16_length(text) - RESULT_CHARS
    if more <= 0 or not follows(version, "results are cut"):
        return text
    cut = head(text, RESULT_CHARS)
    if follows(version, "characters stay whole") and LONE.match(cut[-1]):
        cut = cut[:-1]
    return f"{cut}\n\n[... {more} more characters truncated]"


def _call(part: Part) -> str:
    try:
        arguments = _arguments(part.text)
    except (ValueError, RecursionError):
        return f"{part.name}({part.text})"
    inside = ", ".join(f"{name}={value}" for name, value in arguments)
    return f"{part.name}({inside})"


def _arguments(text: str) -> list[tuple[str, str]]:
    """Write the arguments of a call, each value as JSON."""
    try:
        raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return [(name, bytes(value).decode()) for name, value in raw.items()]
    except ValueError:
        # The decoder rejects unpaired surrogates, which JavaScript writes as escapes.
        values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("arguments are not an object")
    return [(name, as_json(value)) for name, value in values.items()]


# Literals of pi (0.49.3 to 1.6.0).
NO_HISTORY = "No prior history."
SPLIT_TURN = "\n\n---\n\n**Turn Context (split turn):**\n\n"


def text_of(parts: Iterable[Part]) -> str:
    """Join the text of parts."""
    return "".join(part.text for part in parts)


def lines(parts: Iterable[Part]) -> list[Part]:
    """Put each part on its own line."""
    apart: list[Part] = []
    for part in parts:
        apart += [plain("\n"), part] if apart else [part]
    return apart


# Constants of pi-ai 1.6.0 for the size of a request: characters per token, characters of the system
# prompt, margins between request, answer and window, and the longest answer of a model without a
# limit.
_CHARS, _SYSTEM_CHARS = 3.5, 310
_MARGIN, _SHARE, _AMPLE = 4096, 0.15, 32_768
_OUTPUT = 16_384


def longest_summary(characters: int, window: int, output: int) -> int:
    """Return the limit of a summary: the longest answer, or the remaining window if that is less.

    As ``clampMaxTokensToContext`` (pi-ai 1.6.0). It is at least 1, which is too little for any
    summary.

    Parameters
    ----------
    characters
        Length of the request in UTF-16 code units.
    window, output
        Tokens of the model's window and of its longest answer.
    """
    size = math.ceil(_SYSTEM_CHARS / _CHARS) + math.ceil(characters / _CHARS)
    room = window - size - max(_MARGIN, math.ceil(size * _SHARE))
    if room < _AMPLE:
        room = min(_AMPLE, window - size - _MARGIN)
    return min(output, max(1, room))


def textless(messages: Iterable[Message]) -> int:
    """Count the tokens of parts without known text, which a request would contain, too."""
    return sum(
        min(part.size, RESULT_CHARS // 4) if message.role == "tool" else part.size
        for message in messages
        for part in message.parts
        if part.type in ("text", "tool_result")
    )


class NoSummary(Exception):  # noqa: N818
    """A request for a summary was refused, or its answer was cut off (since 0.84.3)."""


@dataclass(frozen=True, slots=True)
class Scribe:
    """Requests summaries as pi does."""

    view: View  # the live prompt
    host: Host  # makes and bills the requests
    reserve: float  # reserved tokens of the window; they limit the length of summaries
    version: str  # of pi
    # The form of a request, see :class:`compactlab.sim.replay.summarize.SummaryRequest`.
    rides: Literal["live", "fresh"] = "fresh"

    def history(
        self, messages: Sequence[Message], previous: Sequence[Part] = (), focus: str = ""
    ) -> list[Part]:
        """Request a summary of messages that updates the previous one: ``generateSummary``."""
        return self._ask(self._request(messages, previous, _instructions(previous, focus), 0.8))

    def history_that_fits(
        self, messages: Sequence[Message], previous: Sequence[Part] = (), focus: str = ""
    ) -> list[Part] | None:
        """Request a summary; None if the provider refuses because the window is too small."""
        request = self._request(messages, previous, _instructions(previous, focus), 0.8)
        return self._ask(request) if self._fits(request) else None

    def prefix(self, messages: Sequence[Message], focus: str = "") -> list[Part]:
        """Request a summary of the first part of a turn: ``generateTurnPrefixSummary``."""
        headed = follows(self.version, "a split turn has headings")
        focus = focus if follows(self.version, "a split turn has a focus") else ""
        instructions = _focused(BEGINNING if headed else PREFIX, focus)
        return self._ask(self._request(messages, (), instructions, 0.5))

    def _request(
        self, messages: Sequence[Message], previous: Sequence[Part], instructions: str, share: float
    ) -> SummaryRequest:
        transcript = ""
        if self.rides == "fresh":
            headed = instructions.startswith(BEGINNING)
            transcript = self._written(messages, previous, headed)
        limit = math.floor(share * self.reserve)
        if follows(self.version, "summaries are not capped"):
            length = utf16_length(f"{transcript}\n\n{instructions}") + 4 * textless(messages)
            output = self.host.model.max_output or _OUTPUT
            limit = longest_summary(length, self.host.window, output)
        return SummaryRequest(
            tuple(messages),
            limit,
            tuple(part for part in previous if part.sources),
            instructions,
            transcript,
            self.rides,
            marked=self.rides == "live" or not follows(self.version, "summaries are unmarked"),
        )

    def _written(self, messages: Sequence[Message], previous: Sequence[Part], headed: bool) -> str:
        written = serialise(messages, self.version)
        if headed:
            return f"# Conversation\n{written}"
        transcript = f"<conversation>\n{written}\n</conversation>"
        if before := text_of(previous):
            transcript += f"\n\n<previous-summary>\n{before}\n</previous-summary>"
        return transcript

    def _ask(self, request: SummaryRequest) -> list[Part]:
        strict, count = follows(self.version, "cut summaries are refused"), self.host.count
        if strict and not self._fits(request, textless(request.messages)):
            raise NoSummary
        summary = self.host.summarize(self.view, request)
        if strict and max(1, sum(map(count, summary))) >= request.max_tokens:
            raise NoSummary
        return lines(summary)

    def _fits(self, request: SummaryRequest, more: int = 0) -> bool:
        """Whether the window has room for a request with a prompt of its own, and more tokens."""
        # Counting is skipped where possible: a token has at least one character.
        text, window = request.transcript + request.instructions, self.host.window - more
        return len(text) <= window or self.host.count(text) <= window


def _instructions(previous: Sequence[Part], focus: str) -> str:
    return _focused(UPDATE if text_of(previous) else FIRST, focus)


def _focused(instructions: str, focus: str) -> str:
    return f"{instructions}\n\nAdditional focus: {focus}" if focus else instructions


def pi_summary(scribe: Scribe, prepared: Preparation, focus: str = "") -> list[Part]:
    """Summarise a history, and separately the first part of a split turn.

    As pi's ``compact`` (0.49.3 to 1.6.0), without file lists. If a turn is split and no messages
    precede it, the previous summary is dropped; since 0.87.0 it stays. If no turn is split and
    there is nothing to summarise, a summary is requested nevertheless.
    """
    if not (prepared.split and prepared.prefix):
        return scribe.history(prepared.history, prepared.previous, focus)
    stays = follows(scribe.version, "previous summaries stay") and text_of(prepared.previous)
    before = list(prepared.previous) if stays else [plain(NO_HISTORY)]
    if prepared.history:
        before = scribe.history(prepared.history, prepared.previous, focus)
    return [*before, plain(SPLIT_TURN), *scribe.prefix(prepared.prefix, focus)]
