"""Writes a planned conversation turn by turn: the user speaks, the agent works and uses facts."""

from __future__ import annotations

import heapq
import math
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from compactlab.scenarios.engine.domain import Family, polarity_of
from compactlab.scenarios.engine.plan import CLOSED, PlannedFact
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, Used, Utterance, World
from compactlab.sim.core.conversation import Need
from compactlab.sim.core.message import Source

# A fact is needed once, then again with this probability each time, up to this many times.
AGAIN, MOST_NEEDS = 0.4, 4
# Largest share of all tokens in one text of the agent, so that short sessions keep their size.
_LARGEST_TEXT = 0.02

Line = tuple[str, PlannedFact | None]  # a sentence, and the fact that it states, if any
Spans = list[tuple[PlannedFact, int, int]]  # facts and their positions in a text
Waiting = tuple[float, int, PlannedFact]  # a need: its position in tokens, its number, the fact

_WORD = re.compile(r"\w+")
# A word that stays whole in any text around its line.
_INNER_WORD = re.compile(r"(?<=\W)\w+(?=\W)")


class ShownLines:
    """Finds the lines that state facts in a text, by their words.

    The time depends on the length of the text, not on the number of lines.
    """

    def __init__(self) -> None:
        self._lines: dict[PlannedFact, str] = {}
        self._numbers: dict[PlannedFact, int] = {}
        self._by_word: dict[str, list[PlannedFact]] = {}
        self._without_word: list[PlannedFact] = []

    def add(self, lines: Mapping[PlannedFact, str]) -> None:
        """Add lines; a new line of a fact replaces its old one."""
        for fact, line in lines.items():
            self._lines[fact] = line
            self._numbers.setdefault(fact, len(self._numbers))
            words = _INNER_WORD.findall(line)
            if words:
                word = min(words, key=lambda word: (len(self._by_word.get(word, ())), -len(word)))
                self._by_word.setdefault(word, []).append(fact)
            else:
                self._without_word.append(fact)

    def again(self, text: str) -> Iterator[tuple[PlannedFact, str]]:
        """Yield the facts whose line is in a text, in the order in which they were first added."""
        if not self._lines:
            return
        facts = {*self._without_word}
        for word in self._by_word.keys() & _WORD.findall(text):
            facts.update(self._by_word[word])
        for fact in sorted(facts, key=self._numbers.__getitem__):
            if self._lines[fact] in text:
                yield fact, self._lines[fact]


class _Untold:
    """The facts of a voice that are not stated yet; only those that are due are looked at."""

    def __init__(self, facts: Iterable[PlannedFact]) -> None:
        self._numbers = {fact: number for number, fact in enumerate(facts)}
        self._later = sorted(self._numbers, key=lambda fact: fact.place, reverse=True)
        self._due: list[PlannedFact] = []

    def __iter__(self) -> Iterator[PlannedFact]:
        return iter(self._numbers)

    def __contains__(self, fact: object) -> bool:
        return fact in self._numbers

    def due(self, here: float) -> list[PlannedFact]:
        """Return the facts that are due at a position, in their first order."""
        while self._later and self._later[-1].place <= here:
            insort(self._due, self._later.pop(), key=self._numbers.__getitem__)
        return [fact for fact in self._due if fact.place <= here]

    def remove(self, fact: PlannedFact) -> None:
        """Remove a fact that was due."""
        del self._numbers[fact]
        self._due.remove(fact)


