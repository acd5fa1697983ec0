"""Tells a plan: turn by turn the user speaks, the agent works, facts are stated and used."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import msgspec

from compactlab.scenarios.plot.draft import Draft, Said, ToolCall
from compactlab.scenarios.plot.phrases import POLARITY, Family
from compactlab.scenarios.plot.plan import Thread
from compactlab.scenarios.plot.world import Open, Used, World
from compactlab.sim.conversation import Need
from compactlab.sim.message import Source

# A fact is needed once, and with this probability each time again, up to so many times.
AGAIN, MOST_NEEDS = 0.4, 4
# A need comes so many tokens after the fact was stated: log-uniform, so that it is as likely
# between 500 and 1,000 as between 100,000 and 200,000, and cut to the time for which the fact
# holds. Not measured; it is so that facts of all ages are needed.
SHORTEST_LAG, LONGEST_LAG = 500.0, 200_000.0
# Of all tokens, the most that one text of the agent takes, or short sessions get out of hand.
_LARGEST_TEXT = 0.02
AT_ONCE = 2  # facts that one message uses, but for the last one

Line = tuple[str, Thread | None]
"""Something that is said, and the fact that it states, if it does."""
Spans = list[tuple[Thread, int, int]]
"""Facts, and where in a text they are stated."""


class Teller:
    """Tells a plan in the words of a world.

    Parameters
    ----------
    draft
        The conversation so far.
    world
        What else is said and done.
    threads
        The facts, in the order of their places.
    family
        In which words they are said.
    open
        Opens streams of random numbers.
    """

    def __init__(
        self, draft: Draft, world: World, threads: Sequence[Thread], family: Family, open: Open
    ) -> None:
        self._draft, self._world, self._family = draft, world, family
        self._rng, self._wording, self._lags = open("telling"), open("wording"), open("lags")
        self._threads = threads
        self._agents = [each for each in threads if each.voice == "assistant"]
        self._tools = [each for each in threads if each.voice == "tool"]
        self._needs: list[tuple[float, int, Thread]] = []
        self._stated = self._drawn = 0
        self._most = math.inf

    def tell(self, starts: Sequence[float], tokens: float) -> None:
        """Tell all of it, in turns that begin after so many tokens."""
        self._most = max(50.0, _LARGEST_TEXT * tokens)
        for turn, until in enumerate((*starts[1:], tokens)):
            self._world.before(turn)
            self._ask(turn, until)
            self._work(until, last=turn == len(starts) - 1)

    def _ask(self, turn: int, until: float) -> None:
        """Let the user say what has changed and what is new, and ask for something."""
        lines: list[Line] = []
        for fact in self._threads:
            if fact.dropped == turn and fact.origin:
                family = self._family
                said = family.closes if fact.kind == "open_loop" else family.deletes
                lines.append((self._phrase(said, fact), None))
                fact.gone_at = self._draft.next_id
        news = [each for each in self._threads if each.voice == "user" and each.turn == turn]
        lines += [(self._statement(fact), fact) for fact in news]
        request = self._world.request(max(50.0, until - self._draft.tokens))
        lines.insert(self._rng.choice((0, len(lines))), (request, None))
        text, spans = _joined(lines)
        self._state(self._draft.say("user", [("text", text)]), spans)

    def _work(self, until: float, last: bool) -> None:
        """Let the agent call tools until the turn is long enough, and answer."""
        draft = self._draft
        while (left := until - draft.tokens) > 0 or (last and self._tools):
            if not self._step(max(50.0, left), rush=left <= 0):
                length = draft.characters(max(1.0, until - draft.tokens))
                break
        else:
            length = max(1, draft.length("answer", self._most))
        used = self._uses(math.inf if last else draft.tokens, math.inf if last else AT_ONCE)
        said, spans = self._spoken(length, [(fact, self._world.say(fact)) for fact in used], last)
        id = draft.say("assistant", said)
        self._state(id, spans, part=len(said) - 1)
        draft.needs += [Need(fact.id, id, "said") for fact in used]

    def _step(self, left: float, rush: bool) -> bool:
        """Let the agent call tools once; False, if it would rather answer."""
        draft, world = self._draft, self._world
        facts = self._uses(draft.tokens, AT_ONCE)
        uses = [(fact, world.use(fact, left / AT_ONCE)) for fact in facts]
        calls = [use.call for _, use in uses if use.call]
        calls = calls or ([world.display(left)] if rush else world.act(left))
        if not calls:
            for fact in facts:
                self._need(draft.tokens, fact)
            return False
        talks = self._rng.random() < world.shares["text"]
        length = draft.length("text", min(left, self._most)) if talks else 0
        said, spans = self._spoken(length, uses, rush=False)
        id, call_ids = draft.call(said, calls)
        self._state(id, spans, part=len(said) - 1)
        for fact, use in uses:
            draft.needs.append(Need(fact.id, id, use.call.name if use.call else "said"))
        for call, call_id in zip(calls, call_ids, strict=True):
            self._give(call, call_id, rush)
        return True

    def _spoken(
        self, length: int, uses: Sequence[tuple[Thread, Used]], rush: bool
    ) -> tuple[list[Said], Spans]:
        """What the agent thinks and says; where there is a text, it comes last."""
        world, said = self._world, list[Said]()
        if self._rng.random() < world.shares["thinking"]:
            said.append(("thinking", world.prose(self._draft.length("thinking", self._most))))
        lines: list[Line] = [(use.said, None) for _, use in uses if use.said]
        for fact in self._ready(self._agents, rush):
            lines.append((self._statement(fact), fact))
            self._agents.remove(fact)
        if length:
            lines.insert(self._rng.choice((0, len(lines))), (world.prose(length), None))
        text, spans = _joined(lines)
        return ([*said, ("text", text)] if text else said), spans

    def _give(self, call: ToolCall, call_id: str, rush: bool) -> None:
        """Give what a tool returns; a fact that is due may stand in it."""
        spans: Spans = []
        for fact in self._ready(self._tools, rush)[:1]:
            if self._world.shows(call, fact.kind):
                line = self._statement(fact)
                text, start = self._world.placed(call.result, line)
                call = call._replace(result=text)
                spans = [(fact, start, start + len(line))]
                fact.handle = self._draft.next_id
                self._tools.remove(fact)
        self._state(self._draft.result(call, call_id), spans)

    def _ready(self, facts: Sequence[Thread], rush: bool) -> list[Thread]:
        """The facts whose place is reached; one that replaces another comes after that."""
        here = math.inf if rush else self._draft.tokens
        return [f for f in facts if f.place <= here and (f.old is None or f.old.origin)]

    def _state(self, id: str, spans: Spans, part: int = 0) -> None:
        for fact, start, end in spans:
            self._stated += 1
            fact.id = f"f{self._stated}"
            fact.origin.append(Source(id, part, start, end))
            holds = max(0.0, fact.ends - self._draft.tokens)
            needs = 1
            while needs < MOST_NEEDS and self._lags.random() < AGAIN:
                needs += 1
            for _ in range(needs):
                self._need(self._draft.tokens + self._lag(holds), fact)

    def _lag(self, most: float) -> float:
        share = self._lags.random()
        if most <= SHORTEST_LAG:
            return most * share
        return SHORTEST_LAG * float((min(most, LONGEST_LAG) / SHORTEST_LAG) ** share)

    def _need(self, place: float, fact: Thread) -> None:
        self._drawn += 1
        heapq.heappush(self._needs, (place, self._drawn, fact))

    def _uses(self, until: float, most: float) -> list[Thread]:
        """Take the facts that are needed by now; what does not hold any more is not."""
        used: list[Thread] = []
        while self._needs and self._needs[0][0] <= until and len(used) < most:
            _, _, fact = heapq.heappop(self._needs)
            if fact.holds and fact not in used:
                used.append(fact)
        return used

    def _statement(self, fact: Thread) -> str:
        if fact.voice == "tool":
            return self._phrase(self._family.shows, fact)
        if fact.old:
            return self._phrase(self._family.revises[POLARITY.get(fact.kind, "is")], fact)
        return self._phrase(self._family.states[fact.kind], fact)

    def _phrase(self, templates: Sequence[str], fact: Thread) -> str:
        old = fact.old.value if fact.old else ""
        template = templates[int(self._wording.random() * len(templates))]
        return template.format(key=fact.key, value=fact.value, old=old)


def repeated(threads: Sequence[Thread], copies: Sequence[tuple[str, str]]) -> None:
    """What was said again, word by word, is stated again: (message, its copy)."""
    for fact in threads:
        for of, copy in copies:
            fact.origin += [
                msgspec.structs.replace(source, id=copy)
                for source in fact.origin
                if source.id == of
            ]


def _joined(lines: Sequence[Line]) -> tuple[str, Spans]:
    """Put lines together, and say where in them facts are stated."""
    spans, start = Spans(), 0
    for text, fact in lines:
        if fact is not None:
            spans.append((fact, start, start + len(text)))
        start += len(text) + 1
    return "\n".join(text for text, _ in lines), spans
