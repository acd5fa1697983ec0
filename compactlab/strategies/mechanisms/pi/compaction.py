"""A compaction of pi's in a running session: when it comes, and what the view is after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compactlab.sim.framing import compacted
from compactlab.sim.host import Host
from compactlab.sim.message import FAILED, Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import tail
from compactlab.strategies.mechanisms.estimate import last_usage
from compactlab.strategies.mechanisms.pi.entries import Entry, last_compaction
from compactlab.strategies.mechanisms.pi.file_lists import Files
from compactlab.strategies.mechanisms.pi.preparation import Preparation, at_least, prepare
from compactlab.strategies.mechanisms.pi.trigger import raised_reserve, should_compact

# When pi is asked: after a run of the agent, before the next prompt, and when a provider refuses
# a request. Never between the calls of a turn.
PHASES = frozenset({Phase.AFTER_TURN, Phase.BEFORE_TURN, Phase.ON_OVERFLOW})
# From this version on, an answer that is older than the last compaction triggers none.
STALE_IS_IGNORED = "0.56.3"
SUMMARY = "compactionSummary"

_NOTES = "compaction"
# A provider that refuses a request answers with an error. pi keeps that answer in the session, of
# no weight and with no words, and it is an entry before which a cut may fall.
_REFUSED = Entry("refused", message=Message("refused", "assistant", (), origin="error"))
_TYPES = {"custom": "custom_message", "branchSummary": "branch_summary"}


@dataclass(frozen=True, slots=True)
class Rules:
    """How a session is compacted.

    Parameters
    ----------
    reserve
        Tokens of the window that the context may not grow into.
    keep_recent_tokens
        What the kept tail is to weigh.
    version
        Of pi.
    """

    reserve: float
    keep_recent_tokens: float
    version: str

    @classmethod
    def of(cls, strategy: Any) -> Rules:
        """The rules that a strategy's fields give."""
        reserve = raised_reserve(strategy.reserve_tokens, strategy.reserve_tokens_floor)
        return cls(reserve, strategy.keep_recent_tokens, strategy.version)


@dataclass(frozen=True, slots=True)
class Occasion:
    """A compaction that is about to be made.

    Parameters
    ----------
    view
        What was in context when it was decided.
    arrived
        What has come since and is not looked at: the prompt before which pi compacts.
    prepared
        What is summarised and what is kept.
    kept
        How many messages of the view stay.
    """

    view: View
    arrived: Messages
    prepared: Preparation
    kept: int

    def replaced(self, host: Host, summary: Sequence[Part], files: Files | None = None) -> View:
        """The view with a summary in front of what is kept.

        Results whose call was cut off are left out, as OpenClaw's repair does before it sends.

        Parameters
        ----------
        host
            Keeps the notes.
        summary
            The summary.
        files
            The files that the next compaction carries on; None if it starts anew.
        """
        old, notes = self.view.messages, host.notes.get(_NOTES) or {}
        number = notes.get("number", 0) + 1
        message = Message(
            f"summary-{number}", "user", tuple(compacted(summary)), host.now, True, origin=SUMMARY
        )
        body = old[1:] if _is_summary(old, notes) else old
        cut = len(body) - self.kept
        rest = body.append(*self.arrived)
        rest = tail(rest, cut) if 0 < cut < len(rest) else rest[cut:]
        came = set(map(id, self.arrived))
        host.notes[_NOTES] = {
            "number": number,
            "id": message.id,
            "last": next((m.id for m in reversed(rest) if id(m) not in came), ""),
            "files": [files.read, files.edited] if files else None,
        }
        return View(self.view.system, Messages([message, *rest]))


def occasion(view: View, host: Host, rules: Rules) -> Occasion | None:
    """Say whether it is time to compact, and what; None if it is not.

    Parameters
    ----------
    view
        What is in context.
    host
        Says which moment it is, and what the provider reported.
    rules
        How this session is compacted.
    """
    tokens = last_usage(host)
    if host.phase is not Phase.ON_OVERFLOW and (
        tokens is None or not should_compact(tokens, host.window, rules.reserve)
    ):
        return None
    before = _before(view, host)
    entries = _entries(before, host)
    if host.phase is Phase.ON_OVERFLOW:
        entries.append(_REFUSED)
    elif not _answered(entries, rules.version):
        return None
    answer = next((m for m in reversed(before) if m.call is not None), None)
    prepared = prepare(
        entries,
        rules.keep_recent_tokens,
        rules.version,
        lambda message: tokens if message is answer else None,
    )
    if prepared is None:
        return None
    kept = [
        e for e in entries[prepared.first_kept :] if e.type != "compaction" and e is not _REFUSED
    ]
    arrived = view.messages[len(before) :]
    return Occasion(View(view.system, before), arrived, prepared, len(kept))


def _before(view: View, host: Host) -> Messages:
    """What is in context, without the prompt before which pi compacts."""
    messages = view.messages
    if host.phase is not Phase.BEFORE_TURN:
        return messages
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].starts_turn:
            return messages[:index]
    return messages


def _answered(entries: Sequence[Entry], version: str) -> bool:
    """Whether there is an answer by whose usage one can go, and it is none that failed."""
    start = last_compaction(entries) + 1 if at_least(version, STALE_IS_IGNORED) else 0
    for entry in reversed(entries[start:]):
        if entry.message is not None and entry.message.role == "assistant":
            return entry.message.origin not in FAILED
    return False


def _entries(messages: Messages, host: Host) -> list[Entry]:
    """The session as pi has it: what a compaction kept stands before it, what came later after."""
    notes = host.notes.get(_NOTES) or {}
    if not _is_summary(messages, notes):
        return [_entry(message) for message in messages]
    entries = [_entry(message) for message in messages[1:]]
    kept = next((n + 1 for n, entry in enumerate(entries) if entry.id == notes["last"]), 0)
    files = (
        Files(dict(notes["files"][0]), edited=dict(notes["files"][1])) if notes["files"] else None
    )
    first = entries[0].id if kept else ""
    entries.insert(kept, Entry(notes["id"], "compaction", messages[0], first, files))
    return entries


def _entry(message: Message) -> Entry:
    return Entry(message.id, _TYPES.get(message.origin, "message"), message)


def _is_summary(messages: Messages, notes: dict[str, Any]) -> bool:
    return bool(
        notes and messages and messages[0].id == notes["id"] and messages[0].origin == SUMMARY
    )