class Generator:
    """Writes a planned conversation: its facts in the phrases of a family, the rest by a world."""

    def __init__(
        self,
        draft: Draft,
        world: World,
        facts: Sequence[PlannedFact],
        family: Family,
        open: Open,
        *,
        route: Sequence[int],
    ) -> None:
        self._draft, self._world, self._family = draft, world, family
        self._at_once = world.domain.at_once
        self._rng, self._wording, self._lags = open("telling"), open("wording"), open("lags")
        self._facts = facts
        self._agents = _Untold(each for each in facts if each.voice == "assistant")
        self._tools = _Untold(each for each in facts if each.voice == "tool")
        self._dropped = [each for each in facts if each.dropped >= 0]
        # By turn, what the user states there for the first time, and again.
        self._news: dict[int, list[PlannedFact]] = {}
        self._again: dict[int, list[PlannedFact]] = {}
        for fact in facts:
            if fact.voice == "user":
                self._news.setdefault(fact.turn, []).append(fact)
            for turn in dict.fromkeys(fact.restated):
                self._again.setdefault(turn, []).append(fact)
        self._needs: list[Waiting] = []
        self._resumed: list[Waiting] = []  # needs that wait until the user refers back to the fact
        self._stated = self._drawn = 0
        self._over = False
        self._most = math.inf
        self._route, self._branch, self._parted = route, 0, False
        self._tips: dict[int, str] = {}
        self._shown = ShownLines()

    def run(self, starts: Sequence[float], tokens: float) -> None:
        """Write the whole conversation; ``starts`` are the positions of its turns in tokens."""
        self._most = max(50.0, _LARGEST_TEXT * tokens)
        for turn, until in enumerate((*starts[1:], tokens)):
            self._go(turn)
            last = self._branch not in self._route[turn + 1 :]
            self._world.before(turn)
            if not turn:
                self._instruct()
            self._ask(turn, until, last)
            self._work(until, last)

    def _instruct(self) -> None:
        """Let the client put an instruction file first, if there is one."""
        domain = self._world.domain
        rules = [
            fact
            for fact in self._facts
            if not (fact.turn or fact.old or fact.parent)
            and domain.instructs(fact.kind, fact.voice)
        ]
        if rules:
            lines: list[Line] = [(line, None) for line in domain.texts["file"]]
            text, spans = _joined([*lines, *((self._statement(fact), fact) for fact in rules)])
            self._state(self._draft.say("user", [("text", text)], meta=True), spans)

    def _ask(self, turn: int, until: float, last: bool) -> None:
        """Let the user state changes and new facts, and make a request."""
        lines: list[Line] = []
        self._over = last
        for fact in self._dropped:
            # A tool may state a fact late; it is then withdrawn as soon as it is known.
            if fact.dropped <= turn and fact.stated and not fact.withdrawn_at:
                family = self._family
                phrases = family.closes if fact.kind in CLOSED else family.deletes
                lines.append((self._phrase(phrases, fact), None))
                fact.withdrawn_at, fact.withdrawn = self._draft.next_id, True
        lines += self._come_back(last)
        # The instruction file has already stated these facts.
        news = [each for each in self._news.get(turn, ()) if not each.origin]
        lines += [(self._statement(fact), fact) for fact in news]
        again = [each for each in self._again.get(turn, ()) if each.holds]
        lines += [(self._phrase(self._family.states[fact.kind], fact), fact) for fact in again]
        request = self._world.request(max(50.0, until - self._draft.tokens))
        lines.insert(self._rng.choice((0, len(lines))), (request, None))
        text, spans = _joined(lines)
        self._state(self._draft.say("user", [("text", text)]), spans)

    def _work(self, until: float, last: bool) -> None:
        """Let the agent call tools until the turn is long enough, then answer."""
        draft = self._draft
        while (left := until - draft.tokens) > 0 or (last and any(map(self._is_here, self._tools))):
            if not self._step(max(50.0, left), rush=left <= 0):
                length = draft.characters(max(1.0, until - draft.tokens))
                break
        else:
            length = max(1, draft.length("answer", self._most))
        used = self._uses(math.inf if last else draft.tokens, math.inf if last else self._at_once)
        if last:  # the last message does not use facts that it replaces
            used = [fact for fact in used if fact.newer not in self._agents]
        utterances, spans = self._spoken(
            length, [(fact, self._world.say(fact)) for fact in used], last
        )
        id = draft.say("assistant", utterances)
        self._state(id, spans, part=len(utterances) - 1)
        draft.needs += [Need(fact.id, id, "said") for fact in used]

    def _step(self, left: float, rush: bool) -> bool:
        """Let the agent call tools once; return False if it answers instead."""
        draft, world = self._draft, self._world
        facts = self._uses(draft.tokens, self._at_once)
        uses = [(fact, world.use(fact, left / self._at_once)) for fact in facts]
        calls = [use.call for _, use in uses if use.call]
        calls = calls or ([world.display(left)] if rush else world.act(left))
        if not calls:
            for fact in facts:
                self._need(draft.tokens, fact)
            return False
        talks = self._rng.random() < world.shares["text"]
        length = draft.length("text", min(left, self._most)) if talks else 0
        utterances, spans = self._spoken(length, uses, rush=False)
        id, call_ids = draft.call(utterances, calls)
        self._state(id, spans, part=len(utterances) - 1)
        for fact, use in uses:
            draft.needs.append(Need(fact.id, id, use.call.name if use.call else "said"))
        for call, call_id in zip(calls, call_ids, strict=True):
            self._give(call, call_id, rush)
        return True

    def _spoken(
        self, length: int, uses: Sequence[tuple[PlannedFact, Used]], rush: bool
    ) -> tuple[list[Utterance], Spans]:
        """Return the agent's thoughts and text; the text comes last."""
        world, utterances = self._world, list[Utterance]()
        if self._rng.random() < world.shares["thinking"]:
            thought = world.prose(self._draft.length("thinking", self._most))
            utterances.append(("thinking", thought))
        lines: list[Line] = [(use.text, None) for _, use in uses if use.text]
        used = [fact for fact, _ in uses]
        for fact in self._ready(self._agents, rush):
            if fact.old not in used:  # else the text would contain the old value with its key
                lines.append((self._statement(fact), fact))
                self._agents.remove(fact)
        if length:
            lines.insert(self._rng.choice((0, len(lines))), (world.prose(length), None))
        text, spans = _joined(lines)
        return ([*utterances, ("text", text)] if text else utterances), spans

    def _give(self, call: ToolCall, call_id: str, rush: bool) -> None:
        """Add a tool's result, which may state facts that are due, or state facts again."""
        world, new = self._world, dict[PlannedFact, str]()
        room, ahead = world.room(call)
        for fact in self._ready(self._tools, rush, ahead)[:room]:
            if world.shows(call, fact.kind):
                new[fact] = self._statement(fact)
                call = call._replace(result=world.show(call, fact, new[fact]))
                # An agent that is started again gets a new handle.
                fact.handle = "" if fact.kind == "handle" else self._draft.next_id
                self._tools.remove(fact)
        result = call.result
        known = {fact: line for fact, line in self._shown.again(result) if fact.holds}
        places = ((fact, result.find(line), line) for fact, line in (known | new).items())
        self._shown.add(new)
        spans = [(fact, at, at + len(line)) for fact, at, line in places if at >= 0]
        self._state(self._draft.result(call, call_id), spans)

    def _ready(self, facts: _Untold, rush: bool, ahead: float = 0) -> list[PlannedFact]:
        """Return the facts that are due; a replacement is due after the fact that it replaces."""
        due = filter(self._is_here, facts.due(math.inf if rush else self._draft.tokens + ahead))
        return [fact for fact in due if fact.old is None or fact.old.stated]

    def _is_here(self, fact: PlannedFact) -> bool:
        """Whether a fact is one of the current branch."""
        return fact.branch == self._branch

    def _go(self, turn: int) -> None:
        """Go to the branch of a turn: begin a new one here, or continue another at its end."""
        branch = self._route[turn]
        self._parted = any(each != branch for each in self._route[turn + 1 :])
        if branch != self._branch:
            self._tips[self._branch] = self._draft.tip
            if branch in self._tips:
                self._draft.rewind(self._tips[branch])
                path = self._draft.path()
                replaced = [fact for fact in self._facts if fact.stated and not fact.holds]
                for fact in self._facts:
                    fact.go_to(path)
                for fact in replaced:
                    if fact.holds:  # the fact is valid again and must be remembered
                        self._need(self._later(fact), fact)
        self._branch = self._draft.branch = branch

    def _state(self, id: str, spans: Spans, part: int = 0) -> None:
        domain = self._world.domain
        for fact, start, end in spans:
            source = Source(id, part, start, end)
            fact.stated = True
            fact.origin.append(source)
            if len(fact.origin) > 1:
                continue
            # In the last turn, the user does not refer back to facts.
            resumed = fact.kind in domain.resumes and not self._over
            self._stated += 1
            fact.id = f"f{self._stated}"
            needs = 1
            while needs < MOST_NEEDS and self._lags.random() < AGAIN:
                needs += 1
            for _ in range(needs):
                self._need(self._later(fact), fact, resumed)

    def _later(self, fact: PlannedFact) -> float:
        """Draw the position at which a fact, stated or valid again now, is needed."""
        here = self._draft.tokens
        domain = self._world.domain
        lags = domain.lags_by.get(fact.kind, domain.lags)
        return here + lags.at(self._lags.random(), max(0.0, fact.ends - here))

    def _come_back(self, last: bool) -> list[Line]:
        """Let the user refer back to facts, which the agent then needs."""
        here = math.inf if last else self._draft.tokens
        facts = self._taken(self._resumed, here, math.inf if last else self._at_once)
        for fact in facts:
            self._need(self._draft.tokens, fact)
        return [(self._world.resume(fact), None) for fact in facts]

    def _need(self, place: float, fact: PlannedFact, resumed: bool = False) -> None:
        self._drawn += 1
        waiting = self._resumed if resumed else self._needs
        heapq.heappush(waiting, (place, self._drawn, fact))

    def _uses(self, until: float, most: float) -> list[PlannedFact]:
        return self._taken(self._needs, until, most)

    def _taken(self, waiting: list[Waiting], until: float, most: float) -> list[PlannedFact]:
        """Return the facts that are needed by now and still valid."""
        taken: list[PlannedFact] = []
        later: list[Waiting] = []
        while waiting and waiting[0][0] <= until and len(taken) < most:
            need = heapq.heappop(waiting)
            fact = need[2]
            # At the end of a branch, all needs of its own facts are met.
            if fact.holds and (until < math.inf or fact.branch == self._branch):
                taken += [fact] if fact not in taken else []
            elif self._parted:
                later.append(need)  # it may be valid again on another branch
        for need in later:
            heapq.heappush(waiting, need)
        return taken

    def _statement(self, fact: PlannedFact) -> str:
        if fact.voice == "tool" and fact.kind != "handle":
            return self._phrase(self._family.shows, fact)
        if fact.old and fact.old.kind == fact.kind:
            return self._phrase(self._family.revises[polarity_of(fact.kind)], fact)
        return self._phrase(self._family.states[fact.kind], fact)

    def _phrase(self, templates: Sequence[str], fact: PlannedFact) -> str:
        old = fact.old.value if fact.old else ""
        template = templates[int(self._wording.random() * len(templates))]
        return template.format(key=fact.key, value=fact.value, old=old)


def repeat(facts: Sequence[PlannedFact], copies: Sequence[tuple[str, str]]) -> None:
    """Add origins for repeated messages, given as pairs of message id and copy id."""
    for fact in facts:
        for of, copy in copies:
            fact.origin += [
                msgspec.structs.replace(source, id=copy)
                for source in fact.origin
                if source.id == of
            ]


def _joined(lines: Sequence[Line]) -> tuple[str, Spans]:
    """Join lines, and return the positions of facts in the text."""
    spans, start = Spans(), 0
    for text, fact in lines:
        if fact is not None:
            spans.append((fact, start, start + len(text)))
        start += len(text) + 1
    return "\n".join(text for text, _ in lines), spans
