"""Scored pruning: each old tool call is kept, shortened or dropped by a score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

import msgspec

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Part, plain
from compactlab.sim.core.notes import relevance
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.answers import digest_of_answers, read_answers
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.estimate import at_most, known_tokens
from compactlab.strategies.mechanisms.stub import results_of
from compactlab.strategies.mechanisms.text import spoken, with_parts, without_middle
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# Rules and figures are those of tamaratran/fast-jev-compaction: `src/compact.ts` at 15c1ea2,
# `src/state.ts` at 2de317e, `hooks/fast-jev.ts` at 1d9a06b (read 2026-11-27).

_PERCENT = 0.6  # of the window, after a turn: `compactAtPercent`
_FREE = 33_000  # what Claude Code leaves free when it compacts by itself, within a turn, too
_SPARE = 120  # a result is not cut for less
_ENVELOPE = 20  # tokens around state and questions
_GOALS, _GOAL = 3, 500  # the state's goal: words of the user, and characters of each
# Most characters of a call's arguments and of an old text in the state, tried in turn.
_STAGES: tuple[tuple[int, int | None], ...] = ((1000, None), (200, None), (60, None), (60, 550))
_STAGES = (*_STAGES, (60, 0))

Action = Literal["keep", "cut", "drop"]


class Score(NamedTuple):
    """The probabilities that a call, and that its whole result, is still needed."""

    call: float
    result: float


class Use(NamedTuple):
    """A tool use that may go: its call, and the text of its result."""

    call: Part
    result: str


def decide(score: Score, threshold: float) -> Action:
    """Decide whether a tool use is kept, cut or dropped: as ``decideCall``.

    Examples
    --------
    >>> decide(Score(0.2, 0.5), 0.5), decide(Score(0.5, 0.4), 0.5), decide(Score(0.4, 0.4), 0.5)
    ('keep', 'cut', 'drop')
    """
    if score.result >= threshold:
        return "keep"
    return "cut" if score.call >= threshold else "drop"


def uses_of(messages: Messages, recent: int) -> list[Use]:
    """Return the uses that may be removed: not in the first or newest messages, not pending."""
    pinned = {
        part.call_id
        for message in (*messages[:1], *messages[max(len(messages) - recent, 1) :])
        for part in message.parts
    }
    answered = {
        result[0].call_id: result[0].text for message in messages for result in results_of(message)
    }
    calls = {p.call_id: p for m in messages for p in m.parts if p.type == "tool_call"}
    return [
        Use(call, answered[id])
        for id, call in calls.items()
        if id and id in answered and id not in pinned
    ]


def pruned(messages: Messages, actions: Mapping[str, Action], head: int) -> Messages:
    """Return messages after the actions by call id: as ``applyDecisions``.

    A message that loses a call also loses its thinking, and is removed if it becomes empty.
    """
    left = (_pruned(message, actions, head) for message in messages)
    return Messages(message for message in left if message is not None)


def _pruned(message: Message, actions: Mapping[str, Action], head: int) -> Message | None:
    gone = {part.call_id for part in message.parts} & actions.keys()
    if all(actions[id] == "keep" for id in gone):
        return message
    left: list[Part] = []
    action: Action = "keep"
    for index, part in enumerate(message.parts):
        if part.type != "image":  # an image belongs to the result before it
            action = actions.get(part.call_id, "keep")
        if action == "cut" and part.type == "tool_result":
            left.append(_cut(message, index, head))
        elif action == "keep" or (action == "cut" and part.type == "tool_call"):
            left.append(part)
    if "drop" in (actions[id] for id in gone):
        left = [part for part in left if part.type != "thinking"]
    whole = any(part.type != "text" or part.text.strip() for part in left)
    return with_parts(message, left) if whole else None


def _cut(message: Message, index: int, head: int) -> Part:
    part = message.parts[index]
    gone = len(part.text) - head
    if gone <= _SPARE:
        return part
    return without_middle(message, index, head, 0, f"\n[{gone} characters cut; call it again]")


_PIECES = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]", re.ASCII)


def estimated(text: str) -> int:
    """Estimate tokens: as ``estimateTokens``.

    Examples
    --------
    >>> estimated("compaction, 2026")  # 2 for ten letters, 0.9 for the comma, half of 4
    5
    """
    tokens = 0.0
    for piece in _PIECES.findall(text):
        if piece.isdigit():
            tokens += len(piece) / 2
        else:
            tokens += 1 + (len(piece) - 1) // 6 if piece.isalpha() and piece.isascii() else 0.9
    return -int(-tokens // 1)


def goal_of(messages: Iterable[Message]) -> str:
    """Return the last words of the user, which the state names as its goal."""
    said = ("\n".join(p.text for _, p in spoken(m)) for m in messages if m.starts_turn)
    return "\n".join(text[:_GOAL] for text in [*filter(str.strip, said)][-_GOALS:])


def state_of(messages: Messages, recent: int, most: int) -> str:
    """Return the scorer's input: everything but results; "" if it does not fit.

    To fit, arguments are cut, then old texts, then old texts are removed: here in all messages at
    once, in the original message by message.
    """
    for arguments, text in _STAGES:
        newest = len(messages) - recent
        lines = (
            _line(part, arguments, text if 0 < index < newest else None)
            for index, message in enumerate(messages)
            for part in message.parts
        )
        state = "\n".join([goal_of(messages), *filter(None, lines)])
        if estimated(state) <= most:
            return state
    return ""


def _line(part: Part, arguments: int, text: int | None) -> str:
    if part.type == "tool_call":
        return f"{part.call_id} {part.name} {part.text[:arguments]}"
    if part.type == "tool_result":
        return f"{part.call_id}: {'error' if part.is_error else 'ok'}, {len(part.text)} characters"
    return part.text[:text] if part.type == "text" else ""


def questions_of(use: Use) -> str:
    """Return the two questions about a use, in our own words."""
    id, name, size = use.call.call_id, use.call.name, len(use.result)
    return (
        f'"call_{id}": must the tool call {id} ({name}) stay in the history, because it matters '
        "for what the assistant does next that it was made, and with which input?\n"
        f'"result_{id}": must the full output of {id} ({name}, {size} characters) stay in the '
        "history word for word, because its contents are still needed and another call is no way?"
    )


def batches(questions: Iterable[str], room: int) -> Iterator[str]:
    """Pack questions into as few requests as possible: as ``batchCalls``."""
    batch: list[str] = []
    taken = 0
    for question in questions:
        tokens = estimated(question)
        if batch and taken + tokens > room:
            yield "\n".join(batch)
            batch, taken = [], 0
        batch.append(question)
        taken += tokens
    if batch:
        yield "\n".join(batch)


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    call: Annotated[float, msgspec.Meta(ge=0, le=1)]
    result: Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True)
class ScoredPruning(Strategy):
    """Keep, shorten or drop each old tool use by a score, without a summary.

    The rule of tamaratran/fast-jev-compaction, a plug-in of Claude Code (README at 11a9519). A
    scoring model (Jev) gives two probabilities for each tool use: that the call, and that its
    result, is still needed. If the result scores below the threshold, it is cut to its beginning;
    if both do, the use is removed. Texts, the first message and the newest messages stay unchanged.
    It acts after a turn at 60 % of the window, and where Claude Code would compact. If it saves
    less than a quarter, nothing changes until the next turn, and the next strategy of a pipeline
    may summarise (``scored_pruning + full_summary``).

    The scores are recorded answers from a file. Without a file **a stand-in scores**: BM25 of call
    and result for the user's last three messages, relative to the best. It is not a model, and
    shows nothing about Jev's quality. The requests are billed either way: each has all messages
    without results (at most 25,000 tokens) and as many questions as fit. Jev costs 0.042 dollars
    per million input tokens and nothing for output (Zuplo's page on it, 2026-11-27, second-hand),
    less than a seventieth of the session's model, which is billed by default.

    Not exact: the wording of the state, and the order in which a large one is cut. Manual
    compactions are not built.

    Parameters
    ----------
    trigger
        Size at which it acts after a turn; None for 60 % of the window. Within a turn it waits
        until 33,000 tokens are free, or for this size if it is larger.
    threshold
        Minimum score at which a call, or a result, stays.
    recent
        Number of newest messages that stay unchanged.
    head_chars
        Length of a cut result.
    min_gain
        Share of all characters that must be saved; else nothing changes.
    max_state_tokens
        Tokens of the state, by the plug-in's estimate; if it does not fit, nothing changes.
    max_request_tokens
        Tokens of state and questions together, by the same estimate.
    answers
        A file of recorded answers, one JSON line per call: ``{"id": ..., "call": 0.9, "result":
        0.2}``. A call without an answer stays.
    model
        The model billed for the scores, by its name in the catalogue; "" for the session's.
    """

    does = (Act.TRUNCATE, Act.CLEAR, Act.REQUEST)

    trigger: Trigger = None
    threshold: Annotated[float, between(0, 1)] = 0.5
    recent: Annotated[int, at_least(0)] = 6
    head_chars: Annotated[int, at_least(0)] = 300
    min_gain: Annotated[float, between(0, 1)] = 0.25
    max_state_tokens: Annotated[int, at_least(1)] = 25_000
    max_request_tokens: Annotated[int, at_least(1)] = 30_000
    answers: str = ""
    model: str = ""
    phases = frozenset({Phase.AFTER_TURN, Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    @property
    def outside(self) -> str:
        """The digest of the file of answers."""
        return digest_of_answers(self.answers)

    @cached_property
    def recorded(self) -> dict[str, Score]:
        """The recorded answers by call id."""
        known = read_answers(self.answers, _Answer)
        return {answer.id: Score(answer.call, answer.result) for answer in known}

    def compact(self, view: View, host: Host) -> View:
        turn = view.messages[current_turn(view.messages) :][:1]
        now = turn[0].id if turn else ""
        if not self._is_due(view, host, now):
            return view
        after = view.with_messages(self._decided(view.messages, host))
        if _chars(after.messages) <= (1 - self.min_gain) * _chars(view.messages):
            return after
        host.notes["in vain"] = now
        return view

    def _decided(self, messages: Messages, host: Host) -> Messages:
        """Have all uses scored, and return the remaining messages."""
        uses = uses_of(messages, self.recent)
        state = state_of(messages, self.recent, self.max_state_tokens) if uses else ""
        room = self.max_request_tokens - estimated(state) - _ENVELOPE
        if not state or room < max(estimated(questions_of(use)) for use in uses):
            return messages
        self._bill(state, uses, room, host)
        scores = self.recorded if self.answers else stand_in(messages, uses)
        stays = Score(1, 1)
        actions = {
            use.call.call_id: decide(scores.get(use.call.call_id, stays), self.threshold)
            for use in uses
        }
        return pruned(messages, actions, self.head_chars)

    def _is_due(self, view: View, host: Host, turn: str) -> bool:
        if host.phase is not Phase.AFTER_TURN and host.notes.get("in vain") == turn:
            return False
        limit = tokens_at(self.trigger, host, host.window * _PERCENT)
        if host.phase is Phase.BEFORE_CALL:
            limit = max(limit, host.window - at_most(_FREE, host))
        return host.phase is Phase.ON_OVERFLOW or known_tokens(view, host) >= limit

    def _bill(self, state: str, uses: list[Use], room: int, host: Host) -> None:
        for questions in batches(map(questions_of, uses), room):
            asked = Message("score", "user", (plain(f"{state}\n{questions}"),), meta=True)
            answer = re.sub(r": must .*", ": 0.50", questions)
            prompt = View((), Messages([asked]))
            host.send(prompt, host.count(answer), "score", model=self.model, marked=False)


def stand_in(messages: Messages, uses: list[Use]) -> dict[str, Score]:
    """Score uses by BM25 for the last words of the user, relative to the best text: a stand-in."""
    calls = [f"{use.call.name} {use.call.text}" for use in uses]
    texts = [*calls, *(use.result for use in uses)]
    scores = relevance(goal_of(messages), texts)
    best = max(scores) or 1.0
    pairs = zip(uses, scores[: len(uses)], scores[len(uses) :], strict=True)
    return {use.call.call_id: Score(call / best, result / best) for use, call, result in pairs}


def _chars(messages: Messages) -> int:
    return sum(len(p.text) for m in messages for p in m.parts if p.type != "thinking")
