"""Score of a context that another product compacted: the facts of a conversation that it keeps."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import msgspec
from msgspec import structs

from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.fields import as_data, csv_of, hidden
from compactlab.reports.render.text import counted, enumerated, show
from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Conversation, Fact, FactType, Need, Rewind
from compactlab.sim.core.message import Call, Message, Part, Usage, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import STATES, Ledger, inferred
from compactlab.sim.facts.attribution import LEAST, Attributed, Copy, count_words, words_of
from compactlab.sim.facts.evidence import Evidence, Witness
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.wording import Wording
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.replay.summarize import FAULTS, SummaryRequest, faults
from compactlab.sim.replay.trace import Header, Step, Trace

# Levels at which a value is not chance. Few texts of that length contain it without its origin: at
# most the first share; or at most the second, if also at most the third share of positions in the
# original are as similar to its sentence as its origin. The first is the usual level of a test; the
# others were chosen on half of the conversations of LoCoMo, see examples/validate_score.py.
SELDOM, NOT_OFTEN, AS_LIKE = 0.05, 0.2, 0.01
_NEAR = 2  # messages on either side that count as the same position
_SENTENCE = re.compile(r"(?<=[.!?]) +|[\r\n]+|(?<=[\u3002\uff01\uff1f])")


class Chance:
    """Compares a context's statements about facts with those of the rest of the original."""

    def __init__(self, original: Sequence[Message], context: Attributed) -> None:
        self._original = {message.id: index for index, message in enumerate(original)}
        self._texts = [
            "\n".join(part.text for part in message.parts if part.type != "thinking")
            for message in original
        ]
        view = context.view
        messages = (message for message in view.messages if message.id not in self._original)
        parts = [part for part in view.system if part in context.copies]
        parts += [part for message in messages for part in message.parts]
        self._foreign = [(part, Wording(part.text), context.copies.get(part, ())) for part in parts]
        # For each message, the indices of the texts that may replace it.
        self._standing: dict[str, set[int]] = defaultdict(set)
        for index, part in enumerate(parts):
            for source in part.sources:
                self._standing[source.id].add(index)

    def explains(self, fact: Fact) -> bool:
        """Whether external text may state a fact only by chance.

        Copies of the fact's origin are not chance, and copies of other messages are ignored. Other
        statements are not chance if other messages state the fact too rarely for a text of that
        length; or if these do so fairly rarely, and the sentence is more similar to the messages
        around its origin than to others.
        """
        origin = {source.id for source in fact.origin}
        places = set().union(*(self._standing.get(id, ()) for id in origin))
        texts = []
        for part, wording, copies in (self._foreign[index] for index in sorted(places)):
            if not wording.says(fact).stated:
                continue
            if any(_stated(part.text[c.start : c.end], fact) for c in copies if c.ids & origin):
                return False
            texts.append(_without(part, [c for c in copies if not c.ids & origin]))
        if not texts:
            return False
        said = [text for text in texts if _stated(text, fact)]
        if not said:
            return True
        seldom, often = self._chance(fact, origin, sum(map(count_words, texts)))
        if seldom or often:
            return often
        sentences = (each for text in said for each in _SENTENCE.split(text))
        return all(
            self._as_like(each, fact, origin) > AS_LIKE for each in sentences if _stated(each, fact)
        )

    def _chance(self, fact: Fact, origin: set[str], length: int) -> tuple[bool, bool]:
        """Whether texts of this length state a fact seldom, or often, at the rate of messages.

        By a Poisson process. If no other message states it, that counts as half a time; but not for
        a fact with a key (key and value seldom meet by chance), and not with too few messages.
        """
        others = [index for id, index in self._original.items() if id not in origin]
        words = sum(self._sizes[index] for index in others) / max(1, length)
        unseen = 0.0 if fact.key or len(self._texts) * AS_LIKE < 1 else 0.5
        most, times = -math.log1p(-NOT_OFTEN) * words, 0
        for index in others:
            times += self._wordings[index].says(fact).stated
            if times > most:
                return False, True
        return times + unseen <= -math.log1p(-SELDOM) * words, False

    def _as_like(self, sentence: str, fact: Fact, origin: set[str]) -> float:
        """The share of positions, with the origin, as similar to a sentence as the origin or more.

        Similarity is the sum of the rarities of common words that are not in the fact.
        """
        known = words_of(normal(" ".join((fact.key, fact.value))))
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(normal(sentence))):
            if word not in known:
                for index in self._places[word]:
                    scores[index] += self._rarity[word]
        places = [self._original[id] for id in origin if id in self._original]
        mine = max((scores[index] for index in places), default=0.0)
        others = [
            index
            for index in range(len(self._texts))
            if all(abs(index - own) > 2 * _NEAR for own in places)
        ]
        return (1 + sum(scores[index] >= mine for index in others)) / (1 + len(others))

    @cached_property
    def _sizes(self) -> list[int]:
        return [*map(count_words, self._texts)]

    @cached_property
    def _wordings(self) -> list[Wording]:
        return [*map(Wording, self._texts)]

    @cached_property
    def _words(self) -> list[set[str]]:
        return [set(words_of(normal(text))) for text in self._texts]

    @cached_property
    def _rarity(self) -> dict[str, float]:
        """The rarity of words: the log of the number of messages per message with the word."""
        counts = Counter(word for words in self._words for word in words)
        # Rounded, because sums of floats depend on their order.
        return {word: round(math.log(len(self._words) / n), 6) for word, n in counts.items()}

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """For each word, the messages that contain it or are near to one that does."""
        places: dict[str, set[int]] = defaultdict(set)
        last = len(self._words)
        for index, words in enumerate(self._words):
            for word in words:
                places[word].update(range(max(0, index - _NEAR), min(last, index + _NEAR + 1)))
        return places


