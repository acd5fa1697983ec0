"""OpenAI's Codex CLI: user messages are kept, a summary or an opaque item replaces the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, plain, remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.models.model import Model
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, history_end, unanswered
from compactlab.strategies.mechanisms.estimate import (
    at_most,
    capped,
    defaults,
    estimate_system,
    is_little,
    known_tokens,
    reported_tokens,
)
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    fitting,
    is_summary,
    live_request,
    summary_message,
)
from compactlab.strategies.mechanisms.sealed import Item, sealed, size_of
from compactlab.strategies.mechanisms.text import without_middle
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# Codex CLI estimates one token per four bytes of UTF-8.
_BYTES = 4
_OPENAI = "openai"


def approx_tokens(text: str) -> int:
    """Estimate tokens as a quarter of the bytes, rounded up; as ``approx_token_count``."""
    return -(-len(_utf8(text)) // _BYTES)


def user_words(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that a person typed, with their text only, in order."""
    typed = [m for m in messages if m.starts_turn and not is_summary(m)]
    return [words for words in map(_text_alone, typed) if words.parts]


def newest_words(messages: Sequence[Message], max_tokens: int) -> list[Message]:
    """Return the newest messages within a budget; the oldest of them loses its middle.

    As ``build_compacted_history`` of codex-rs (0100b10).
    """
    newest: list[Message] = []
    remaining = max_tokens
    for message in reversed(messages):
        if remaining <= 0:
            break
        tokens = approx_tokens(message.text)
        if tokens > remaining:
            newest.append(shortened(message, remaining))
            break
        newest.append(message)
        remaining -= tokens
    return newest[::-1]


