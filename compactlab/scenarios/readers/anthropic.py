"""Anthropic's API: usage, price modifiers and other costs of requests, and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.script import Draft, Script
from compactlab.sim.core.conversation import SideRequest
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call, Usage


class _Written(msgspec.Struct):
    ephemeral_5m_input_tokens: Tokens | None = None
    ephemeral_1h_input_tokens: Tokens | None = None


class _Counted(msgspec.Struct):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_creation: _Written | None = None


class _Iteration(_Counted):
    type: str | None = None
    model: str | None = None


class _ServerTools(msgspec.Struct):
    web_search_requests: Tokens | None = None


class Counts(_Counted):
    """The usage of a call, as the API reports it."""

    speed: str | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    server_tool_use: _ServerTools | None = None
    iterations: list[_Iteration] | None = None

    @property
    def searches(self) -> int:
        return (self.server_tool_use or _ServerTools()).web_search_requests or 0


_USUAL = "standard"  # the speed and the tier with list prices
_PRICED_TIERS = ("batch",)  # a published share of the list price; other tiers are negotiated
_PRICED_PLACES = ("us",)  # regions with a surcharge; elsewhere the list price applies
_USUAL_PLACES = ("", "global", "not_available")
# Requests that are billed but missing in the main counts, with their purposes. The others
# (``message``, ``fallback_message``) are in those counts, or were refused and not billed.
_BESIDE = {"advisor_message": "advisor", "compaction": "compaction"}
WEB_SEARCH = "web_search"
SESSION = "session"  # purpose of requests that only the totals of a session contain


def usage_of(counts: _Counted) -> Usage:
    """Return the tokens of a request by billing class."""
    written = counts.cache_creation or _Written()
    hour, minutes = written.ephemeral_1h_input_tokens or 0, written.ephemeral_5m_input_tokens or 0
    # Old versions report only the total; their lifetime was five minutes.
    rest = max(0, (counts.cache_creation_input_tokens or 0) - hour - minutes)
    cache_misses, read = counts.input_tokens or 0, counts.cache_read_input_tokens or 0
    return Usage(cache_misses, read, minutes + rest, hour, counts.output_tokens or 0)


def ttl_of(usage: Usage) -> Literal["", "5m", "1h"]:
    """Return the lifetime of the cache entries that a request wrote."""
    if usage.cache_write_1h:
        return "1h"
    return "5m" if usage.cache_write_5m else ""


def largest(one: Usage, other: Usage) -> Usage:
    """Return the larger one of each count, because the counts of an unfinished answer grow.

    Examples
    --------
    >>> largest(Usage(3, output=1), Usage(3, output=40))
    Usage(uncached=3, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=40, storage=0)
    """
    return Usage(*map(max, msgspec.structs.astuple(one), msgspec.structs.astuple(other)))


def priced(model: str, counts: Counts) -> str:
    """Return a model's name with its price modifiers: ``NAME+fast``, ``NAME+us``.

    Examples
    --------
    >>> priced("claude-x", Counts(speed="fast", inference_geo="us"))
    'claude-x+fast+us'
    """
    speed, tier, place = counts.speed, counts.service_tier, counts.inference_geo
    if not model:
        return model
    if speed not in (None, "", _USUAL):
        if not speed.isalnum():
            raise InputError(f"{speed!r} is not a speed of a request")
        model += f"+{speed}"
    marks = [mark for mark in (place, tier) if mark in (*_PRICED_PLACES, *_PRICED_TIERS)]
    return "+".join((model, *marks))


def tier_of(counts: Counts) -> str:
    """Return another price modifier (the tier) if it is unusual, else ""."""
    tier, place = counts.service_tier or "", counts.inference_geo or ""
    known = place in (*_USUAL_PLACES, *_PRICED_PLACES)
    return " ".join(filter(None, ("" if tier == _USUAL else tier, "" if known else place)))


def beside(counts: Counts, call: Call, time: float) -> Iterator[SideRequest]:
    """Yield the costs of an answer beyond its tokens: other requests, and web searches."""
    for number, each in enumerate(counts.iterations or (), 1):
        if purpose := _BESIDE.get(each.type or ""):
            yield SideRequest(purpose, _of(call, each.model, usage_of(each), str(number)), time)
    if counts.searches:
        yield SideRequest(WEB_SEARCH, _of(call, None, Usage(), WEB_SEARCH), time, counts.searches)


def _of(call: Call, model: str | None, usage: Usage, mark: str) -> Call:
    id = f"{call.id}:{mark}" if call.id else ""
    return Call(model or call.model, usage, ttl_of(usage), id=id, inherited=call.inherited)


class Total(msgspec.Struct, rename="camel"):
    """A client's total for a model, over all requests of a process or a session."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_input_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens = 0
    web_search_requests: Tokens = 0

    @property
    def prompt(self) -> tuple[int, int, int]:
        return self.input_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens

    @classmethod
    def of(cls, usage: Usage, searches: int = 0) -> Total:
        return cls(usage.uncached, usage.output, usage.cache_read, usage.cache_write, searches)

    def covers(self, other: Total) -> bool:
        return other.less(self) == Total()

    def less(self, other: Total) -> Total:
        return Total(*(max(0, a - b) for a, b in self._pairs(other)))

    def __add__(self, other: Total) -> Total:
        return Total(*(a + b for a, b in self._pairs(other)))

    def _pairs(self, other: Total) -> Iterator[tuple[int, int]]:
        return zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)