def _stated(text: str, fact: Fact) -> bool:
    return Wording(text).says(fact).stated


def _without(part: Part, copies: Sequence[Copy]) -> str:
    """A part's text without some of its copies; their surroundings stay separate."""
    return " \u2026 ".join(_between(part.text, copies))


def _between(text: str, copies: Sequence[Copy]) -> Iterator[str]:
    start = 0
    for copy in copies:
        yield text[start : copy.start]
        start = copy.end
    yield text[start:]


# The metrics of a run that apply to one prompt, which is the context.
FIGURES = (
    "amnesia", "amnesia_effective", "amnesia_corrected", "decoys_found", "guessable",
    "stale", "conflict", "cascade", "deletion_leak", "mutation", "severity",
    "instruction_must", "instruction_must_not", "instruction_file", "open_loops",
    "resurrected_rate", "presumed_rate",
    "verbatim_recency", "verbatim_tail_messages", "structural_validity", "rejected_calls",
    "reference_closure", "order_fidelity", "novelty", "drift_words", "drift_identifiers",
)  # fmt: skip
# For needs after the end, by distance at the end.
RECALL = ("recall_20k", "recall_10k", "recall_40k")
SYSTEM = "system"  # the place of facts in the system blocks


class FactState(msgspec.Struct, frozen=True):
    """A fact that is due at the end of the original, and its state."""

    fact: str
    kind: FactType
    key: str
    value: str
    state: str  # one of sim.facts.STATES
    # Ids of the messages with the evidence; or ``compacted:1`` (a position), ``system``.
    where: tuple[str, ...]
    needs: int  # number of needs


