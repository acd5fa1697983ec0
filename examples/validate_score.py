"""Compare what ``score`` says is kept with graded answers that are simulated on LoCoMo.

``python examples/validate_score.py FOLDER``, where FOLDER holds ``locomo/locomo10.json``. The exit
code is 1 if a bar is missed, and 2 if the file cannot be used.

*Contexts.* Of each conversation the newest turns are kept, as messages, up to 2,000 or 6,000 tokens
(o200k). Before them stands a summary of the turns that are gone:

- none (``truncated``);
- LoCoMo's own observations of those turns, which a model wrote, each drawn with the chance 0.3 or
  0.8 (``observations``), or its summaries of their sessions (``sessions``);
- one by our summarisers ``lexrank``, ``random``, ``salience`` (2,000 tokens) or ``lossy``.

And of these: with a speaker's name before each kept turn (``named``), with a long stretch of
another conversation behind (``moved on``), with all questions of the conversation behind
(``asked``), all in one text (``one text``), or with the summary of another conversation in the
place of theirs (``of another``), in which whatever is found is found by chance.

*Answers.* A question counts as answerable if each turn of its evidence is kept, or if the summary
holds it: an observation of each turn that is gone with half of the words of the answer; the summary
of the session of its evidence with three quarters of them; half of each turn, quoted; a fact
that was drawn to be kept. An answer is right with the chance 0.9 where its evidence was kept or is
held, and else with 0.05 (``few errors``); or 0.8 and 0.1 (``many errors``). These chances, and what
counts as held, are guesses: real answers may differ, so only the order of the methods is judged.
Beside them stands a world in which models make little of summaries (``poor summaries``): 0.8 where
the evidence was kept, 0.5 where it is held, 0.1 else. There a method that looks at summaries cannot
gain; it is to lose 0.03 at most.

*Methods.* ``score``: the state is verbatim or intact. ``verbatim``: it is verbatim. ``provenance``:
all evidence was kept, as the maker of the context knows. ``grep``: the answer stands in the
context. Each is compared with the graded answers by Matthews' correlation (MCC).

*Halves.* The thresholds of ``compactlab/reports/score.py`` were chosen on the 1st, 3rd, ...
conversation. Judged are the others.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from verdict import Verdict

from compactlab import CompactlabError, Conversation, read, score
from compactlab.scenarios.readers.locomo import CLOSING
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Role, verbatim
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.catalogue import find_summarizer

FOLDER = "../shared/recorded"
FILE = "locomo/locomo10.json"
TAILS = (2_000, 6_000)
QUOTING = ("lexrank", "random", "salience")
# How likely an answer is right where its evidence was kept, where a summary holds it, and else.
ERRORS = {
    "few errors": (0.9, 0.9, 0.05),
    "many errors": (0.8, 0.8, 0.1),
    "poor summaries": (0.8, 0.5, 0.1),
}
LITTLE = 0.03
METHODS = ("score", "verbatim", "provenance", "grep")
ASK = "Answer the next question from what you know of this conversation. Say so if you do not know."
MOVED_ON = 120  # messages of another conversation

_count = Tokenizer().text
Holds = Callable[[Fact], bool]


@dataclass(frozen=True)
class Context:
    """A compacted context, and what its maker knows of it."""

    kind: str
    name: str
    messages: tuple[Message, ...]
    kept: frozenset[str]  # ids of the turns that were kept
    holds: Holds  # whether the summary holds what a question asks for


@dataclass(frozen=True)
class Talk:
    """A conversation of LoCoMo, with what its file says beside it."""

    conversation: Conversation
    sample: Mapping[str, Any]

    @property
    def turns(self) -> tuple[Message, ...]:
        """What was said."""
        return tuple(m for m in self.conversation.messages if m.id != CLOSING)

    @property
    def questions(self) -> str:
        """All questions, a line each."""
        return "\n".join(dict.fromkeys(need.how for need in self.conversation.needs))

    def name(self, role: Role) -> str:
        """Who speaks in a role."""
        speaker = "speaker_a" if role == "user" else "speaker_b"
        return str(self.sample["conversation"][speaker])


def talks(path: Path) -> list[Talk]:
    """The conversations of the file."""
    samples = {each["sample_id"]: each for each in json.loads(path.read_text("utf-8"))}
    return [Talk(each, samples[each.id.rpartition("/")[2]]) for each in read(path)]


def contexts(talk: Talk, other: Talk, tails: Iterable[int] = TAILS) -> Iterator[Context]:
    """All contexts of a conversation; another one goes on behind some."""
    for tail in tails:
        for plain in _plain(talk, tail):
            yield plain
            if plain.kind in ("truncated", "observations 0.3"):
                yield _changed(plain, "named", _named(talk, plain.messages))
                start = stream(0, talk.conversation.id, "moved on").randrange(len(other.turns))
                said = other.turns[start : start + MOVED_ON]
                later = tuple(_say(f"later {n}", m.text, m.role) for n, m in enumerate(said))
                yield _changed(plain, "moved on", (*plain.messages, *later))
            if plain.kind in ("truncated", "observations 0.8"):
                yield _changed(plain, "asked", (*plain.messages, _say("all", talk.questions)))
                told = "\n\n".join(map(str, other.sample["session_summary"].values()))
                kept = [message for message in plain.messages if message.id != "summary"]
                changed = _changed(plain, "of another", (_say("summary", told), *kept))
                yield replace(changed, holds=lambda _: False)
            if plain.kind == "sessions":
                text = "\n".join(message.text for message in _named(talk, plain.messages))
                yield _changed(plain, "one text", (_say("text", text),))


def _changed(context: Context, kind: str, messages: tuple[Message, ...]) -> Context:
    return replace(context, kind=kind, name=f"{kind}, {context.name}", messages=messages)


def _named(talk: Talk, messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(
        _say(m.id, f"{talk.name(m.role)}: {m.text}", m.role) if m.id.startswith("kept") else m
        for m in messages
    )


def _plain(talk: Talk, tail: int) -> Iterator[Context]:
    """The summaries before a tail."""
    first = len(talk.turns)
    room = tail
    while first and (room := room - _count(talk.turns[first - 1].text)) >= 0:
        first -= 1
    gone, kept = talk.turns[:first], talk.turns[first:]
    ids = frozenset(message.id for message in kept)
    copies = [_say(f"kept {n}", m.text, m.role) for n, m in enumerate(kept)]

    def context(kind: str, summary: str, holds: Holds) -> Context:
        told = [_say("summary", f"Summary of what was said so far:\n{summary}")] if summary else []
        return Context(kind, f"{kind}, {tail}", (*told, *copies, _say("ask", ASK)), ids, holds)

    yield context("truncated", "", lambda _: False)
    for rate in (0.3, 0.8):
        lines = _observations(talk, ids, rate, tail)
        text = "\n".join(f"- {line}" for line in dict.fromkeys(chain.from_iterable(lines.values())))
        yield context(f"observations {rate}", text, _observed(talk, ids, lines))
    sessions = {_session(message.id) for message in gone}
    summaries = {n: str(talk.sample["session_summary"][f"session_{n}_summary"]) for n in sessions}
    yield context("sessions", "\n\n".join(summaries[n] for n in sorted(sessions)), _told(summaries))
    for spec in (*QUOTING, "lossy"):
        summarizer = find_summarizer(spec if spec == "lossy" else f"{spec}(tokens=2000)")
        request = SummaryRequest(gone, 4_000)
        parts = summarizer.bound(talk.conversation, 0).summarize(request, _count)
        if spec == "lossy":
            drawn = {(part.text, s.id) for part in parts for s in part.sources}
            holds: Holds = lambda fact, drawn=drawn: any(  # noqa: E731
                (fact.value, source.id) in drawn for source in fact.origin
            )
        else:
            quoted: Counter[str] = Counter()
            for source in (source for part in parts for source in part.sources):
                quoted[source.id] += source.end - source.start
            holds = _quoted(talk, ids, quoted)
        yield context(spec, "\n".join(part.text for part in parts), holds)


def _say(id: str, text: str, role: Role = "user") -> Message:
    return Message(id, role, (verbatim(id, "text", text),))


def _session(id: str) -> int:
    return int(id[1:].partition(":")[0])


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2 or word.isdigit()}


def _observations(talk: Talk, kept: Iterable[str], rate: float, tail: int) -> dict[str, list[str]]:
    """By turn that is gone: some of what was observed of it."""
    gone = {message.id for message in talk.turns} - set(kept)
    dice = stream(0, talk.conversation.id, "observations", str(rate), tail)
    lines: dict[str, list[str]] = defaultdict(list)
    for by_speaker in talk.sample["observation"].values():
        for text, evidence in (each for known in by_speaker.values() for each in known):
            turns = re.findall(r"D\d+:\d+", str(evidence))
            if gone.intersection(turns) and dice.random() < rate:
                for turn in turns:
                    lines[turn].append(text)
    return lines


def _observed(talk: Talk, kept: frozenset[str], lines: Mapping[str, list[str]]) -> Holds:
    turns = {message.id: message.text for message in talk.turns}

    def holds(fact: Fact) -> bool:
        ids = [source.id for source in fact.origin]
        text = " ".join(turns[id] if id in kept else " ".join(lines.get(id, ())) for id in ids)
        needed = _words(fact.value)
        there = all(id in kept or id in lines for id in ids)
        return there and 2 * len(needed & _words(text)) >= len(needed)

    return holds


def _told(summaries: Mapping[int, str]) -> Holds:
    def holds(fact: Fact) -> bool:
        sessions = {_session(source.id) for source in fact.origin}
        needed = _words(fact.value)
        known = _words(" ".join(summaries.get(n, "") for n in sessions))
        return bool(needed) and 4 * len(needed & known) >= 3 * len(needed)

    return holds


def _quoted(talk: Talk, kept: frozenset[str], quoted: Mapping[str, int]) -> Holds:
    sizes = {message.id: len(message.text) for message in talk.turns}
    return lambda fact: all(
        source.id in kept or 2 * quoted[source.id] >= sizes[source.id] for source in fact.origin
    )


def mcc(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Matthews' correlation of two properties."""
    n = Counter(pairs)
    both, one, other, none = n[True, True], n[True, False], n[False, True], n[False, False]
    product = (both + one) * (both + other) * (none + one) * (none + other)
    return (both * none - one * other) / math.sqrt(product) if product else 0.0


