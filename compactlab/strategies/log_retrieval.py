"""Retrieval over the log by BM25: the baseline of benchmarks for long conversations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import ranked
from compactlab.sim.core.tokens import chars4
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, exchanges, tail
from compactlab.strategies.mechanisms.estimate import at_most, is_little, known_tokens
from compactlab.strategies.mechanisms.handover import glued
from compactlab.strategies.mechanisms.passages import Passage, passages
from compactlab.strategies.mechanisms.text import spoken
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

OPENS, CLOSES = "<earlier_messages>\n", "\n</earlier_messages>\n\n"
_TRIGGER = 0.85  # our own choice; the benchmarks retrieve from the beginning
_QUERY_CHARS = 4_000


def newest(messages: Sequence[Message], turns: int = 1) -> str:
    """Return the search query: the user's new message, or the last messages within a turn.

    Within a turn it is the user's message and the last exchange: the agent's text and the arguments
    of its tool calls, without results.
    """
    prompt = messages[:turns]
    last = exchanges(messages)[-1][:1] if len(messages) > turns else []
    texts = [part.text for message in prompt for _, part in spoken(message)]
    texts += [part.text for m in last for part in m.parts if part.type in ("text", "tool_call")]
    return "\n".join(texts)[:_QUERY_CHARS]


def best(found: Iterable[Passage], tokens: int) -> list[Passage]:
    """Return the first passages that fit a budget, at four characters per token."""
    taken = []
    for passage in found:
        size = chars4(passage.text)
        if size <= tokens:
            tokens -= size
            taken.append(passage)
    return taken


@dataclass(frozen=True)
class LogRetrieval(Strategy):
    """Keep the newest messages, and retrieve older passages that match the user's words.

    The baseline of benchmarks for long conversations: LoCoMo (arXiv 2402.17753), BEAM (arXiv
    2510.27246) and LongMemEval (arXiv 2410.10813) put the best passages of a history before a
    question, by BM25 or by embeddings. At the trigger, all but the newest messages are removed from
    the prompt without a summary. From then on, before each turn, the removed passages are ranked by
    the user's new message. The best that fit a budget are inserted before it, in their original
    order, and stay there: nothing sent is rewritten, but the window fills sooner. If messages are
    removed within a turn, the user's message stays, and the query also has the agent's last text
    and calls.

    The search is Lucene's BM25 (``bm25s``), with lower-case words, not stemmed; a passage is a
    piece of a message. Budget, tail and trigger are our own choice, because benchmarks ask one
    question about a fixed history. Within a turn, passages are only inserted when messages are
    removed; before each call, they would have to be sent and billed again.

    Parameters
    ----------
    trigger
        Tokens, or the share of the window, at which old messages are removed; None for 0.85.
    keep_tokens
        Tokens of the newest messages that stay; at most a quarter of the window.
    max_tokens
        Tokens retrieved each time; at most a quarter of the window.
    passage_chars
        Length of a passage.
    """

    does = (Act.TRUNCATE, Act.RETRIEVE)

    trigger: Trigger = None
    keep_tokens: Annotated[int, at_least(0)] = 20_000
    max_tokens: Annotated[int, at_least(1)] = 4_000
    passage_chars: Annotated[int, at_least(100)] = 1_000
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType({"size": "passages of the log are added; LoCoMo's baseline"})

    def compact(self, view: View, host: Host) -> View:
        cut = self._cut(view, host) if self._is_due(view, host) else view
        asked = _asked(view.messages)
        if cut is view and (not asked or host.notes.get("asked") == asked):
            return view
        host.notes["asked"] = asked
        part = self._found(cut, host)
        if part is None:
            return cut
        if asked:
            return glued(cut, part)
        block = Message(f"found-{len(host.log)}", "user", (part,), host.now, meta=True)
        at = 1 if cut.messages[0].starts_turn else 0
        return cut.with_messages([*cut.messages[:at], block, *cut.messages[at:]])

    def _is_due(self, view: View, host: Host) -> bool:
        own = int(host.window * _TRIGGER)
        full = known_tokens(view, host) >= tokens_at(self.trigger, host, own)
        return full or host.phase is Phase.ON_OVERFLOW

    def _cut(self, view: View, host: Host) -> View:
        """Return the newest messages, with the user message of their turn before them."""
        budget = at_most(self.keep_tokens, host)
        start = view.messages.tail_from(host.weight, budget)
        kept = tail(view.messages, start)
        if is_little(host.count(view.messages) - host.count(kept), host):
            return view
        turn = current_turn(view.messages)
        prompt = view.messages[turn : turn + 1]
        if prompt and prompt[0].starts_turn and not kept.holds(prompt[0]):
            kept = Messages([*prompt, *kept])
        return view.with_messages(kept)

    def _found(self, view: View, host: Host) -> Part | None:
        """Return the best passages of messages outside of a view; None if there are none."""
        present = {message.id for message in view.messages}
        shown = _brought_back(view.messages)
        gone = [message for message in host.log if message.id not in present]
        if not gone:
            return None
        known = list(passages(gone, self.passage_chars))
        query = newest(host.log[current_turn(host.log) :])
        order = (known[n] for n in ranked(query, [passage.text for passage in known]))
        found = best((p for p in order if p.source not in shown), at_most(self.max_tokens, host))
        if not found:
            return None
        place = {passage: n for n, passage in enumerate(known)}
        said = sorted(found, key=place.__getitem__)
        text = OPENS + "\n\n".join(passage.text for passage in said) + CLOSES
        return Part("text", text, "recovered", tuple(passage.source for passage in said))


def _asked(messages: Messages) -> str:
    """Return the id of the unanswered user message; "" if there is none."""
    turn = messages[current_turn(messages) :]
    waits = turn and turn[0].starts_turn and all(message.role == "user" for message in turn)
    return turn[0].id if waits else ""


def _brought_back(messages: Iterable[Message]) -> set[Source]:
    return {
        source
        for message in messages
        for part in message.parts
        if part.kind == "recovered"
        for source in part.sources
    }
