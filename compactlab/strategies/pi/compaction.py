"""pi: compaction in a running session: its trigger, and the resulting view."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import FAILED, SUMMARY, Message, Part, compacted
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import tail
from compactlab.strategies.mechanisms.estimate import last_usage
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at
from compactlab.strategies.pi.preparation import (
    Entry,
    Files,
    Preparation,
    file_section,
    is_at_least,
    last_compaction,
    prepare,
)
from compactlab.strategies.pi.summary import Scribe, pi_summary


def should_compact(tokens: float, window: float, reserve: float) -> bool:
    """Whether the context has grown into the reserve: pi's ``shouldCompact`` (0.49.3 to 0.73.1)."""
    return tokens > window - reserve


def raised_reserve(reserve: int, floor: int) -> int:
    """Return the larger of reserve and floor: ``ensurePiCompactionReserveTokens`` (2026.1.29)."""
    return max(reserve, floor)


# From this version on, an answer older than the last compaction triggers no compaction.
STALE_IS_IGNORED = "0.56.3"

_NOTES = "compaction"
# A refused request returns an error. pi keeps it in the session as an answer without tokens or
# text, before which a cut is allowed.
_REFUSED = Entry("refused", message=Message("refused", "assistant", (), origin="error"))
_TYPES = {"custom": "custom_message", "branchSummary": "branch_summary"}


@dataclass(frozen=True, slots=True)
class Occasion:
    """A compaction that is due."""

    view: View  # the context at the decision
    # The prompt before which pi compacts; it is not part of the decision.
    arrived: Messages
    prepared: Preparation  # the messages to summarise and to keep
    kept: int  # number of messages that the view keeps

    def replaced(self, host: Host, summary: Sequence[Part], files: Files | None = None) -> View:
        """Return the view with the summary before the kept messages.

        Results without their call are removed, as in OpenClaw's repair before sending. ``files``
        are the lists for the next compaction; None to start over.
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


class OnPi(Strategy):
    """Base of strategies that compact when and where pi does; subclasses choose what to keep.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, beyond which it is time; None for the window less the
        reserve, which then decides the length of summaries alone.
    reserve_tokens
        Tokens of the window that the context may not grow into.
    reserve_tokens_floor
        OpenClaw raises the reserve to so many tokens.
    keep_recent_tokens
        Estimated tokens of the tail that stays as it is.
    version
        Of pi, see ``auto_compact``.
    """

    # No fields here: each strategy defines their order in its spec.
    trigger: float | None
    reserve_tokens: int
    reserve_tokens_floor: int
    keep_recent_tokens: int
    version: str
    # After the agent's run, before the next prompt, and when a provider refuses a request; never
    # between the calls of a turn.
    phases = frozenset({Phase.AFTER_TURN, Phase.BEFORE_TURN, Phase.ON_OVERFLOW})

    @property
    def reserve(self) -> int:
        """Tokens of the window that the context may not grow into, at least the floor."""
        return raised_reserve(self.reserve_tokens, self.reserve_tokens_floor)

    def compact(self, view: View, host: Host) -> View:
        now = _occasion(view, host, self)
        return view if now is None else self.compacted(now, view, host)

    @abstractmethod
    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        """Return the view with its old part replaced, or the same view if nothing changes."""


def _occasion(view: View, host: Host, rules: OnPi) -> Occasion | None:
    """Return the compaction that is due; None if none is due."""
    tokens = last_usage(host)
    reserve = host.window - tokens_at(rules.trigger, host, host.window - rules.reserve)
    if host.phase is not Phase.ON_OVERFLOW and (
        tokens is None or not should_compact(tokens, host.window, reserve)
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
    retained = [
        e for e in entries[prepared.first_kept :] if e.type != "compaction" and e is not _REFUSED
    ]
    arrived = view.messages[len(before) :]
    return Occasion(View(view.system, before), arrived, prepared, len(retained))


def _before(view: View, host: Host) -> Messages:
    """Return the context without the prompt before which pi compacts."""
    messages = view.messages
    if host.phase is not Phase.BEFORE_TURN:
        return messages
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].starts_turn:
            return messages[:index]
    return messages


def _answered(entries: Sequence[Entry], version: str) -> bool:
    """Whether the latest answer, which has the usage, exists and did not fail."""
    start = last_compaction(entries) + 1 if is_at_least(version, STALE_IS_IGNORED) else 0
    for entry in reversed(entries[start:]):
        if entry.message is not None and entry.message.role == "assistant":
            return entry.message.origin not in FAILED
    return False


def _entries(messages: Messages, host: Host) -> list[Entry]:
    """Return pi's session entries: a compaction comes after the messages that it kept."""
    notes = host.notes.get(_NOTES) or {}
    if not _is_summary(messages, notes):
        return [_entry(message) for message in messages]
    entries = [_entry(message) for message in messages[1:]]
    count = next((n + 1 for n, entry in enumerate(entries) if entry.id == notes["last"]), 0)
    files = (
        Files(dict(notes["files"][0]), edited=dict(notes["files"][1])) if notes["files"] else None
    )
    first = entries[0].id if count else ""
    entries.insert(count, Entry(notes["id"], "compaction", messages[0], first, files))
    return entries