def shortened(message: Message, tokens: int) -> Message:
    """Cut the middle of a message, so that a number of tokens remains.

    Bytes of UTF-8 are counted, and no character is split; as ``truncate_text`` of codex-rs. The
    longest of several parts is cut.
    """
    parts = list(message.parts)
    index = max(range(len(parts)), key=lambda n: len(parts[n].text))
    others = sum(approx_tokens(p.text) for n, p in enumerate(parts) if n != index)
    budget = max(tokens - others, 0) * _BYTES
    text = parts[index].text
    total = len(_utf8(text))
    head, tail = _fits(text, budget // 2), _fits(text[::-1], budget - budget // 2)
    marker = f"…{-(-max(total - budget, 0) // _BYTES)} tokens left out…"
    parts[index] = without_middle(message, index, head, tail, marker)
    return Message(message.id, message.role, tuple(parts), message.time, origin=message.origin)


def _fits(text: str, budget: int) -> int:
    """Return the number of leading characters within a number of bytes."""
    if text.isascii():
        return min(len(text), budget)
    used = count = 0
    for character in text:
        used += len(_utf8(character))
        if used > budget:
            break
        count += 1
    return count


def _text_alone(message: Message) -> Message:
    words: tuple[Part, ...] = tuple(p for p in message.parts if p.type == "text" and p.text)
    if len(words) == len(message.parts):
        return message
    return Message(message.id, message.role, words, message.time, origin=message.origin)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ``comp_hash`` of OpenAI's models in Codex 0.171.0 (npm, 2026-11-20): a history can only go on
# under a model with the same hash. Other models have none, and are not compared.
_NEW = "3000"
_HASHES = {
    "gpt-5-5": "2911", "gpt-5-6-sol": _NEW, "gpt-5-6-terra": _NEW, "gpt-5-6-luna": _NEW,
    "gpt-6-astra": _NEW, "gpt-6-sol": _NEW, "gpt-6-luna": _NEW, "gpt-6-1-sol": _NEW,
    "gpt-6-1-terra": _NEW, "gpt-6-2-sol": _NEW, "gpt-6-2-astra": _NEW,
}  # fmt: skip


def comp_hash(model: Model) -> str:
    """Return a model's ``comp_hash``; "" if none is known."""
    return _HASHES.get(model.name.partition("+")[0].partition("@")[0], "")


def codex_window(model: Model) -> int:
    """Return the window that Codex takes a model to have."""
    return min(model.window, model.client_window or model.window)


Switch = Literal["hash", "any", "never"]


def switched(host: Host, asked: Messages, rule: Switch) -> str:
    """Return the previous model if its history must be compacted for the next; else "".

    At the beginning of a turn, as ``maybe_run_previous_model_inline_compact``.
    """
    now = [host.model.name, comp_hash(host.model), host.thinking]
    before = host.notes.get("under", now)
    host.notes["under"] = now
    if not any(message.starts_turn for message in asked):
        return ""
    other = all((before[1], now[1])) and before[1] != now[1]
    anything = before[0] != now[0] or (all((before[2], now[2])) and before[2] != now[2])
    known: str = before[0]
    return known if (rule == "hash" and other) or (rule == "any" and anything) else ""


# Introduces the summary, as in Codex; our own wording.
LEAD = "Another agent has worked on this and leaves you its notes; go on from there:"
_MAX_TOKENS = 16_000  # the original sets no limit


@dataclass(frozen=True)
class UserWords(Strategy):
    """Keep the user's words verbatim, the newest first, and end with a summary.

    The local compaction of Codex CLI (codex-rs 0100b10, ``compact.rs``): one hand-over summary
    replaces all answers and tool results. The client's messages at the start of a session stay
    first, because Codex would build them again. The request is the live history without tools; if
    it is too large, it omits the oldest items. An empty summary is accepted.

    Before a new turn, the new user message follows the summary. The user's images are lost, as in
    the original. Simplified: in a narrowed window the user's words have by default at most a
    quarter of it; it does not act if the gain would be tiny. ``endpoint_compaction`` is the
    compaction on the server; the one without a summary is not built.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; at most and by default 90 % of the
        window, as Codex caps ``model_auto_compact_token_limit`` (``auto_compact_token_limit`` of
        ``openai_models.rs``).
    user_tokens
        Tokens of the user's messages that are kept; the oldest loses its middle.
    tools
        Whether the request has the tools, so that it reads the cache. Codex's has none, and pays
        for the whole history (openai/codex issue 37305, of 0.146.1).
    reinject
        Whether the client's messages at the start of a session, such as AGENTS.md, stay first, as
        in the original.
    switch
        When a turn under another model begins with a compaction, by the model before: ``hash`` if
        the two cannot read each other's history (``comp_hash``), ``any`` at any change of model or
        of effort, ``never``.
    """

    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    user_tokens: Annotated[int, at_least(0)] = 20_000
    tools: bool = False
    reinject: bool = True
    switch: Switch = "hash"
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "one that is longer than the budget is cut; codex-rs 0100b10"}
    )

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """The default for user messages, which is capped."""
        return defaults(self, "user_tokens")

    def compact(self, view: View, host: Host) -> View:
        start = unanswered(view.messages)
        history, asked = view.messages[:start], view.messages[start:]
        before = switched(host, asked, self.switch)
        overflow = host.phase is Phase.ON_OVERFLOW
        full = overflow or known_tokens(view, host) >= limit_of(self.trigger, host)
        if not full and not before:
            return view
        if overflow:
            # The new user message alone may exceed the limit.
            history, asked = view.messages, view.messages[:0]
        front = _opening(history) if self.reinject else 0
        words = newest_words(user_words(history[front:]), capped(self, "user_tokens", host))
        if is_little(host.count(history[front:]) - host.count(Messages(words)), host):
            return view
        request = fitting(View(view.system, history), host, INSTRUCTIONS)
        if not self.tools:
            request = _without_tools(request)
        most = host.model.max_output or _MAX_TOKENS
        summary = host.summarize(
            request, replace(live_request(request.messages, most), model=before)
        )
        last = summary_message(host, summary, lead=LEAD)
        return view.with_messages([*history[:front], *words, last, *asked])


def limit_of(trigger: float | None, host: Host) -> float:
    """Return the trigger in tokens; as ``auto_compact_token_limit``, never above its maximum."""
    most = codex_window(host.model) * 9 // 10
    return min(tokens_at(trigger, host, most), most)