Rows = dict[tuple[str, str, str], list[tuple[bool, bool]]]


def graded(talk: Talk, made: Iterable[Context]) -> Rows:
    """By method, errors and kind of context: what a method says, and how an answer was graded."""
    rows: Rows = defaultdict(list)
    conversation = talk.conversation
    for context in made:
        scored = score(conversation, Conversation("c", "openai-chat", context.messages))
        states = {found.fact: found.state for found in scored.found}
        text = normal("\n".join(message.text for message in context.messages))
        for fact in conversation.facts:
            state = states[fact.id]
            kept = all(source.id in context.kept for source in fact.origin)
            says = (
                state in ("verbatim", "intact"),
                state == "verbatim",
                kept,
                normal(fact.value) in text,
            )
            known = 0 if kept else 1 if context.holds(fact) else 2
            for errors, chances in ERRORS.items():
                dice = stream(0, conversation.id, "grade", errors, context.name, fact.id)
                right = dice.random() < chances[known]
                for method, said in zip(METHODS, says, strict=True):
                    rows[method, errors, context.kind].append((bool(said), right))
    return rows


def together(found: Iterable[Rows]) -> Rows:
    """Rows of several conversations, with those of all kinds of contexts as ``all``."""
    rows: Rows = defaultdict(list)
    for each in found:
        for (method, errors, kind), pairs in each.items():
            rows[method, errors, kind] += pairs
            rows[method, errors, "all"] += pairs
    return rows


