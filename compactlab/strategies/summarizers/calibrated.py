"""Calibrated: a fitted model decides which facts a summary keeps, as in recorded summaries."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

import msgspec

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.toml import AMOUNT, NUMBER, SIZE, TEXT, Section, parse_toml, read_toml
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.facts.occurrences import normal, path_ends
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies.summarizers.lossy import audible_at
from compactlab.strategies.summarizers.sampling import (
    Drawing,
    Line,
    Purpose,
    is_summary,
    recited,
    statements_in,
)
from compactlab.strategies.summarizers.writer import Unbound

_COUNT = Tokenizer()  # o200k: the unit of lengths and ages

# Predictors of a fact's fate, measured in recorded summaries and in new ones.

SHORT = 500  # largest message of the user, in characters, that a summary may quote
_NUMBER = re.compile(r"[\d.,:%+-]+")
_ROOT = re.compile(r"/|~/|[A-Za-z]:[/\\]")
_PATHS = ("artifact", "file")
# Substitutes for types that the fit did not include: the first fitted type is used. Facts that
# people state use the types that people state, because recordings have no labels.
_LIKE = {"artifact": ("file",), "tool_detail": ("value",), "value": ("tool_detail",)}
_SAID = ("entity", "value")


class Traits(NamedTuple):
    """Predictors of a fact's fate."""

    kind: str  # its type; "number" for a bare number of any type
    mentions: int  # messages that state it; 0 if only the previous summary does
    age: int  # tokens (o200k) since the last of them, up to the end of the summarised part
    carried: bool  # whether the previous summary states it
    rooted: bool  # whether it is a path from the root on
    messages: tuple[str, ...] = ()  # ids of the user's short messages that state it

    @property
    def features(self) -> dict[str, float]:
        """The model's variables, except the kind."""
        return {
            "mentions": math.log2(max(1, self.mentions)),
            "age": math.log2(1 + self.age / 1000),
            "carried": float(self.carried and self.mentions > 0),
            "not_restated": float(self.mentions == 0),
            "rooted": float(self.rooted),
        }


def traits_in(witness: Witness, request: SummaryRequest) -> dict[int, Traits]:
    """Return the facts that a request states, by number, with their predictors."""
    ledger, facts = witness.ledger, statements_in(witness, request)
    notes = {s.id for p in _notes(request) if p.kind == "verbatim" for s in p.sources}
    mentions: Counter[int] = Counter()
    ages: dict[int, int] = {}
    spoken: dict[int, list[str]] = {}
    tokens = 0
    for message in reversed(request.messages):
        if not is_summary(message):
            short = is_short(message)
            for number in _stated(witness, message):
                mentions[number] += 1
                ages.setdefault(number, tokens)
                if short:
                    spoken.setdefault(number, []).append(message.id)
            tokens += _COUNT.message(message)
    traits = {}
    for number in numbers((facts.fresh | facts.carried) & ~facts.deleted):
        fact = ledger.facts[number]
        carried = bool(facts.carried >> number & 1) or any(s.id in notes for s in fact.origin)
        traits[number] = Traits(
            "number" if _NUMBER.fullmatch(fact.value) else fact.kind,
            # A fact that several messages state only together counts once.
            1 if fact.whole or not (carried or mentions[number]) else mentions[number],
            ages.get(number, tokens),
            carried,
            is_path(fact) and is_rooted(fact),
            tuple(spoken.get(number, ())),
        )
    return traits


def _stated(witness: Witness, message: Message) -> Iterable[int]:
    """Return the facts that a message states, or if it is unchanged, helps to state."""
    if witness.ledger.messages.get(message.id) is message:
        return dict.fromkeys(n for n, _, _ in witness.ledger.origins.get(message.id, ()))
    shown = witness.message(message)
    return numbers(witness.ledger.held(shown.verbatim) | shown.intact)


def _notes(request: SummaryRequest) -> list[Part]:
    """Return the previous summary, from the field or from messages."""
    told = (part for m in request.messages if is_summary(m) for part in m.parts)
    return [*request.previous, *told]


def _tokens(request: SummaryRequest) -> int:
    """Count all tokens to summarise, in o200k."""
    every = (*request.previous, *(part for m in request.messages for part in m.parts))
    return sum(_COUNT.text(part.text) for part in every)


def is_short(message: Message) -> bool:
    """Whether a person typed a message short enough to quote."""
    plain = all(part.type == "text" and part.kind == "verbatim" for part in message.parts)
    return message.starts_turn and plain and 0 < len(message.text.strip()) <= SHORT


def is_path(fact: Fact) -> bool:
    """Whether a fact is a path with a folder in it."""
    return fact.kind in _PATHS and "/" in fact.value.strip("/")


def is_rooted(path: Fact) -> bool:
    """Whether a path begins at the root or at a home folder."""
    return _ROOT.match(path.value) is not None


def has_ending(path: Fact) -> bool:
    """Whether the path's name has a file suffix."""
    return "." in path.value.rstrip("/").rpartition("/")[2].lstrip(".")


