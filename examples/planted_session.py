"""Sessions full of facts whose fates are planted. A library for ``validate_planted``; no script.

A session is made of segments. In each, a person states facts, many to a message, and then talks
of nothing for a while, so that a strategy that keeps the last messages keeps no fact in them. At
the end one call needs everything that was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from msgspec.structs import replace

from compactlab import Conversation, Message
from compactlab.sim.core.conversation import Fact, FactType, Need
from compactlab.sim.core.message import Call, Source, verbatim
from compactlab.sim.core.stream import stream
from compactlab.strategies.summarizers.lossy import Figure, Lossy

TURNS, QUIET = 3, 2  # turns of a segment in which facts are stated, and in which none are
PROLOGUE = 2  # quiet turns before the first segment, in place of a summary and its tail


class Group(NamedTuple):
    """Facts that share a type and a polarity, and so their fates.

    Parameters
    ----------
    kind, polarity
        Which facts.
    revised
        Whether each takes the place of an older value, said right before it.
    shape
        How one is stated.
    """

    kind: FactType
    polarity: Literal["is", "must", "must_not"]
    revised: bool
    shape: str

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.kind}, {self.polarity}" + ", revised" * self.revised


GROUPS = (
    Group("decision", "is", False, "{key} is {value} here."),
    Group("constraint", "must", False, "{key} must be {value}."),
    Group("constraint", "must_not", False, "{key} must not be {value}."),
    Group("entity", "is", True, "{key} is {value} now."),
)
# One group always has the fates that were published: arXiv 2608.22752, as in fates.toml.
PUBLISHED = GROUPS[2]
CLIFF = 0.53, 0.66


class Rates(NamedTuple):
    """What is planted for a group.

    Parameters
    ----------
    first, later
        How likely a fact stays intact the first time it is summarised, and each time after that.
    mutated, stale
        Of what is not kept, the share that is damaged, and that keeps the older value.
    """

    first: float
    later: float
    mutated: float
    stale: float


Planted = dict[Group, Rates]


def planted(seed: int, alike: bool) -> Planted:
    """Draw rates: the same ones for all facts, or others for each type and polarity."""
    found = {}
    for group in GROUPS:
        dice = stream(seed, "planted", "all" if alike else group.name)
        drawn = Rates(*(dice.uniform(*ends) for ends in ((0.2, 0.9), (0.4, 0.95))), 0, 0)
        if group == PUBLISHED and not alike:
            drawn = Rates(*CLIFF, 0, 0)
        found[group] = drawn._replace(mutated=dice.uniform(0.1, 0.5), stale=dice.uniform(0.1, 0.5))
    return found


@dataclass(frozen=True)
class PlantedLossy(Lossy):
    """Chances by a table of one's own, of the same make as that of the product.

    Parameters
    ----------
    table
        Its figures.
    """

    table: tuple[Figure, ...] = ()

    def figure(self, name: str, fact: Fact) -> float:
        """The value of a figure for a fact."""
        return next(f for f in self.table if f.name == name and f.fits(fact)).at(self.level)


def chances_of(rates: Planted) -> PlantedLossy:
    """Rates as chances that depend on neither place nor ratio."""
    rows = [
        _row(name, value, (group.kind,), (group.polarity,))
        for group, of_group in rates.items()
        for name, value in of_group._asdict().items()
    ]
    rows += [_row("middle", 1), _row("power", 0), _row("usual_ratio", 1), _row("leak", 0)]
    return PlantedLossy(table=tuple(rows))


def _row(
    name: str, value: float, kinds: tuple[str, ...] = (), polarity: tuple[str, ...] = ()
) -> Figure:
    return Figure(name, value, value, value, "planted", "-", "-", "-", kinds, polarity)


@dataclass
class Session:
    """A session that is being told.

    Parameters
    ----------
    seed
        Of its values.
    quiet
        Blank words in each quiet message, so that it weighs something.
    """

    seed: int
    quiet: int = 0
    messages: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    def turn(self, facts: list[tuple[Fact, str]]) -> None:
        """A person states facts, or none, and is answered."""
        id = f"m{len(self.messages)}"
        text = ""
        for fact, said in facts:
            origin = Source(id, 0, len(text), len(text) + len(said))
            self.facts.append(replace(fact, origin=(origin,)))
            text += f"{said} "
        padding = "Well, well. " * (0 if facts else self.quiet)
        self.messages.append(
            Message(id, "user", (verbatim(id, "text", text or f"Go on. {padding}"),))
        )
        self.answer()

    def answer(self) -> None:
        """The agent answers."""
        id = f"m{len(self.messages)}"
        said = verbatim(id, "text", "All right.")
        self.messages.append(Message(id, "assistant", (said,), call=Call()))

    def conversation(self) -> Conversation:
        """All of it; the last call needs every fact."""
        last = self.messages[-1].id
        needs = tuple(Need(fact.id, last) for fact in self.facts)
        events, facts = tuple(self.messages), tuple(self.facts)
        id = f"planted-{self.seed}"
        return Conversation(id, "planted", events, (), facts, needs, seed=self.seed)


def session(seed: int, sizes: Sequence[int], quiet: int = 0) -> Conversation:
    """Make a session.

    Parameters
    ----------
    seed
        Of its values.
    sizes
        Of each segment: how many facts of each group are stated in each turn that states any.
    quiet
        How much is talked of nothing.
    """
    told = Session(seed, quiet)
    for _ in range(PROLOGUE):
        told.turn([])
    for segment, each in enumerate(sizes):
        for number in range(TURNS):
            told.turn(list(_facts(seed, segment * TURNS + number, each)))
        for _ in range(QUIET):
            told.turn([])
    return told.conversation()


def _facts(seed: int, turn: int, each: int) -> Iterator[tuple[Fact, str]]:
    """What is stated in a turn, and in which words; an old value stands beside the new one."""
    values = stream(seed, "values", turn)
    for number in range(each):
        for index, group in enumerate(GROUPS):
            name = f"item {turn}-{number}-{index}"
            older: tuple[str, ...] = ()
            if group.revised:
                value = f"{values.getrandbits(48):012x}"
                first = Fact(f"{name} old", group.kind, name, value)
                yield first, f"{name} is {value} here."
                older = (first.id,)
            value = f"{values.getrandbits(48):012x}"
            made = Fact(name, group.kind, name, value, (), group.polarity, supersedes=older)
            yield made, group.shape.format(key=name, value=value)
