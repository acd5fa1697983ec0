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
from compactlab.strategies.mechanisms.text import as_json, head
from compactlab.strategies.pi.preparation import Preparation, is_at_least

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

# Characters to which pi cuts tool results that it summarises (since 0.56.3).
RESULT_CHARS = 2000
RESULTS_ARE_CUT = "0.56.3"

# Messages with the user role that the model sees; pi drops all others.
_SEEN = {"", "bashExecution", "custom", "branchSummary", "compactionSummary"}


def serialise(messages: Iterable[Message], result_chars: int | None = RESULT_CHARS) -> str:
    """Write messages as text, one block each: pi's ``serializeConversation`` (0.49.3 to 0.73.1).

    A tool's result is cut to ``result_chars`` UTF-16 code units; None, as before pi 0.56.3, means
    no limit.
    """
    return "\n\n".join(block for m in messages for block in _blocks(m, result_chars))


def _blocks(message: Message, result_chars: int | None) -> list[str]:
    def texts(*types: str) -> list[str]:
        return [part.text for part in message.parts if part.type in types]

    if message.role == "user":
        text = "".join(texts("text")) if message.origin in _SEEN else ""
        return [f"[User]: {text}"] if text else []
    if message.role == "tool":
        text = "".join(texts("text", "tool_result"))
        more = utf16_length(text) - result_chars if result_chars is not None else 0
        if result_chars is not None and more > 0:
            cut = head(text, result_chars)
            text = f"{cut}\n\n[... {more} more characters truncated]"
        return [f"[Tool result]: {text}"] if text else []
    labelled = (
        ("[Assistant thinking]: ", "\n", texts("thinking")),
        ("[Assistant]: ", "\n", texts("text")),
        (
            "[Assistant tool calls]: ",
            "; ",
            [_call(p) for p in message.parts if p.type == "tool_call"],
        ),
    )
    return [label + between.join(pieces) for label, between, pieces in labelled if pieces]


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
        raise ValueError("arguments are no object")
    return [(name, as_json(value)) for name, value in values.items()]


# Literals of pi (0.49.3 to 0.73.1).
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


def result_chars(version: str) -> int | None:
    """Return the characters of a tool result in a version's summary requests; None for no limit."""
    return RESULT_CHARS if is_at_least(version, RESULTS_ARE_CUT) else None


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
        # Counting is skipped where possible: a token has at least one character.
        text, window = request.transcript + request.instructions, self.host.window
        if len(text) > window and self.host.count(text) > window:
            return None
        return self._ask(request)

    def prefix(self, messages: Sequence[Message]) -> list[Part]:
        """Request a summary of the first part of a turn: ``generateTurnPrefixSummary``."""
        return self._ask(self._request(messages, (), PREFIX, 0.5))

    def _request(
        self, messages: Sequence[Message], previous: Sequence[Part], instructions: str, share: float
    ) -> SummaryRequest:
        transcript = ""
        if self.rides == "fresh":
            written = serialise(messages, result_chars(self.version))
            transcript = f"<conversation>\n{written}\n</conversation>"
            if before := text_of(previous):
                transcript += f"\n\n<previous-summary>\n{before}\n</previous-summary>"
        return SummaryRequest(
            tuple(messages),
            math.floor(share * self.reserve),
            tuple(part for part in previous if part.sources),
            instructions,
            transcript,
            self.rides,
        )

    def _ask(self, request: SummaryRequest) -> list[Part]:
        return lines(self.host.summarize(self.view, request))


def _instructions(previous: Sequence[Part], focus: str) -> str:
    instructions = UPDATE if text_of(previous) else FIRST
    return f"{instructions}\n\nAdditional focus: {focus}" if focus else instructions


def pi_summary(scribe: Scribe, prepared: Preparation, focus: str = "") -> list[Part]:
    """Summarise a history, and separately the first part of a split turn.

    As pi's ``compact`` (0.49.3 to 0.73.1), without file lists. If a turn is split and no messages
    precede it, the previous summary is dropped. If no turn is split and there is nothing to
    summarise, a summary is requested nevertheless.
    """
    if not (prepared.split and prepared.prefix):
        return scribe.history(prepared.history, prepared.previous, focus)
    before = [plain(NO_HISTORY)]
    if prepared.history:
        before = scribe.history(prepared.history, prepared.previous, focus)
    return [*before, plain(SPLIT_TURN), *scribe.prefix(prepared.prefix)]
