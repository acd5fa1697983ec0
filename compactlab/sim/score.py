"""What is left of a conversation in a context that somebody compacted, without replaying it."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
from msgspec import structs

from compactlab.sim.attribution import Attributed
from compactlab.sim.blocks import blocks_of
from compactlab.sim.conversation import Conversation, Fact, FactType, Need, Rewind
from compactlab.sim.facts import Ledger, inferred
from compactlab.sim.facts.evidence import Evidence, Witness
from compactlab.sim.message import Call, Message, Usage, verbatim
from compactlab.sim.messages import Messages
from compactlab.sim.metrics import METRICS, Reading
from compactlab.sim.model import Catalogue, Model
from compactlab.sim.sanity import faults
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.trace import Header, Step, Trace
from compactlab.sim.view import View

# Of the metrics of a run, those that one compaction has: each of one prompt, which is the context.
FIGURES = (
    "amnesia", "amnesia_effective", "amnesia_corrected", "decoys_found", "guessable",
    "stale", "conflict", "cascade", "deletion_leak", "mutation", "severity",
    "instruction_must", "instruction_must_not", "open_loops",
    "verbatim_recency", "verbatim_tail_messages", "structural_validity", "rejected_calls",
    "reference_closure", "order_fidelity", "novelty", "drift_words", "drift_identifiers",
)  # fmt: skip
SYSTEM = "system"  # where what stands in the system blocks is said to stand


class Found(msgspec.Struct, frozen=True):
    """One fact that is due at the end of the original, and what became of it.

    Parameters
    ----------
    fact
        Its id.
    kind, key, value
        What it is, what it is about and what it says.
    state
        One of ``compactlab.sim.facts.STATES``.
    where
        Ids of the messages of the context from which that follows: those of the original that
        stand there, others by their place (``compacted:1``), ``system`` for its system blocks.
        Empty for what is lost.
    needs
        How often it is needed, as the figures weigh it.
    """

    fact: str
    kind: FactType
    key: str
    value: str
    state: str
    where: tuple[str, ...]
    needs: int


@dataclass(frozen=True)
class Score:
    """What is left of a conversation in a compacted context.

    Parameters
    ----------
    original
        The conversation, with its labels if it has any.
    context
        The context, with provenance.
    model
        By which tokens are counted.
    catalogue
        The models that are known.
    """

    original: Conversation
    context: Attributed
    model: Model
    catalogue: Catalogue = field(repr=False)

    @cached_property
    def labelled(self) -> bool:
        """Whether somebody said what the facts are; else they are what actions go on to use."""
        return bool(self.original.facts)

    @cached_property
    def said(self) -> Messages:
        """The messages of the original, without those of branches that were given up."""
        return Messages(spoken(self.original))

    @cached_property
    def _labels(self) -> tuple[tuple[Fact, ...], tuple[Need, ...]]:
        known = self.original.facts, self.original.needs
        return known if self.labelled else inferred(self.original)

    @cached_property
    def later(self) -> bool:
        """Whether needs come after the end; else those before it tell how much a fact is used."""
        return any(not need.at for need in self._labels[1])

    @cached_property
    def weights(self) -> Counter[str]:
        """How often each fact is needed, by its id."""
        return Counter(need.fact for need in self._labels[1] if bool(need.at) != self.later)

    @cached_property
    def reading(self) -> Reading:
        """A single call, which is sent the context when all has been said."""
        facts, needs = self._labels
        closing = "closing"
        while any(message.id == closing for message in self.original.messages):
            closing += "~"
        last = Message(closing, "assistant", (verbatim(closing, "text", ""),), call=Call())
        told = dataclasses.replace(
            self.original,
            events=(*self.original.events, last),
            facts=facts,
            needs=tuple(structs.replace(need, at=need.at or closing) for need in needs),
        )
        view, name = self.context.view, self.model.name
        step = Step(
            closing, name, 0.0, view.system, 0, view.messages, self.said, Usage(), {},
            rewrite=True, compaction=True,
        )  # fmt: skip
        header = Header(told.id, told.digest, "score", "", name, 0, 0)
        return Reading(Trace(header, [step], self.catalogue), told)

    @cached_property
    def found(self) -> tuple[Found, ...]:
        """Every fact that is due at the end, in the order of the labels."""
        ledger, states = self.reading.ledger, self.reading.states[0]
        due = ledger.moments[self.reading.trace.steps[0].answer].due
        witness = _Whereabouts(ledger, self.context.view)
        return tuple(
            Found(
                fact.id,
                fact.kind,
                fact.key,
                fact.value,
                states.of(number),
                witness.of(number, states.of(number)),
                self.weights[fact.id],
            )
            for number, fact in enumerate(ledger.facts)
            if due >> number & 1
        )

    @cached_property
    def states(self) -> dict[FactType, Counter[str]]:
        """How many due facts of each type are in each state."""
        counts: dict[FactType, Counter[str]] = {}
        for found in self.found:
            counts.setdefault(found.kind, Counter())[found.state] += 1
        return counts

    @cached_property
    def figures(self) -> dict[str, float | None]:
        """Figures by name: see docs/metrics.md; ``amnesia_need`` is :meth:`amnesia_need`."""
        figures = {name: METRICS[name].compute(self.reading) for name in FIGURES}
        by_type = {f"amnesia_{kind}" for kind in self.states}
        figures |= {n: METRICS[n].compute(self.reading) for n in METRICS if n in by_type}
        return {"amnesia_need": self.amnesia_need, **figures}

    @property
    def amnesia_need(self) -> float | None:
        """Share of the needs of due facts that are neither verbatim nor intact.

        Needs after the end of the original, if the labels have such; else each fact counts as
        often as it was needed in the original. Facts in an unknown state are left out.
        """
        known = [each for each in self.found if each.state != "unknown"]
        needs = sum(each.needs for each in known)
        met = sum(each.needs for each in known if each.state in ("verbatim", "intact"))
        return 1 - met / needs if needs else None

    @property
    def before(self) -> int:
        """Tokens of the original, its system prompt included, as far as it is known."""
        return self._count(View(self.original.system, self.said))

    @property
    def after(self) -> int:
        """Tokens of the context."""
        return self._count(self.context.given)

    def _count(self, view: View) -> int:
        return blocks_of(self.model.tokenizer).of_view(view)

    @cached_property
    def faults(self) -> tuple[str, ...] | None:
        """What is wrong with the summary, see :mod:`compactlab.sim.sanity`; None if there is none.

        Judged are all parts together that are a summary. How long it might be is not known.
        """
        view = self.context.view
        parts = [*view.system, *(part for message in view.messages for part in message.parts)]
        written = [part for part in parts if part.kind == "summary"]
        if not written:
            return None
        request = SummaryRequest(tuple(self.said), sys.maxsize)
        return faults(request, written, self.model.tokenizer.text)


def spoken(conversation: Conversation) -> list[Message]:
    """The messages of a conversation, without those of branches that were given up."""
    said: list[Message] = []
    for event in conversation.events:
        if isinstance(event, Rewind):
            places = [place for place, message in enumerate(said) if message.id == event.to]
            del said[places[-1] + 1 if places else 0 :]
        elif isinstance(event, Message):
            said.append(event)
    return said


class _Whereabouts:
    """Which messages of a context tell the state of a fact."""

    def __init__(self, ledger: Ledger, view: View) -> None:
        witness = Witness(ledger)
        self._ledger = ledger
        self._shown = [(message.id, witness.message(message)) for message in view.messages]
        self._shown.insert(0, (SYSTEM, witness.parts(view.system)))

    def of(self, fact: int, state: str) -> tuple[str, ...]:
        """Ids of the messages from which a state follows."""
        bit, older = 1 << fact, self._ledger.older.get(fact, 0)
        told: dict[str, Callable[[Evidence], int]] = {
            "verbatim": lambda shown: shown.verbatim & self._origins(fact),
            "conflict": lambda shown: shown.said & (bit | older),
            "intact": lambda shown: shown.intact & bit,
            "stale": lambda shown: (shown.said | shown.verbatim) & older,
            "mutated": lambda shown: shown.key & bit,
            "retrievable": lambda shown: shown.handle & bit,
            "unknown": lambda shown: shown.opaque & bit,
        }
        tells = told.get(state)
        return tuple(id for id, shown in self._shown if tells and tells(shown))

    def _origins(self, fact: int) -> int:
        place, length = self._ledger.wholes.get(fact, (fact, 1))
        return ((1 << length) - 1) << place