@dataclass(frozen=True)
class Score:
    """The remaining part of a conversation in a compacted context."""

    original: Conversation  # with its labels
    context: Attributed
    model: Model  # its tokenizer counts
    catalogue: Catalogue = field(repr=False)
    left_out: tuple[str, ...] = ()  # ids of facts of the file that no message states in words

    @cached_property
    def labelled(self) -> bool:
        """Whether facts come from labels; else they are inferred from later actions."""
        return bool(self.original.facts)

    @cached_property
    def said(self) -> Messages:
        """The messages of the original without abandoned branches."""
        return Messages(spoken(self.original))

    @cached_property
    def _labels(self) -> tuple[tuple[Fact, ...], tuple[Need, ...]]:
        known = self.original.facts, self.original.needs
        return known if self.labelled else inferred(self.original)

    @cached_property
    def later(self) -> bool:
        """Whether needs come after the end; otherwise earlier needs are the weights of facts."""
        return any(not need.at for need in self._labels[1])

    @cached_property
    def weights(self) -> Counter[str]:
        """The number of needs of each fact, by id."""
        return Counter(need.fact for need in self._labels[1] if bool(need.at) != self.later)

    @cached_property
    def reading(self) -> RunData:
        """A single call after the last message, with the context as its prompt."""
        facts, needs = self._labels
        if self.context.inferred:
            facts = tuple(self._beyond_chance(facts))
        closing = "closing"
        while any(message.id == closing for message in self.original.messages):
            closing += "~"
        last = Message(closing, "assistant", (verbatim(closing, "text", ""),), call=Call())
        conversation = dataclasses.replace(
            self.original,
            events=(*self.original.events, last),
            facts=facts,
            needs=tuple(structs.replace(need, at=need.at or closing) for need in needs),
        )
        view, model = self.context.view, self.model.name
        step = Step(
            closing, model, 0.0, view.system, 0, view.messages, self.said, Usage(), {},
            rewrite=True, compaction=True,
        )  # fmt: skip
        header = Header(conversation.id, conversation.digest, "score", "", model, 0, 0)
        return RunData(Trace(header, [step], self.catalogue), conversation)

    def _beyond_chance(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Facts; those that external text may state by chance lose their words.

        Then only their origins can show that the context holds them.
        """
        chance = Chance(self.said, self.context)
        for fact in facts:
            if fact.decoy or not chance.explains(fact):
                yield fact
            else:
                yield structs.replace(fact, key="", value="", aliases=(), variants=())

    @cached_property
    def found(self) -> tuple[FactState, ...]:
        """Every fact that is due at the end, in the order of the labels."""
        ledger, states = self.reading.ledger, self.reading.states[0]
        facts = {fact.id: fact for fact in self._labels[0]}
        due = ledger.moments[self.reading.trace.steps[0].answer].due
        witness = _Whereabouts(ledger, self.context.view)
        return tuple(
            FactState(
                fact.id,
                fact.kind,
                facts[fact.id].key,
                facts[fact.id].value,
                states.of(number),
                witness.of(number, states.of(number)),
                self.weights[fact.id],
            )
            for number, fact in enumerate(ledger.facts)
            if due >> number & 1
        )

    @cached_property
    def states(self) -> dict[FactType, Counter[str]]:
        """The number of due facts in each state, by type."""
        counts: dict[FactType, Counter[str]] = {}
        for fact in self.found:
            counts.setdefault(fact.kind, Counter())[fact.state] += 1
        return counts

    @cached_property
    def figures(self) -> dict[str, float | None]:
        """Figures by name: see docs/metrics.md; ``amnesia_need`` is :meth:`amnesia_need`."""
        figures = {name: METRICS[name].compute(self.reading) for name in FIGURES}
        by_type = {f"amnesia_{kind}" for kind in self.states}
        figures |= {n: METRICS[n].compute(self.reading) for n in METRICS if n in by_type}
        recall = {name: METRICS[name].compute(self.reading) for name in RECALL}
        return {**recall, "amnesia_need": self.amnesia_need, **figures}

    @property
    def amnesia_need(self) -> float | None:
        """The share of the needs of due facts that are neither verbatim nor intact.

        Needs after the end of the original count if the labels have any. Otherwise each fact counts
        as often as it was needed in the original. Facts in an unknown state are left out.
        """
        known = [each for each in self.found if each.state != "unknown"]
        needs = sum(each.needs for each in known)
        met = sum(each.needs for each in known if each.state in ("verbatim", "intact"))
        return 1 - met / needs if needs else None

    @property
    def before(self) -> int:
        """Tokens of the original, with its system prompt if known."""
        return self._count(View(self.original.system, self.said))

    @property
    def after(self) -> int:
        """Tokens of the context."""
        return self._count(self.context.given)

    def _count(self, view: View) -> int:
        return blocks_of(self.model.tokenizer).of_view(view)

    @cached_property
    def faults(self) -> tuple[str, ...] | None:
        """The faults of the summary, see ``summarize.FAULTS``; None without a summary.

        All summary parts are judged together. Their maximum length is unknown.
        """
        view = self.context.view
        parts = [*view.system, *(part for message in view.messages for part in message.parts)]
        written = [part for part in parts if part.kind == "summary"]
        if not written:
            return None
        request = SummaryRequest(tuple(self.said), sys.maxsize)
        return faults(request, written, self.model.tokenizer.text)


def spoken(conversation: Conversation) -> list[Message]:
    """The messages of a conversation without abandoned branches."""
    messages: list[Message] = []
    for event in conversation.events:
        if isinstance(event, Rewind):
            indices = [index for index, message in enumerate(messages) if message.id == event.to]
            del messages[indices[-1] + 1 if indices else 0 :]
        elif isinstance(event, Message):
            messages.append(event)
    return messages


class _Whereabouts:
    """Finds the messages of a context that show the state of a fact."""

    def __init__(self, ledger: Ledger, view: View) -> None:
        witness = Witness(ledger)
        self._ledger = ledger
        self._shown = [(message.id, witness.message(message)) for message in view.messages]
        self._shown.insert(0, (SYSTEM, witness.parts(view.system)))

    def of(self, fact: int, state: str) -> tuple[str, ...]:
        """Ids of the messages with the evidence for a state."""
        bit, older = 1 << fact, self._ledger.older.get(fact, 0)
        masks: dict[str, Callable[[Evidence], int]] = {
            "verbatim": lambda shown: shown.verbatim & self._origins(fact),
            "conflict": lambda shown: shown.stated & (bit | older),
            "intact": lambda shown: shown.intact & bit,
            "stale": lambda shown: (shown.stated | shown.verbatim) & older,
            "resurrected": lambda shown: (shown.stated | shown.verbatim) & older,
            "mutated": lambda shown: shown.wrong & bit,
            "presumed": lambda shown: shown.wrong & bit,
            "key_only": lambda shown: shown.key & bit,
            "retrievable": lambda shown: shown.handle & bit,
            "unknown": lambda shown: shown.opaque & bit,
        }
        shows = masks.get(state)
        return tuple(id for id, evidence in self._shown if shows and shows(evidence))

    def _origins(self, fact: int) -> int:
        index, length = self._ledger.wholes.get(fact, (fact, 1))
        return ((1 << length) - 1) << index


_RARE = ("resurrected", "presumed")  # states of some types of facts only; shown if any occurs
_NAMED = 5  # how many ids of facts a line names
_FIGURES = (Column("figure", words=True), Column("value"), Column("meaning", words=True))


def report(score: Score) -> Document:
    """Report a score: its basis, states by type, figures, and the validity of its summary."""
    blocks: list[Block] = [
        Heading(name(score.original.id)),
        sentences(_about(score)),
        *([_states(score)] if score.found else []),
        Table(_FIGURES, rows(_figures(score))),
        sentences(_verdict(score)),
    ]
    return Document(tuple(blocks), data=partial(_data, score))


def _data(score: Score) -> dict[str, Any]:
    context = score.context
    return {
        "original": score.original.id,
        "provenance": "inferred" if context.inferred else "declared",
        "words": context.words,
        "words_found": context.found,
        "aligned": _aligned(score) if context.inferred else None,
        "labels": "given" if score.labelled else "inferred",
        "needs": "after the end" if score.later else "in the original",
        "facts_left_out": as_data(score.left_out),
        "model": score.model.name,
        "tokens_before": score.before,
        "tokens_after": score.after,
        "tokens_ratio": _ratio(score),
        "figures": as_data(score.figures),
        "states": {kind: {s: counts[s] for s in STATES} for kind, counts in score.states.items()},
        "summary_faults": as_data(score.faults),
        "facts": as_data(score.found),
    }


def facts_as_csv(facts: Iterable[FactState]) -> str:
    """Write one row per fact: its state, and the messages with the evidence."""
    return csv_of(hidden(*FactState.__struct_fields__), facts)


def _ratio(score: Score) -> float | None:
    return score.after / score.before if score.before else None


def _aligned(score: Score) -> float | None:
    return score.context.found / score.context.words if score.context.words else None


def _about(score: Score) -> list[str]:
    context = score.context
    if context.inferred:
        share = show(_aligned(score), "share")
        provenance = (
            f"provenance inferred, not declared: {share} of {counted(context.words, 'word')} are "
            f"in the original, in equal messages or in runs of {LEAST} or more words"
        )
    else:
        provenance = "provenance declared: the context names the messages that it stands for"
    facts = "from labels" if score.labelled else "inferred: what the recorded actions use later"
    needs = "after the end" if score.later else "as often as in the original"
    due = f"facts {facts}; {counted(len(score.found), 'fact')} due at the end, needed {needs}"
    tokens = (
        f"tokens {score.before:,} before, {score.after:,} after "
        f"({show(_ratio(score), 'share')}), as {name(score.model.name)} counts"
    )
    return [provenance, due, *_left_out(score), tokens]


def _left_out(score: Score) -> list[str]:
    if not score.left_out:
        return []
    ids = enumerated([name(id) for id in score.left_out], _NAMED)
    facts = counted(len(score.left_out), "fact")
    return [f"left out, as no message says them in words: {facts} ({ids})"]


def _states(score: Score) -> Table:
    """The number of facts of each type in each state, and the share that is lost."""
    together = sum(score.states.values(), Counter[str]())
    columns = [state for state in STATES if together[state] or state not in _RARE]
    heads = ("due", *columns, "amnesia")
    lines = []
    for kind, states in score.states.items():
        lost = show(score.figures[f"amnesia_{kind}"], "share")
        lines.append((kind, f"{states.total():,}", *(f"{states[s]:,}" for s in columns), lost))
    mean = show(score.figures["amnesia"], "share")
    numbers = (f"{together[s]:,}" for s in columns)
    lines.append(("all; mean over types", f"{together.total():,}", *numbers, mean))
    return Table((Column("type", words=True), *map(Column, heads)), rows(lines))


def _figures(score: Score) -> list[tuple[str, str, str]]:
    """The figures with a value; those by type are next to the states."""
    return [
        (name, show(value, METRICS[name].unit), METRICS[name].meaning)
        for name, value in score.figures.items()
        if value is not None and name.removeprefix("amnesia_") not in score.states
    ]


def _verdict(score: Score) -> list[str]:
    if score.faults is None:
        return ["The context has no summary."]
    if not score.faults:
        return ["No fault was found in the summary."]
    return [f"The summary may be faulty. {FAULTS[fault]}" for fault in score.faults]