def judge(rows: Rows, verdict: Verdict) -> None:
    """Compare the methods on conversations on which nothing was chosen."""
    for errors in ERRORS:
        figures = {method: mcc(rows[method, errors, "all"]) for method in METHODS}
        told = ", ".join(f"{method} {figure:.2f}" for method, figure in figures.items())
        best = max(figures["provenance"], figures["grep"])
        least = best - (LITTLE if errors == "poor summaries" else 0)
        verdict.bar(f"{errors}: MCC of {told}", figures["score"] >= least)
        for kind in dict.fromkeys(kind for _, _, kind in rows if kind != "all"):
            cells = (f"{m} {mcc(rows[m, errors, kind]):.2f}" for m in METHODS)
            verdict.aside(f"{kind}: {', '.join(cells)}")


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    path = parser.parse_args(arguments).folder / FILE
    if not path.is_file():
        print(f"skipped: there is no {path}; name the folder of recordings")
        return 0
    try:
        known = talks(path)
        if len(known) < 2:
            raise InputError(
                "it takes two conversations: one to choose on, one to judge", str(path)
            )
        halves = [
            together(
                graded(talk, contexts(talk, known[(index + 1) % len(known)]))
                for index, talk in enumerate(known)
                if index % 2 == half
            )
            for half in (0, 1)
        ]
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    answers = len(halves[1]["score", "few errors", "all"])
    verdict = Verdict()
    verdict.basis(
        "every second conversation, on which the thresholds were chosen",
        f"the others, {answers:,} answers",
    )
    print("on the half that it was fitted on:")
    for errors in ERRORS:
        cells = (f"{method} {mcc(halves[0][method, errors, 'all']):.2f}" for method in METHODS)
        verdict.aside(f"{errors}: {', '.join(cells)}")
    print("on the other half:")
    judge(halves[1], verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