def _without_tools(view: View) -> View:
    """Return a prompt without tools: as tools come first, it shares no cached prefix."""
    return view.with_system(plain("no tools"), *view.system)


def _opening(messages: Messages) -> int:
    """Count the client's messages before the user first speaks."""
    index = 0
    while index < len(messages) and messages[index].meta and not is_summary(messages[index]):
        index += 1
    return index


# Ratio of Codex's estimate of a reasoning item, by its encrypted length, to its billed tokens; and
# tokens of a compaction item. Fitted on seven recorded compactions.
REASONING, ITEM_TOKENS = 1.25, 2200
_RETAINED = 64_000
_WORDS = "user words"


@remembered
def reasoning_tokens(message: Message) -> int:
    """Return the tokens of a message's reasoning."""
    thinking = (part for part in message.parts if part.type == "thinking")
    return sum(part.size or approx_tokens(part.text) for part in thinking)


@remembered
def item_tokens(message: Message) -> int:
    """Estimate a message by its bytes, without the JSON around it, which Codex also counts."""
    return sum(approx_tokens(part.text) + part.size for part in message.parts)


def counted_tokens(view: View, host: Host, reasoning: float = REASONING) -> int:
    """Return Codex's count of context tokens; as ``get_total_token_usage`` (``history.rs``).

    It is the last report, plus estimates of later messages, plus estimates of earlier turns'
    reasoning: the provider drops reasoning from the prompt, but Codex counts it.
    """
    earlier = view.messages[: current_turn(view.messages)].total(reasoning_tokens)
    reported, new = reported_tokens(host), view.messages[history_end(view.messages) :]
    if reported is None:
        reported, new = estimate_system(view), view.messages
    counted = reported + new.total(item_tokens) + round(reasoning * earlier)
    host.believe(counted, view)
    return counted


@dataclass(frozen=True)
class EndpointCompaction(Strategy):
    """Let the provider compact to an encrypted item, and keep the user's words.

    The remote compaction of Codex CLI (codex-rs 009bd87, ``compact_remote_v2.rs``): the request is
    the live prompt with the tools and a trigger at its end, so it reads the cache. The answer is
    one encrypted item. The new prompt has the user's newest messages, up to 64,000 tokens, and then
    the item. The client's messages at the start of a session are inserted again: within a turn
    before the user's last message, so that the item comes last; before a new turn after the item.

    The trigger is nine tenths of the window that Codex assumes, which is smaller than that of
    OpenAI's models (``client_window`` of the catalogue: 272,000 tokens, 500,000 from GPT-6.1 on
    except Astra; its logs show 95 % of that). A turn under another model may also trigger it
    (``switch``). It counts the last report, messages after the last answer, and the reasoning of
    earlier turns, which the report omits, but not the user's new message.

    Simplified: the item has the size of recorded ones, and the sources of the summariser's text in
    an unknown state; everything else is lost. Or its kind was measured. The summariser's text is
    billed as output, because no usage of such a request is recorded. If the history is too large,
    the request omits its oldest messages (the original shortens tool outputs). A switch to a model
    with a smaller window compacts under the new model. It does not act if the gain would be tiny,
    not even at a switch.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; at most and by default 90 % of the
        window that Codex assumes.
    item_tokens
        Tokens of the compaction item, if its kind is unknown.
    tools
        Whether the request has the tools; if not, it differs from the first token on and reads
        nothing from the cache (codex-rs 683f0a6, early 2026).
    others
        Compaction under models that are not OpenAI's: ``local``, or ``remote`` too.
    reinject
        Whether the client's messages at the start of a session, such as AGENTS.md, are inserted
        again, as in the original.
    item
        The kind of the item: ``unknown``, or ``project``, ``short`` or ``long``, whose sizes and
        retention were measured (:mod:`~compactlab.strategies.mechanisms.sealed`).
    switch
        When a turn under another model begins with a compaction, by the model before: ``hash`` if
        the two cannot read each other's history (``comp_hash``), ``any`` at any change of model or
        of effort, ``never``.
    """

    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    item_tokens: Annotated[int, at_least(1)] = ITEM_TOKENS
    tools: bool = True
    others: Literal["local", "remote"] = "remote"
    reinject: bool = True
    item: Item = "unknown"
    switch: Switch = "hash"
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "one that is longer than the budget is cut; codex-rs 009bd87",
            "order": "what the client said first is put in anew, further back; codex-rs 009bd87",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        if self.others == "local" and host.model.provider != _OPENAI:
            local = UserWords(self.trigger, reinject=self.reinject, switch=self.switch)
            return local.compact(view, host)
        overflow = host.phase is Phase.ON_OVERFLOW
        start = len(view.messages) if overflow else unanswered(view.messages)
        history, asked = view.messages[:start], view.messages[start:]
        known = View(view.system, history)
        before = "" if overflow else switched(host, asked, self.switch)
        full = overflow or counted_tokens(known, host) >= limit_of(self.trigger, host)
        if not full and not before:
            return view
        kept = newest_words(_retained(history), at_most(_RETAINED, host))
        front = list(host.log[: _opening(host.log)]) if self.reinject else []
        after = host.count(Messages([*front, *kept])) + size_of(self.item, self.item_tokens)
        if is_little(host.count(history) - after, host):
            return view
        item = self._item(known, host, before)
        if item is None:
            return view
        if asked and history[-1].role == "assistant":
            return view.with_messages([*kept, item, *front, *asked])
        return view.with_messages([*kept[:-1], *front, *kept[-1:], item, *asked])

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """The default for user messages, which is lower if Codex compacts locally."""
        if self.others == "remote":
            return {_WORDS: _RETAINED}
        return {f"{_WORDS} under models of OpenAI": _RETAINED,
                f"{_WORDS} under other models": UserWords.user_tokens}  # fmt: skip

    def _item(self, known: View, host: Host, before: str) -> Message | None:
        """Make the item, whose sources the summariser provides; None without a summary."""
        asked = fitting(known, host, "")
        if not self.tools:
            asked = _without_tools(asked)
        most = size_of(self.item, self.item_tokens)
        request = replace(live_request(asked.messages, most, instructions=""), model=before)
        summary = host.summarize(asked, request)
        if not summary:
            return None
        item = sealed(self.item, summary, asked.messages, self.item_tokens, host)
        return summary_message(host, (item,), lead="")