def _entry(message: Message) -> Entry:
    return Entry(message.id, _TYPES.get(message.origin, "message"), message)


def _is_summary(messages: Messages, notes: dict[str, Any]) -> bool:
    return bool(
        notes and messages and messages[0].id == notes["id"] and messages[0].origin == SUMMARY
    )


@dataclass(frozen=True)
class AutoCompact(OnPi):
    """Summarise what is older than the tail once the context has grown into the reserve.

    pi's compaction (``@mariozechner/pi-coding-agent``), with the floor that OpenClaw puts under
    its reserve. Exact: token estimates, trigger, cut point, what is summarised and what is kept,
    the two summaries of a turn that is cut in two, the previous summary, file lists, limits of
    length, and the text that a summary is asked for with, but for the wording of the instructions.

    pi looks at the window after a run of the agent and before the next prompt, by the usage of the
    last answer, that answer included and the new prompt not. Between the calls of a turn it does
    not look: in a long turn it compacts only when the provider refuses a request, once, and sends
    that request again. The refusal stays in the session as an empty answer, so that even a turn
    that ends in results larger than the tail can be cut then: nothing but the summary is left.
    Without a refusal, such results at the end keep everything (see ``find_cut_point``), and a
    summary of nothing is asked for and put in front.

    Simplified: a refusal comes when the prompt is larger than the window, by the model's own
    count; requests have no system prompt (some 80 tokens in the original) and no thinking; an
    interrupted answer that nothing was billed for is not looked at.

    Parameters
    ----------
    reserve_tokens_floor
        OpenClaw raises the reserve to so many tokens; 0 for pi alone.
    version
        Of pi. ``0.49.3`` (what OpenClaw had in January 2026): what one compaction had kept, the
        next neither summarises nor keeps, so that it is silently lost; tool results are summarised
        in full. ``0.58.0`` (March 2026): the same, but results are cut to 2,000 characters and a
        usage that is older than the last compaction counts no more. ``0.73.1``: what was kept is
        summarised.
    file_lists
        Whether the files that were read and changed are listed under the summary.
    rides
        ``fresh``, as pi does: a request for a summary has a prompt of its own. ``live``: it rides
        on the live prompt and reads the cache.
    trigger
        Tokens, or a share of the window, beyond which it is time; None for the window less the
        reserve, which beside a trigger decides how long summaries may be alone.
    """

    does = (Act.SUMMARISE,)

    reserve_tokens: Annotated[int, at_least(0)] = 16_384
    reserve_tokens_floor: Annotated[int, at_least(0)] = 20_000
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.73.1"
    file_lists: bool = True
    rides: Literal["live", "fresh"] = "fresh"
    trigger: Trigger = None

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where nothing can be cut off, a summary comes on top of everything (all)",
        }
    )

    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        scribe = Scribe(now.view, host, self.reserve, self.version, self.rides)
        summary = pi_summary(scribe, now.prepared)
        files = now.prepared.files.carried()
        listed = file_section(files) if self.file_lists else []
        return now.replaced(host, [*summary, *listed], files if self.file_lists else None)


@dataclass(frozen=True)
class Pi(Agent):
    """pi's own compaction, with its own reserve and nothing around it.

    Parameters
    ----------
    version
        Of the package; see ``auto_compact``.
    trigger
        Tokens, or a share of the window, beyond which it compacts; None for the window less
        16,384, its ``compaction.reserveTokens``.
    """

    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.73.1"
    trigger: Trigger = None

    def steps(self) -> tuple[Strategy, ...]:
        return (AutoCompact(reserve_tokens_floor=0, version=self.version, trigger=self.trigger),)
