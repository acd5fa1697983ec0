"""OpenCode: old tool outputs are cleared between turns; if that is not enough, it summarises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import SUMMARY, Message, Part, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import after_results, current_turn, parted
from compactlab.strategies.mechanisms.estimate import at_most, is_little, reported_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.stub import output_tokens, prunable, with_erased
from compactlab.strategies.mechanisms.text import transcript
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at
from compactlab.strategies.openclaw.flush import MemoryFlush

# Tokens of the tail: a quarter of the usable tokens, within these limits (31e22f6).
LEAST, MOST, SHARE = 2000, 15_000, 0.25


def tail_budget(usable: int) -> int:
    """Return the tokens that the tail may have; as ``preserveRecentBudget``."""
    return min(MOST, max(LEAST, int(usable * SHARE)))


def turn_tail(messages: Messages, budget: int) -> int:
    """Return the index at which the newest turns that fit a budget begin; the length if none fits.

    The turn that does not fit may be cut: the end that fits is kept, but no result without its
    call. If everything fits, nothing is kept and all is summarised. As ``select`` (31e22f6), with a
    quarter of the characters as the size of a message.
    """
    starts = [n for n, message in enumerate(messages) if message.starts_turn]
    if not starts:
        return len(messages)
    first = messages.tail_from(size, budget)
    whole = next((n for n in starts if n >= first), len(messages))
    inside = max((n for n in starts if n < whole), default=None)
    if inside is not None:
        first = after_results(messages, max(first, inside + 1))
        whole = min(whole, first)
    return whole or len(messages)


def size(message: Message) -> int:
    """Estimate the tokens of a message as OpenCode does: a quarter of its characters as JSON."""
    chars = len('{"role":"assistant","content":[]}')
    for part in message.parts:
        # Quotes and line breaks are escaped; type, ids and names count, too.
        escapes = part.text.count("\n") + part.text.count('"') + part.text.count("\\")
        named = utf16_length(part.name) + utf16_length(part.call_id)
        chars += 30 + utf16_length(part.text) + escapes + named + 4 * part.size
    return chars // 4


# Our own words; only their length matters.
QUESTION = "What has been done so far?"
GO_ON = "Go on if there is a next step, or ask if it is not clear what to do."
_OUTPUT, _RESERVED = 32_000, 20_000  # limits of the answer and the buffer
_SUMMARY = 4096
_RESULT_CHARS = 2000


@dataclass(frozen=True)
class PruneThenSummarize(Strategy):
    """Clear old tool outputs after each turn; summarise all but a tail when the window fills.

    After OpenCode (``session/compaction.ts`` and ``overflow.ts``, 31e22f6). Outputs older than the
    newest two turns and the newest 40,000 tokens of outputs are cleared if they have more than
    20,000 tokens together; outputs of skills stay. The session is summarised when the last report
    reaches the usable tokens: the window less the longest answer or, if the model has a separate
    limit for prompts, that limit less a buffer (``overflow.ts``, 08f74b9). The new prompt has a
    question with the summary as its answer, the newest turns that fit a quarter of the usable
    tokens, and a request to continue. If a prompt was too large, only the user's message of the
    current turn stays, as in the original; a first turn is summarised.

    Pruning is opt-in in one version and opt-out in another; here it is on. Simplified: sizes of
    messages are a quarter of their characters; plug-ins and stripped media are left out; in a
    narrowed window, answer and buffer have at most a quarter of it each; it does not act if the
    gain would be tiny.

    Parameters
    ----------
    prune
        Whether outputs are cleared.
    protect_tokens
        Tokens of the newest outputs that stay.
    minimum_tokens
        Outputs are cleared only if that frees more tokens than this.
    protected_tools
        Tools whose outputs always stay.
    preserve_recent_tokens
        Tokens of the tail; 0 for a quarter of the usable tokens, between 2,000 and 15,000.
    rides
        ``fresh`` is its mode prepend. ``live`` is its mode suffix, which falls back to a fresh
        request if it does not fit or returns nothing.
    trigger
        Tokens, or a share of the window, at which it summarises; None for the usable tokens.
    """

    does = (Act.CLEAR, Act.SUMMARISE)

    prune: bool = True
    protect_tokens: Annotated[int, at_least(0)] = 40_000
    minimum_tokens: Annotated[int, at_least(0)] = 20_000
    protected_tools: tuple[str, ...] = ("skill",)
    preserve_recent_tokens: Annotated[int, at_least(0)] = 0
    rides: Literal["live", "fresh"] = "fresh"
    trigger: Trigger = None
    phases = frozenset({Phase.BEFORE_CALL, Phase.AFTER_TURN, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "in a long turn the tail begins after it; OpenCode 31e22f6",
            "size": "the line in place of a short output may be longer than that; OpenCode 31e22f6",
        }
    )

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """The reserve for an answer, which is not a field."""
        return {"room for an answer": _OUTPUT}

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.ON_OVERFLOW:
            return self._overflown(view, host)
        tokens = reported_tokens(host)
        full = tokens is not None and tokens >= tokens_at(self.trigger, host, usable(host))
        if host.phase is Phase.AFTER_TURN:
            return view if full else self._pruned(view)
        host.believe(tokens or 0, view)
        return self._summarised(view, host, view.messages) if full else view

    def _pruned(self, view: View) -> View:
        threshold = self.protect_tokens + self.minimum_tokens
        if not self.prune or view.messages.total(output_tokens) <= threshold:
            return view
        places = prunable(
            view.messages,
            protect=self.protect_tokens,
            minimum=self.minimum_tokens,
            exempt=self.protected_tools,
        )
        return view.with_messages(with_erased(view.messages, frozenset(places)))

    def _overflown(self, view: View, host: Host) -> View:
        now = current_turn(view.messages)
        before, spoken = view.messages[:now], view.messages[now : now + 1]
        if not any(message.starts_turn for message in before):
            return self._summarised(view, host, view.messages)
        return self._summarised(view, host, before, spoken)

    def _summarised(
        self, view: View, host: Host, history: Messages, again: Iterable[Message] = ()
    ) -> View:
        """Return the view with a summary of a history, its newest turns, and repeated messages."""
        again = list(again)
        previous, newer = split_previous(history)
        spoken = Messages(newer)
        budget = self.preserve_recent_tokens or tail_budget(usable(host))
        head, tail = parted(spoken, turn_tail(spoken, budget))
        dropped = view.messages[len(history) + len(again) :]
        if is_little(host.count(Messages([*head, *dropped])), host):
            return view
        summary = self._summary(view, host, head, previous)
        answer = summary_message(host, summary, "assistant", lead="")
        question = _client_message(f"{answer.id}/question", QUESTION, host)
        end = again or [_client_message(f"{answer.id}/go-on", GO_ON, host)]
        answered = [answer] if summary else []
        return view.with_messages([question, *answered, *tail, *end])

    def _summary(
        self, view: View, host: Host, head: list[Message], previous: tuple[Part, ...]
    ) -> tuple[Part, ...]:
        if self.rides == "live" and host.count(view) + _SUMMARY <= host.window:
            request = SummaryRequest(tuple(head), _SUMMARY, previous, INSTRUCTIONS, rides="live")
            summary = host.summarize(view, request)
            if summary:
                return summary
        before = "\n".join(part.text for part in previous)
        written = f"{before}\n\n{transcript(head, _RESULT_CHARS)}"
        return host.summarize(
            view, SummaryRequest(tuple(head), _SUMMARY, previous, INSTRUCTIONS, written)
        )


def usable(host: Host) -> int:
    """Return the usable tokens; as ``usable`` of ``overflow.ts`` (08f74b9).

    If the model has a limit for the prompt alone, they are that limit less a buffer; otherwise the
    window less the longest answer, without a buffer.
    """
    answer = min(host.model.max_output or _OUTPUT, at_most(_OUTPUT, host))
    prompt = _prompt_limit(host)
    return max(0, prompt - min(_RESERVED, answer) if prompt else host.window - answer)


def _prompt_limit(host: Host) -> int:
    """Return the limit of a prompt alone; 0 if there is none.

    OpenAI's models leave room for their longest answer. A narrowed window has no such limit.
    """
    model = host.model
    separate = model.provider == "openai" and 2 * model.max_output <= host.window
    return host.window - model.max_output if separate and model.max_output else 0


def _client_message(id: str, text: str, host: Host) -> Message:
    """Make a message of the client."""
    return Message(id, "user", (plain(text),), host.now, meta=True, origin=SUMMARY)


@dataclass(frozen=True)
class Opencode(Agent):
    """OpenCode: clear old tool outputs, then summarise all but the tail.

    After its source at 31e22f6 (2026). Whether it prunes by default changed between versions. Left
    out: plug-ins, except a memory plug-in's reminder in the request.

    Parameters
    ----------
    prune
        Whether old outputs are cleared.
    rides
        ``fresh`` (its ``prepend``) or ``live`` (its ``suffix``).
    memory_plugin
        Whether a plug-in adds a reminder of its memory to the request.
    trigger
        Tokens, or a share of the window, at which it summarises; None for its own rule: the window
        less the longest answer.
    """

    prune: bool = True
    rides: Literal["live", "fresh"] = "fresh"
    memory_plugin: bool = False
    trigger: Trigger = None

    def steps(self) -> tuple[Strategy, ...]:
        """The plug-in, if there is one, and the compaction."""
        hook = (MemoryFlush(profile="hook"),) if self.memory_plugin else ()
        return (*hook, PruneThenSummarize(self.prune, rides=self.rides, trigger=self.trigger))
