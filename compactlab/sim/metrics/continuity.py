"""Continuity: whether request, references and order survive in a prompt."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import le
from statistics import fmean
from typing import NamedTuple

from compactlab.sim.core.conversation import Conversation, keep_latest, walked
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import Messages
from compactlab.sim.metrics.context import forward_need, kept_tail, moments, structural_validity
from compactlab.sim.metrics.drift import Context, Lexicon, terms_of
from compactlab.sim.metrics.metric import OVER_CALLS, Range, metric
from compactlab.sim.metrics.run_data import RECENT, RunData, shared

# Whether a prompt has the content to answer: the request, and results that the model waits for.

# Kinds of parts with a message's own words. A summary may or may not state the request.
_STANDS = frozenset({"verbatim", "truncated", "recovered"})


@metric("calls", "lower", OVER_CALLS)
def request_missing(data: RunData) -> int:
    """Calls whose prompt lacks the newest message that a person typed: a hard failure.

    Only calls of the script count. The message is present if a verbatim, truncated or restored part
    of the prompt comes from it. A summary does not count, because it may omit the request.
    """
    return _missing(data).requests


@metric("calls", "lower", OVER_CALLS)
def pending_missing(data: RunData) -> int:
    """Calls whose prompt lacks a result or message that the model waits for: a hard failure.

    Only calls of the script count. The model waits for the results that arrived since its last
    message, and for that message itself if a call in it has no result and no person has written
    since. Each is present if any of its parts is, verbatim, truncated or restored.
    """
    return _missing(data).pending


class _Missing(NamedTuple):
    """Calls without the newest request, and calls without a pending message."""

    requests: int
    pending: int


@shared
def _missing(data: RunData) -> _Missing:
    requests = pending = 0
    due = _due(data.conversation)
    original = set(map(id, data.conversation.messages))
    standing: dict[str, int] = {}
    for step, gone, come, *_ in data.changes:
        for message in gone:
            for source in (message.id,) if id(message) in original else _left_of(message):
                standing[source] -= 1
        for message in come:
            for source in (message.id,) if id(message) in original else _left_of(message):
                standing[source] = standing.get(source, 0) + 1
        if step.answer in due:
            request, waited = due[step.answer]
            requests += bool(request) and not standing.get(request)
            pending += not all(map(standing.get, waited))
    return _Missing(requests, pending)


def _left_of(message: Message) -> set[str]:
    """The messages of which a strategy's message keeps parts."""
    return {s.id for part in message.parts if part.kind in _STANDS for s in part.sources}


class _Due(NamedTuple):
    """Ids of the messages that a call answers: the newest request, and pending messages."""

    request: str
    waited: tuple[str, ...]


@dataclass
class _Path:
    """The path to a call: the newest request, and the messages from the model's last one on."""

    request: str = ""
    since: tuple[Message, ...] = ()

    def copy(self) -> _Path:
        return replace(self)


@keep_latest
def _due(conversation: Conversation) -> dict[str, _Due]:
    """The messages that each call of a script answers, by the id of its answer."""
    due: dict[str, _Due] = {}
    for path, message in walked(conversation, _Path()):
        if message.call is not None:
            due[message.id] = _Due(path.request, tuple(_waited_for(path.since)))
        path.request = message.id if message.starts_turn else path.request
        path.since = (message,) if message.role == "assistant" else (*path.since, message)
    return due


def _waited_for(since: Sequence[Message]) -> Iterator[str]:
    """Ids of the messages that the model waits for, among those from its last one on."""
    results = [m for m in since if m.role == "tool"]
    yield from (message.id for message in results)
    if since and since[0].role == "assistant" and not any(m.starts_turn for m in since):
        answered = {part.call_id for message in results for part in message.parts}
        if any(p.type == "tool_call" and p.call_id not in answered for p in since[0].parts):
            yield since[0].id


# Whether identifiers in the kept tail are still introduced before it.