def length(tokens: float) -> float:
    """Convert the length of a summary to the model's variable."""
    return math.log2(max(1.0, tokens) / 3000)


# The fitted model: ``calibrated.toml``, or an output of ``examples/calibrate.py``.


@dataclass(frozen=True)
class Client:
    """Statistics of a client's summaries."""

    summaries: int
    messages: int  # short messages of the user, of three words or more
    quoted: float  # share of them quoted verbatim in the summary
    before: int  # messages quoted in the previous summary
    repeated: float  # share of them quoted again in the next one
    # Length in tokens (o200k): the median for an input of 100,000, the change of its logarithm per
    # doubling of the input, the standard deviation of the logarithm, and the limits.
    tokens: float
    slope: float
    sigma: float
    shortest: int
    longest: int

    def usual(self, span: int, deviation: float = 0.0) -> float:
        """Return the length of a summary, for its input and a deviation in standard deviations."""
        middle = math.log(self.tokens) + self.slope * math.log2(max(1, span) / 100_000)
        return min(max(math.exp(middle + self.sigma * deviation), self.shortest), self.longest)


@dataclass(frozen=True)
class Paths:
    """How paths of two or more components are shortened."""

    kept: int
    shortened: float  # share of the kept ones without their first folders
    lost: int
    several: float  # share of the lost ones of which two or more components are kept
    base: float  # share of lost files of which only the name is kept


@dataclass(frozen=True)
class Calibration:
    """A model of which facts summaries keep."""

    source: str  # data and date of the fit
    client: str  # the client of the fitted summaries
    sessions: int
    facts: int
    # Log odds: of "all", of kinds, of features, and per doubling of a summary's "length".
    coefficients: Mapping[str, float]
    paths: Mapping[str, Paths]  # those from the "root" on, and "other" ones
    clients: Mapping[str, Client]

    def chance(self, traits: Traits, tokens: float) -> float:
        """Return the probability that a summary keeps a fact that no quoted message states."""
        known = self.coefficients
        names = (traits.kind, *_LIKE.get(traits.kind, _SAID))
        odds = known["all"] + next((known[name] for name in names if name in known), 0.0)
        features = {**traits.features, "length": length(tokens)}
        odds += sum(known.get(name, 0.0) * value for name, value in features.items())
        return round(1 / (1 + math.exp(-odds)), 9)

    def overall(self, traits: Traits, tokens: float) -> float:
        """Return the probability that it is kept, including quotations of the fitted client."""
        lost = (1 - self.clients[self.client].quoted) ** len(traits.messages)
        return 1 - (1 - self.chance(traits, tokens)) * lost

    def toml(self) -> str:
        """Write the model as TOML; reading it gives an equal model."""
        lines = [_HEADER, *(f"{name} = {json.dumps(getattr(self, name))}" for name in _HEAD)]
        tables = {"coefficients": dict(self.coefficients)}
        tables |= {f"paths.{name}": asdict(each) for name, each in self.paths.items()}
        tables |= {f"clients.{name}": asdict(each) for name, each in self.clients.items()}
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{key} = {value!r}" for key, value in table.items())]
        return "\n".join(lines) + "\n"


_HEADER = "# Written by examples/calibrate.py; the package's own model by `make calibration`."
PATHS = ("root", "other")
_HEAD = ("source", "client", "sessions", "facts")
_WHOLE = ("summaries", "messages", "before", "shortest", "longest", "kept", "lost")


def find_calibration(profile: str = "") -> Calibration:
    """Load a calibration: the package's own, or that of a file."""
    if profile:
        return _calibration(Section(read_toml(Path(profile), "calibration"), profile))
    return _built_in()


@cache
def _built_in() -> Calibration:
    text = files(__package__).joinpath("calibrated.toml").read_text("utf-8")
    return _calibration(Section(parse_toml(text), "calibrated.toml"))


def _calibration(whole: Section) -> Calibration:
    whole.only([field.name for field in fields(Calibration)])
    coefficients, paths = whole.section("coefficients"), whole.section("paths").only(PATHS)
    coefficients.take("all", NUMBER)
    made = Calibration(
        whole.take("source", TEXT),
        whole.take("client", TEXT),
        whole.take("sessions", SIZE),
        whole.take("facts", SIZE),
        {name: float(coefficients.take(name, NUMBER)) for name in coefficients.values},
        {name: _table(Paths, paths.section(name)) for name in PATHS},
        {name: _table(Client, row) for name, row in whole.section("clients").sections()},
    )
    if made.client not in made.clients:
        raise whole.fault("client", unknown("client", made.client, made.clients))
    return made


_Table = TypeVar("_Table", Paths, Client)


def _table(cls: type[_Table], row: Section) -> _Table:
    names = [field.name for field in fields(cls)]
    row.only(names)
    kinds = {"slope": NUMBER} | dict.fromkeys(_WHOLE, SIZE)
    return cls(**{name: row.take(name, kinds.get(name, AMOUNT)) for name in names})


