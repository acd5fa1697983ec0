"""Codex's experimental context management: a new window instead of a summary, notes and history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, frame
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import TurnRequest
from compactlab.strategies.codex import codex_window, counted_tokens
from compactlab.strategies.mechanisms.estimate import at_most, is_little
from compactlab.strategies.mechanisms.passages import passages
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# `model_messages.token_budget` of the catalogue that Codex's backend serves, the same for
# gpt-6-astra and three of gpt-5.6; read on 2026-09-05 (can1357/oh-my-pi pull request 11043).
REMINDER_TOKENS = 6_144
# The share of the window at which Codex compacts.
_LIMIT = 0.9
# Limits of coder/xum's notes in a new window: 8 KiB, and these tokens (ADR 0005, 0d751d7).
_NOTES_TOKENS = 2_000

# Our own wording, about as long as the original's; no model reads it.
PROMPT = (
    "<context_window_reminder>\nThis context window is nearly full. Do not go on with the task "
    "in it: the next window will not have this conversation. Write one note now with the goal, "
    "what was decided and why, what is done and learnt, what comes next, and which requests of the "
    "user are still open, with the ids by which they can be found in the history. Then ask for a "
    "new context window.\n</context_window_reminder>"
)
LEAD = (
    "<context_window>\nA new context window begins here. What was said in earlier ones can be "
    "searched in the history. Your notes:\n"
)
END = "\n</context_window>"


@dataclass(frozen=True)
class ContextWindows(Strategy):
    """Start an empty window instead of summarising, with notes and a search over the history.

    A reconstruction of Codex's experimental context management
    (``features.context_management.experimental_mode``; openai/codex pull requests 27488, 29743
    and 39827; ``core/src/session/token_budget.rs`` at 54d22e3, ``context_window.rs`` at faae6d9).
    Its prompts, notes and search are on OpenAI's servers and cannot be run here.

    Shortly before nine tenths of the window, a reminder tells the agent to write notes, and the
    agent requests a new window (the tool ``new_context``). This is an extra turn on the live
    prompt: its calls are billed and read the cache. Of the old window, the new one keeps only the
    client's messages at the start of the session, and the user's new message, if any. Within a turn
    even the user's message is gone: only notes or history have it. If the prompt is already too
    large, there is no room for notes.

    Removed messages go into the host's memory as passages, so their facts can be retrieved: in the
    closed loop the agent searches for them, and the search is billed.

    Simplified: the run's summariser writes the notes; the agent requests a new window exactly when
    it is reminded; the new window contains the notes, as in coder/xum (pull request 4097), whereas
    Codex's agent reads them by a call; a search is one call with BM25, whereas Codex's is for
    literal strings and takes several; tool results are fetched by calling the tool again. In a
    narrowed window, reminder and notes have at most a quarter of it each; it does not act if the
    gain would be tiny.

    Parameters
    ----------
    trigger
        Tokens, or the share of the window, at which a window is full
        (``model_auto_compact_token_limit``); None for 90 % of the window that Codex assumes.
    reminder_tokens
        Tokens before the trigger at which the agent is reminded.
    max_notes_tokens
        Maximum tokens of a window's notes, and of the newest notes in the next window.
    passage_chars
        Length of a passage in memory.
    """

    does = (Act.TRUNCATE, Act.NOTE, Act.RETRIEVE)

    trigger: Trigger = None
    reminder_tokens: Annotated[int, at_least(0)] = REMINDER_TOKENS
    max_notes_tokens: Annotated[int, at_least(0)] = _NOTES_TOKENS
    passage_chars: Annotated[int, at_least(100)] = 1_000
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "in the middle of a turn it is left behind; openai/codex 27488"}
    )

    def compact(self, view: View, host: Host) -> View:
        overflow = host.phase is Phase.ON_OVERFLOW
        start = _unanswered(view.messages)
        left, asked = view.messages[:start], view.messages[start:]
        if not overflow and not self._is_due(View(view.system, left), host):
            return view
        said = Messages(message for message in left if not _is_window(message))
        if is_little(host.count(said), host):
            return view
        if not overflow and host.count(view) + host.count(PROMPT) <= host.window:
            host.run_turn(view, self._request(host))
        self._remember(host, {message.id for message in asked})
        host.notes["window"] = host.notes.get("window", 0) + 1
        front = [m for m in _opening(host.log) if left.holds(m)]
        return view.with_messages([*front, self._notes(host), *asked])

    def _is_due(self, known: View, host: Host) -> bool:
        least = self.limit(host) - at_most(self.reminder_tokens, host)
        return counted_tokens(known, host) >= least

    def limit(self, host: Host) -> float:
        """Return the tokens at which a window is full."""
        return tokens_at(self.trigger, host, int(codex_window(host.model) * _LIMIT))

    def _request(self, host: Host) -> TurnRequest:
        most = at_most(self.max_notes_tokens, host)
        return TurnRequest(PROMPT, purpose="notes", max_tokens=most, silent="new_context")

    def _remember(self, host: Host, asked: set[str]) -> None:
        """Put new messages into memory; a rewind does not remove them."""
        known = {
            source.id for note in host.memory if note.topic == "history" for source in note.sources
        }
        left = (m for m in host.log if m.id not in known and m.id not in asked)
        for text, source in passages(left, self.passage_chars):
            host.memory.append(Remembered("history", text, (source,), host.now))

    def _notes(self, host: Host) -> Message:
        """Return the first message of a window: the newest notes that fit, oldest first.

        A note of a branch abandoned by a rewind has no known sources.
        """
        known = {message.id for message in host.log}
        room, parts = at_most(self.max_notes_tokens, host), list[Part]()
        for note in reversed(host.memory):
            if note.topic == "history":
                continue
            text = f"- {note.topic}: {note.text}\n"
            room -= host.count(text)
            if room < 0:
                break
            sources = tuple(source for source in note.sources if source.id in known)
            parts.append(Part("text", text, "memory" if sources else "synthetic", sources))
        told = (frame(LEAD), *reversed(parts), frame(END))
        id = f"window-{host.notes['window']}"
        return Message(id, "user", told, host.now, meta=True)


def _unanswered(messages: Messages) -> int:
    """Return the index after which there are only user messages."""
    index = len(messages)
    while index and messages[index - 1].role == "user" and not _is_window(messages[index - 1]):
        index -= 1
    return index


def _is_window(message: Message) -> bool:
    return message.meta and bool(message.parts) and message.parts[0].text == LEAD


def _opening(log: Messages) -> Iterator[Message]:
    """Yield the client's messages before the user first speaks."""
    for message in log:
        if not message.meta:
            return
        yield message
