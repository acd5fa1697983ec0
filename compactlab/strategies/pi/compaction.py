"""pi's compaction in a running session: its trigger, and the resulting view."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from compactlab.sim.core.limits import Limit, at_least
from compactlab.sim.core.message import FAILED, SUMMARY, Message, Part, compacted
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import tail
from compactlab.strategies.mechanisms.estimate import (
    estimate_context,
    estimate_pictured,
    last_usage,
)
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at
from compactlab.strategies.pi.preparation import (
    Entry,
    Files,
    Preparation,
    file_section,
    follows,
    last_compaction,
    prepare,
)
from compactlab.strategies.pi.summary import NoSummary, Scribe, pi_summary


def should_compact(tokens: float, window: float, reserve: float) -> bool:
    """Whether the context has grown into the reserve: pi's ``shouldCompact`` (0.49.3 to 1.6.0)."""
    return tokens > window - reserve


def raised_reserve(reserve: int, floor: int) -> int:
    """Return the larger of reserve and floor: ``ensurePiCompactionReserveTokens`` (2026.1.29)."""
    return max(reserve, floor)


def budgets(
    reserve: int, keep: int, overrides: Iterable[tuple[str, int, int]], model: str
) -> tuple[int, int]:
    """Return the reserve and the tail of a model: ``getCompactionSettings`` (0.86.0 to 1.6.0).

    ``overrides`` are models with both values; pi allows either to be left out.
    """
    return {name: (own, tail) for name, own, tail in overrides}.get(model, (reserve, keep))


def within_run(messages: Messages, answer: int) -> bool:
    """Whether tool results wait for the next answer, so that pi checks the context (since 0.84.4).

    A user message sent meanwhile comes later.
    """
    return messages[answer].origin not in FAILED and any(
        message.role == "tool" for message in messages[answer + 1 :]
    )


Version = Literal["0.49.3", "0.58.0", "0.73.1", "1.6.0"]


def _are_overrides(value: Any) -> bool:
    return all(
        isinstance(each, tuple)
        and [type(item) for item in each] == [str, int, int]
        and min(each[1:]) >= 0
        for each in value
    )


Overrides = Annotated[
    tuple[tuple[str, int, int], ...],
    Limit(
        "of a model's name with two numbers of tokens each, ('name', 16384, 20000)", _are_overrides
    ),
]