def _retained(messages: Messages) -> list[Message]:
    """Return the messages of a person, with images."""
    return [message for message in messages if message.starts_turn and not is_summary(message)]


@dataclass(frozen=True)
class Codex(Agent):
    """Codex CLI: keep the user's words, and have the provider or a summary replace the rest.

    For OpenAI's models the provider's endpoint compacts (``supports_remote_compaction``), for
    others Codex itself. After codex-rs at 0100b10 and 009bd87 (2026). Left out: the route without
    a summary.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it compacts; None for 90 % of the window, the
        maximum of Codex (``model_auto_compact_token_limit`` sets it).
    route
        ``remote`` compacts by the provider's endpoint (``endpoint_compaction``), ``local`` by a
        summary of its own (``user_words``), ``auto`` by the endpoint for OpenAI's models only.
    reinject
        Whether the client's messages at the start of a session, such as AGENTS.md, are inserted
        again after a compaction.
    item
        The kind of the endpoint's item, as of ``endpoint_compaction``.
    switch
        When a turn under another model begins with a compaction: ``hash``, as in 0.171.0; ``any``,
        as reported for 0.145 (openai/codex issue 33833); ``never``.
    """

    trigger: Trigger = None
    route: Literal["auto", "remote", "local"] = "auto"
    reinject: bool = True
    item: Item = "unknown"
    switch: Switch = "hash"

    def steps(self) -> tuple[Strategy, ...]:
        if self.route == "local":
            return (UserWords(self.trigger, reinject=self.reinject, switch=self.switch),)
        others: Literal["local", "remote"] = "local" if self.route == "auto" else "remote"
        return (
            EndpointCompaction(
                self.trigger,
                others=others,
                reinject=self.reinject,
                item=self.item,
                switch=self.switch,
            ),
        )