@metric("share", "higher", "mean over compactions, 50 at most", label="references")
@shared
def reference_closure(data: RunData) -> float | None:
    """Share of the identifiers in the kept tail whose introduction is still in context.

    At a compaction, the *kept tail* is the longest common ending of prompt and log, unchanged and
    in order, at most ten messages. Its *identifiers* (see below; without thinking) count if an
    earlier message of the log also has them. An identifier is closed if it appears anywhere in the
    prompt before the tail: in a message, a summary, a placeholder, a system block. The others are
    dangling references. At most 50 compactions are evaluated, evenly spread over the run, without
    those whose tail has no such identifiers. Pronouns are not covered, because they have no labels.
    """
    looked_at = moments(data)
    if not looked_at:
        return None
    names = terms_of(data.conversation).names
    introduced, context = _Introduced(names), Context(names)
    shares = []
    for step, _, _, prompt in looked_at:
        length = min(kept_tail(step.log, prompt), RECENT)
        tail, rest = prompt[len(prompt) - length :], prompt[: len(prompt) - length]
        referred = introduced.among(tail, step.log[: len(step.log) - length])
        (stands,) = context.become(rest, step.system)
        if referred:
            shares.append(float((stands[[*referred]] > 0).mean()))
    return fmean(shares) if shares else None


class _Introduced:
    """Follows a log that mostly grows, so that earlier messages are read only once."""

    def __init__(self, names: Lexicon) -> None:
        self._names = names
        self._log = Messages()
        self._known: set[int] = set()

    def among(self, tail: Messages, log: Messages) -> set[int]:
        """The distinct identifiers of some messages that also occur in the log before them."""
        same = self._log.shared(log)
        if same < len(self._log):
            same, self._known = 0, set()
        self._known.update(self._names.of(log[same:]).tolist())
        self._log = log
        return self._known.intersection(self._names.of(tail).tolist())


# Whether surviving parts keep their order.

# Kinds of parts that belong to one message. A summary stands for many, and recalled notes were
# written elsewhere.
_SURVIVES = frozenset({"verbatim", "truncated", "stub", "recovered"})


@metric(
    "ratio",
    "higher",
    "mean over compactions, 50 at most",
    "M. Kendall, A New Measure of Rank Correlation, Biometrika 30, 1938",
    limits=Range(-1.0, 1.0),
)
@shared
def order_fidelity(data: RunData) -> float | None:
    """Kendall's tau between the order of the log and of the prompt, over the surviving parts.

    At a compaction, for verbatim, truncated and restored parts and placeholders, each at the
    position of its log message: the pairs in the log's order less the pairs in the reverse order,
    over all pairs. 1 if all keep their order, -1 if the order is reversed. Parts of the same
    message have no order. Summaries are left out, because they stand for many messages at once. At
    most 50 compactions are evaluated, evenly spread over the run; those with fewer than two
    surviving parts do not count.
    """
    places = _Places()
    taus = [kendall(places.of(prompt, step.log)) for step, _, _, prompt in moments(data)]
    known = [tau for tau in taus if tau is not None]
    return fmean(known) if known else None


def kendall(places: Sequence[int]) -> float | None:
    """Kendall's tau between a sequence of places and its sorted order; equal ones make no pair."""
    pairs = _pairs(len(places)) - sum(map(_pairs, Counter(places).values()))
    if not pairs:
        return None
    if all(map(le, places, places[1:])):
        return 1.0
    turned = 0
    before: list[int] = []
    for place in places:
        turned += len(before) - bisect_right(before, place)
        insort(before, place)
    return (pairs - 2 * turned) / pairs


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


class _Places:
    """The positions of messages in a log that mostly grows."""

    def __init__(self) -> None:
        self._log = Messages()
        self._places: dict[str, int] = {}

    def of(self, prompt: Iterable[Message], log: Messages) -> list[int]:
        """The log positions of surviving parts of a prompt, in the prompt's order."""
        same = self._log.shared(log)
        if same < len(self._log):
            same, self._places = 0, {}
        self._log = log
        for index, message in enumerate(log[same:], same):
            self._places[message.id] = index
        known = self._places
        return [
            known[part.sources[0].id]
            for message in prompt
            for part in message.parts
            if part.kind in _SURVIVES and part.sources and part.sources[0].id in known
        ]


# The weakest of the figures of continuity.

_FIGURES = (structural_validity, reference_closure, forward_need, order_fidelity)


@metric("share", "higher", "minimum of these figures of the run")
def continuity_minimum(data: RunData) -> float | None:
    """The least of structural validity, reference closure, forward need and order fidelity.

    Only figures that have a value count; a negative order fidelity counts as 0. It is not a mean,
    because a valid and ordered prompt without the facts for the next action is not two thirds good.
    """
    values = [value for compute in _FIGURES if (value := compute(data)) is not None]
    return max(0.0, min(values)) if values else None