_NOTES = "compaction"
# A refused request returns an error. pi keeps it in the session as an answer without tokens or
# text, before which a cut is allowed.
_REFUSED = Entry("refused", message=Message("refused", "assistant", (), origin="error"))
# Since 0.87.0 an edit takes it out of the context again.
_OMITTED = Entry("omitted", "context_edit", target=_REFUSED.id)
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
        Tokens, or a share of the window, beyond which it compacts; None for the window less the
        reserve. With a trigger, the reserve only limits the length of summaries.
    reserve_tokens
        Tokens of the window kept free.
    reserve_tokens_floor
        Minimum to which OpenClaw raises the reserve.
    keep_recent_tokens
        Estimated tokens of the tail, which stays unchanged.
    version
        pi's version, see ``auto_compact``.
    """

    # No fields here: each strategy defines their order in its spec.
    trigger: float | None
    reserve_tokens: int
    reserve_tokens_floor: int
    keep_recent_tokens: int
    version: str
    model_overrides: tuple[tuple[str, int, int], ...] = ()

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """The moments of a check: see ``auto_compact``."""
        within = {Phase.BEFORE_CALL} if follows(self.version, "it looks within turns") else set()
        return frozenset({Phase.AFTER_TURN, Phase.BEFORE_TURN, Phase.ON_OVERFLOW} | within)

    @property
    def reserve(self) -> int:
        """Tokens of the window kept free, at least the floor."""
        return raised_reserve(self.reserve_tokens, self.reserve_tokens_floor)

    def compact(self, view: View, host: Host) -> View:
        now = _occasion(view, host, self)
        return view if now is None else self.compacted(now, view, host)

    @abstractmethod
    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        """Return the view with its old part replaced, or the same view if nothing changes."""


def _occasion(view: View, host: Host, rules: OnPi) -> Occasion | None:
    """Return the compaction that is due; None if none is due."""
    overflow, version = host.phase is Phase.ON_OVERFLOW, rules.version
    reserve, keep = budgets(
        rules.reserve, rules.keep_recent_tokens, rules.model_overrides, host.model.name
    )
    before, edited = _before(view, host), follows(version, "edits")
    answer = next((n for n in _backwards(before) if before[n].call is not None), -1)
    context = View(view.system, before)
    tokens = _tokens(context, answer, host) if edited else last_usage(host)
    host.believe(tokens or 0, context)
    limit = tokens_at(rules.trigger, host, host.window - reserve)
    if not overflow and (
        tokens is None or not should_compact(tokens, host.window, host.window - limit)
    ):
        return None
    entries = _entries(before, host)
    if overflow:
        entries += [_REFUSED, _OMITTED] if edited else [_REFUSED]
    elif not edited and not _answered(entries, version):
        return None
    used = last_usage(host)
    prepared = prepare(
        entries,
        keep,
        version,
        lambda m: used if answer >= 0 and m is before[answer] else None,
        _front(view),
    )
    if prepared is None:
        return None
    retained = [
        entry
        for entry in entries[prepared.first_kept :]
        if entry.type not in ("compaction", "context_edit") and entry is not _REFUSED
    ]
    arrived = view.messages[len(before) :]
    return Occasion(context, arrived, prepared, len(retained))


def _backwards(messages: Messages) -> Iterator[int]:
    return iter(range(len(messages) - 1, -1, -1))


def _tokens(view: View, answer: int, host: Host) -> float | None:
    """Return the tokens in context as pi knows them (1.6.0); None if it does not check.

    After a run, and before a prompt, this is only the usage of the last answer; within a run, later
    messages are added. Answers older than the last compaction are ignored.
    """
    messages, phase = view.messages, host.phase
    since = messages[answer + 1 :]
    if phase is Phase.ON_OVERFLOW or answer < 0:
        return None
    if phase is Phase.BEFORE_CALL and any(message.starts_turn for message in since):
        return None
    used = last_usage(host)
    last = (host.notes.get(_NOTES) or {}).get("last")
    fresh = all(message.id != last for message in messages[answer:])
    if not within_run(messages, answer):
        aborted = phase is Phase.AFTER_TURN and messages[answer].origin == "aborted"
        return used if fresh and not aborted and phase is not Phase.BEFORE_CALL else None
    if not fresh:
        return _front(view) + messages.total(estimate_pictured)
    return estimate_context(since, lambda _: None, estimate_pictured).tokens + (used or 0)


def _front(view: View) -> int:
    """Estimate the system prompt, as one message."""
    return -(-sum(utf16_length(part.text) + 4 * part.size for part in view.system) // 4)


def _before(view: View, host: Host) -> Messages:
    """Return the context without the prompt before which pi compacts."""
    messages = view.messages
    if host.phase is not Phase.BEFORE_TURN:
        return messages
    start = next((n for n in _backwards(messages) if messages[n].starts_turn), len(messages))
    return messages[:start]


def _answered(entries: Sequence[Entry], version: str) -> bool:
    """Whether the latest answer, which has the usage, exists and did not fail."""
    start = last_compaction(entries) + 1 if follows(version, "stale usage is ignored") else 0
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
    """Summarise all but the tail when the context grows into the reserve.

    pi's compaction (``@earendil-works/pi-coding-agent``, until 0.73.1 ``@mariozechner/...``), with
    OpenClaw's minimum for its reserve. Exact: token estimates, trigger, cut point, summarised and
    kept messages, the separate summary of a split turn, the previous summary, file lists, limits of
    length, and the text of summary requests, except the instructions' wording.

    pi checks the context after a run of the agent and before the next prompt, by the usage of the
    last answer, without the new prompt; since 0.84.4 also between tool results and the next answer,
    with an estimate of the results. A refused request is repeated once, after a compaction. Until
    0.73.1 the refusal stays in the session as an empty answer, so results larger than the tail can
    then be removed; otherwise everything is kept, below a summary of nothing. Since 0.86.0 such
    results keep their call, and everything before it is summarised; since 0.87.0 the refusal is
    removed again.

    Simplified: a prompt is refused if it exceeds the window, by the model's own count; summary
    requests have no system prompt (some 80 tokens in the original) and no thinking; interrupted
    answers that were not billed are ignored; a failed answer has the usage of its call. Since
    0.84.3 a summary that reaches its limit is discarded, and nothing is compacted; simulated
    summaries mostly fit. Left out: truncated answers, which pi requests again after a compaction,
    and changes of its system prompt.

    Parameters
    ----------
    reserve_tokens_floor
        Minimum to which OpenClaw raises the reserve; 0 for plain pi.
    version
        pi's version. ``0.49.3`` (OpenClaw's in January 2026): messages kept by one compaction are
        neither summarised nor kept by the next, so they are silently lost; tool results are
        summarised in full. ``0.58.0`` (March 2026): the same, but results are cut to 2,000
        characters, and usage from before the last compaction is ignored. ``0.73.1`` (May): kept
        messages are summarised. ``1.6.0`` (November): pi also checks within turns, and summaries
        may be as long as the model's answers; docs/strategies.md has the other changes.
    file_lists
        Whether read and changed files are listed after the summary.
    rides
        ``fresh``, as pi: a summary request has a prompt of its own. ``live``: it extends the live
        prompt and reads the cache.
    trigger
        Tokens, or a share of the window, beyond which it compacts; None for the window less the
        reserve. With a trigger, the reserve only limits the length of summaries, until 1.3.0.
    model_overrides
        Models with another reserve and tail, ``(("gpt-5.5", 50_000, 20_000),)``: the setting
        ``compaction.modelOverrides`` (since 0.86.0).
    """

    does = (Act.SUMMARISE,)

    reserve_tokens: Annotated[int, at_least(0)] = 16_384
    reserve_tokens_floor: Annotated[int, at_least(0)] = 20_000
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    version: Version = "0.73.1"
    file_lists: bool = True
    rides: Literal["live", "fresh"] = "fresh"
    trigger: Trigger = None
    model_overrides: Overrides = ()

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The rules of the contract that a version breaks."""
        cut = "a cut may fall inside a turn: its beginning is summarised (all)"
        size = "where little can be cut off, a summary may be larger than that (all)"
        large = self.keep_recent_tokens >= 20_000 and self.reserve >= 16_384
        rare = large and not self.model_overrides and follows(self.version, "nothing is refused")
        return {"last user message": cut} | ({} if rare else {"size": size})

    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        scribe = Scribe(now.view, host, self.reserve, self.version, self.rides)
        try:
            summary = pi_summary(scribe, now.prepared)
        except NoSummary:
            return view
        files = now.prepared.files.carried()
        listed = file_section(files) if self.file_lists else []
        return now.replaced(host, [*summary, *listed], files if self.file_lists else None)


@dataclass(frozen=True)
class Pi(Agent):
    """pi: summarise all but a recent tail when the context grows into its reserve.

    Parameters
    ----------
    version
        The package's version; see ``auto_compact``.
    trigger
        Tokens, or a share of the window, beyond which it compacts; None for the window less
        16,384, its ``compaction.reserveTokens``.
    model_overrides
        Its ``compaction.modelOverrides``; see ``auto_compact``.
    """

    version: Version = "1.6.0"
    trigger: Trigger = None
    model_overrides: Overrides = ()

    def steps(self) -> tuple[Strategy, ...]:
        return (
            AutoCompact(
                reserve_tokens_floor=0,
                version=self.version,
                trigger=self.trigger,
                model_overrides=self.model_overrides,
            ),
        )