@dataclass(frozen=True)
class Calibrated(Unbound):
    """Keep each fact with a probability that was fitted to summaries of real agents.

    A simulation: the probability that a fact is kept depends on its kind, the number and age of its
    statements, the previous summary, and the summary's length. The coefficients were fitted to
    recorded compactions. ``docs/summarizers.md`` has them, with n and their errors on other
    sessions. The rates of shortened paths and quoted user messages, and the length, are also from
    recordings. Sentences without any fact's key or value are filler.

    It uses the conversation's labelled facts, or facts inferred from its actions if it has none.
    The fit used inferred facts. Types that only labels have use the figures of facts first stated
    by people or the agent: an extrapolation. Draws are keyed by seed, conversation, fact, round and
    ``draw``, so all strategies get the same draws.

    Parameters
    ----------
    profile
        A file of ``examples/calibrate.py``; "" for the model of the package.
    client
        Client whose quoting and lengths are used; "" for the client that was fitted.
    draw
        Which of many draws.
    """

    profile: str = ""
    client: str = ""
    draw: int = 0
    simulated: ClassVar[str] = "the fate of each fact is drawn, by rates fitted to real summaries"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile or self.client:
            clients = self.calibration.clients
            if self.client and self.client not in clients:
                raise UsageError(unknown("client", self.client, clients))

    @cached_property
    def calibration(self) -> Calibration:
        return find_calibration(self.profile)

    @property
    def named_files(self) -> tuple[str, ...]:
        return (self.profile,) if self.profile else ()

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        client, audible = self.client or self.calibration.client, audible_at("mid")
        return BoundCalibrated(
            conversation, seed, self.spec, self.draw, audible, self.calibration, client
        )


@dataclass(frozen=True, eq=False)
class BoundCalibrated(Drawing):
    """A :class:`Calibrated` bound to a conversation's facts."""

    calibration: Calibration
    client: str
    simulated: ClassVar[str] = Calibrated.simulated
    purpose: ClassVar[str] = "calibrated"

    def size(self, request: SummaryRequest, round: int, given: int) -> int:
        """Draw a realistic length in o200k, and convert it to the model's tokens."""
        span = sum(map(_COUNT.message, request.messages))
        deviation = self.dice("size", round).gauss()
        tokens = self.calibration.clients[self.client].usual(span, deviation)
        return int(tokens * given / max(1, _tokens(request)))

    def lines(self, request: SummaryRequest, purpose: Purpose, ratio: float) -> Iterator[Line]:
        """Yield quoted messages, then the results for all facts that they do not contain."""
        quoted = set()
        for line in self._quotations(request, purpose):
            quoted.add(line.part.sources[0].id)
            yield line
        traits = traits_in(self.witness, request)
        tokens = ratio * _tokens(request)
        given = {source.id for part in _notes(request) for source in part.sources}
        given.update(message.id for message in request.messages)
        for number in self.ordered(self.ledger.mask(traits)):
            fact = self.ledger.facts[number]
            if quoted.isdisjoint(source.id for source in fact.origin):
                chance = self.dice("fate", fact.id, purpose).random()
                kept = chance < self.calibration.chance(traits[number], tokens)
                if value := self._value(fact, kept, purpose):
                    told = msgspec.structs.replace(fact, value=value)
                    yield Line(chance, number, recited(told, given))

    def _quotations(self, request: SummaryRequest, purpose: Purpose) -> Iterator[Line]:
        """Yield quotations of the user's short messages: new ones, and repeated ones."""
        habits = self.calibration.clients[self.client]
        for part in _notes(request):
            id = part.sources[0].id if part.sources else ""
            origin = self.ledger.messages.get(id)
            if part.kind == "verbatim" and origin is not None and is_short(origin):
                chance = self.dice("message", id, purpose).random()
                if chance < habits.repeated:
                    yield Line(chance, -1 - self.place[id], part)
        for message in request.messages:
            if is_short(message):
                chance = self.dice("message", message.id, purpose).random()
                if chance < habits.quoted:
                    for index, part in enumerate(message.parts):
                        source = Source(message.id, index)
                        said = Part("text", part.text, "verbatim", (source,))
                        yield Line(chance, -1 - self.place[message.id], said)

    def _value(self, fact: Fact, kept: bool, purpose: Purpose) -> str:
        """Return the value in the summary; "" if it is lost."""
        if not is_path(fact):
            return fact.value if kept else ""
        paths = self.calibration.paths[PATHS[not is_rooted(fact)]]
        dice = self.dice("path", fact.id, purpose)
        drawn, several = dice.random(), paths.shortened if kept else paths.several
        # A path ending identifies the file if no other path shares it; a shared one does not.
        shared = self.ledger.shared_ends
        ends = [end for end in path_ends(fact.value)[1:] if (normal(end) in shared) is not kept]
        if drawn < several and ends:
            return dice.choice(ends)
        if kept:
            return fact.value
        base = has_ending(fact) and several <= drawn < several + paths.base
        return fact.value.rstrip("/").rpartition("/")[2] if base else ""