def plain_name(model: str) -> str:
    """Return a model's name without modifiers of price or window.

    Examples
    --------
    >>> plain_name("claude-opus-5[1m]"), plain_name("claude-opus-5+fast")
    ('claude-opus-5', 'claude-opus-5')
    """
    return model.partition("+")[0].partition("[")[0]


def totals_of(requests: Iterable[Call | SideRequest]) -> dict[str, Total]:
    """Return the tokens and web searches of requests, by model."""
    totals: dict[str, Total] = {}
    for request in requests:
        searches = request.searches if isinstance(request, SideRequest) else 0
        name, usage = plain_name(_call(request).model), _call(request).usage or Usage()
        totals[name] = totals.get(name, Total()) + Total.of(usage, searches)
    return totals


def by_plain_name(*totals: Mapping[str, Total]) -> dict[str, Total]:
    """Sum totals by the plain names of models."""
    plain: dict[str, Total] = {}
    for model, total in (item for each in totals for item in each.items()):
        plain[plain_name(model)] = plain.get(plain_name(model), Total()) + total
    return plain


def rest_of(
    totals: Mapping[str, Total], requests: Iterable[Call | SideRequest], id: str, time: float
) -> Iterator[SideRequest]:
    """Yield the rest of a session's totals beyond its requests, as one request per model."""
    requests = list(requests)
    known = totals_of(requests)
    hours = any(_call(request).ttl == "1h" for request in requests)
    for model, total in by_plain_name(totals).items():
        rest = total.less(known.get(model, Total()))
        if rest == Total():
            continue
        plain, read, written = rest.prompt
        usage = Usage(plain, read, 0, written, rest.output_tokens)
        if not hours:
            usage = Usage(plain, read, written, output=rest.output_tokens)
        name = f"{id}:{SESSION}:{model}" if id else ""
        call = Call(model, usage, ttl_of(usage), id=name)
        yield SideRequest(SESSION, call, time, rest.web_search_requests)


def _call(request: Call | SideRequest) -> Call:
    return request.call if isinstance(request, SideRequest) else request


# Threads: since 2026-11-02, the body of a request may have a ``thread``. The request that creates
# it contains the whole conversation. One that continues it names the previous answer, and contains
# only the new messages. No body contains the answers, so that the file must have both.

_LACKING = (
    "this is a continued thread of Anthropic's Messages API; its beginning is not in this file"
)


def is_of_thread(value: Any) -> bool:
    """Whether a value is a request body that creates or continues a thread."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return isinstance(value.get("thread"), dict)


class MessageThreads:
    """The threads of a file, from request bodies and answers in order.

    Parameters
    ----------
    begin
        Reads a body that contains a whole conversation.
    add
        Adds a message of a model to a conversation.
    """

    def __init__(
        self, begin: Callable[[Any], Script], add: Callable[[Script, Any, str], object]
    ) -> None:
        self.scripts: list[Script] = []
        self._begin, self._add = begin, add
        self._asked: tuple[Script, str] | None = None  # the script that the next answer belongs to
        self._after: dict[str, tuple[Script, Draft | None]] = {}

    def take(self, value: Any) -> bool:
        if is_of_thread(value):
            self._request(value, str(value.get("model") or ""))
            return True
        if self._asked and isinstance(value, dict) and value.get("role") == "assistant":
            self._answer(value, *self._asked)
            return True
        return False

    def _request(self, body: dict[str, Any], model: str) -> None:
        if body["thread"].get("type") == "create":
            script = self._begin(body)
            self.scripts.append(script)
        else:
            found = self._after.get(body["thread"].get("previous_message_id"))
            if found is None:
                raise RefusedError(_LACKING)
            script, last = found
            if script.last is not last:
                script.rewind(last)
            for message in body["messages"]:
                self._add(script, message, model)
        self._asked = script, model

    def _answer(self, message: dict[str, Any], script: Script, model: str) -> None:
        self._asked = None
        self._add(script, message, model)
        draft, id = script.last, message.get("id")
        if draft is None or not isinstance(id, str):
            return
        self._after[id] = script, draft
        if message.get("usage"):
            counts = msgspec.convert(message["usage"], Counts)
            usage = usage_of(counts)
            name = priced((draft.call or Call()).model, counts)
            draft.call = Call(name, usage, ttl_of(usage), tier=tier_of(counts), id=id)
