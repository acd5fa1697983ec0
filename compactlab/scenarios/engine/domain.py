"""The domain of a scenario: its words, things and tools, and how templates are filled.

All of it is data: the keys of ``domains/*.toml`` are the fields of :class:`Domain`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.toml import Section, read_toml

# The phrases in which facts are stated, revised, withdrawn and closed, come in two families, one of
# them held out: rules for finding facts may be written with the public one and are tested on the
# other. A statement contains key and value literally. A demand or prohibition contains a word that
# marks it. No sentence contains a word that a strategy or summariser of this package searches for.
# No sentence says `I`, so that both a person and the agent can say it.
Phrasing = Literal["public", "held_out"]
Polarity = Literal["is", "must", "must_not", "asks"]

# Types of rules, with as many demands as prohibitions.
POLARITY: Mapping[FactType, Polarity] = {"constraint": "must", "prohibition": "must_not"}


def polarity_of(kind: FactType) -> Polarity:
    """Return whether facts of a type state, demand, forbid or ask something."""
    return "asks" if kind == "proposal" else POLARITY.get(kind, "is")


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Templates with ``{key}``, ``{value}`` and ``{old}``, the previous value."""

    states: Mapping[FactType, tuple[str, ...]]  # a person or the agent states a fact
    shows: tuple[str, ...]  # a tool's result states a fact
    revises: Mapping[Polarity, tuple[str, ...]]  # questions are not revised
    # Phrases that withdraw a fact or close an open loop, without its value.
    deletes: tuple[str, ...]
    closes: tuple[str, ...]


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of ``phrases.toml``."""

    says: Mapping[FactType, tuple[str, ...]]  # the agent uses a fact: its value without its key
    public: Family
    held_out: Family

    def family(self, phrasing: Phrasing) -> Family:
        return self.held_out if phrasing == "held_out" else self.public


@cache
def phrases() -> Phrases:
    """Return all phrases, read once."""
    data = Path(__file__).with_name("phrases.toml").read_bytes()
    return msgspec.toml.decode(data, type=Phrases)


Voice = Literal["user", "assistant", "tool"]

_VOICES: Mapping[FactType, Voice] = {
    "tool_detail": "tool", "handle": "tool", "done": "assistant", "proposal": "assistant"
}  # fmt: skip

_DOMAINS = Path(__file__).parent.with_name("domains")
FOCUS, OFTEN = 4, 0.7  # number of names in use at a time, and their share of all uses: guesses


@dataclass(frozen=True)
class Mix:
    """The number of facts, and their kinds."""

    density: float = 0.36  # stated facts per thousand tokens, without decoys
    decoys: float = 0.25  # per stated fact; a quarter makes a fifth of all facts
    # Shares of the stated facts: replaced by a newer one, withdrawn, and dependent on one that is
    # replaced later.
    superseded: float = 0.15
    deleted: float = 0.05
    dependent: float = 0.05
    # Shares of the independent facts (those that neither replace nor follow from others) stated in
    # the first tenth of the tokens and in the last turns (at most the last quarter of the tokens).
    # The rest is stated between, and dependent facts wherever there is room.
    first: float = 0.3
    last: float = 0.2
    # Smallest share of facts with a near-duplicate: a key with one other word and a similar value.
    # More arise by chance.
    twins: float = 0.2
    # Minimum and maximum length of a chain of replacements, the first one included. Demands and
    # prohibitions are replaced once, so that they stay balanced. The end of a chain may be
    # withdrawn like any other fact.
    chain: tuple[int, int] = (1, 1)
    late: int = 5  # number of turns that count as the last ones
    # Share of the user's facts that are stated again in later turns, once or twice.
    restated: float = 0.0
    # Share of the open loops that a fact of type ``done`` supersedes; the user closes the others.
    finished: float = 0.0


@dataclass(frozen=True)
class Lags:
    """The distances at which facts are needed: log-uniform, cut at the end of their validity.

    A distance of 500 to 1,000 tokens is as likely as one of 5,000 to 10,000. This is not measured.
    It ensures that facts of all ages are needed.

    Examples
    --------
    >>> Lags().at(0.5, most=1e9)
    10000.0
    >>> Lags(near=0.8, border=5_000).at(0.8, most=1e9)
    5000.0
    """

    shortest: int | float = 500.0  # tokens
    longest: int | float = 200_000.0
    # Share of the needs at a distance below ``border``; the others are at larger distances.
    near: float = 0.0
    border: int | float = 500.0

    def at(self, share: float, most: float) -> float:
        """Return this quantile of the distances, which are at most ``most`` tokens."""
        if share < self.near:
            low, high, share = self.shortest, self.border, share / self.near
        else:
            low, high, share = self.border, self.longest, (share - self.near) / (1 - self.near)
        high = min(high, most)
        return high * share if high <= low else low * float((high / low) ** share)


@dataclass(frozen=True)
class Tool:
    """A tool: its arguments and its results."""

    # Templates of the arguments, by name.
    arguments: Mapping[str, str] = field(default_factory=dict)
    # Templates of the lines of a result, repeated until it is long enough. The profile gives the
    # size under the tool's name.
    lines: tuple[str, ...] = ()
    head: str = ""  # template of the first line; "" if there is none
    share: float = 1.0  # its share of all calls; the profile's share takes precedence
    shows: bool = True  # whether its results may state facts


# How the agent uses a fact: by a text, or by a tool call with these arguments. Either contains the
# value but not the key, so that a use does not state the fact again.
Use = str | tuple[str, Mapping[str, str]]


@dataclass(frozen=True)
class Domain:
    """The words, things and tools of a scenario.

    In templates, ``{name}`` is drawn from ``words`` or ``pools``, ``{k}`` is a number and ``{h}``
    eight hexadecimal digits. A name has the same value throughout one template.
    """

    # Lists of words, by the name that templates use for them.
    words: Mapping[str, tuple[str, ...]]
    # Words that distinguish things of the same name, at least sixteen: "billing", "freight".
    areas: tuple[str, ...]
    # Subjects of facts by type: the name of a thing and the template of its value (see `value`).
    # The key consists of area and thing.
    things: Mapping[FactType, Mapping[str, str]]
    # Weights of the types of facts. Demands and prohibitions are balanced.
    kinds: Mapping[FactType, float]
    requests: tuple[str, ...] = ()  # templates of the user's requests
    sentences: tuple[str, ...] = ()  # templates of the agent's texts
    tools: Mapping[str, Tool] = field(default_factory=dict)  # by name; may be empty
    # Recurring names, as in real sessions: by name, a template and the number of different names
    # per conversation. Most uses within a turn are of the same few names.
    pools: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    # Number of names of a pool that a turn is about, and their share of the uses. With one name,
    # the calls, results and texts of a turn are all about it.
    focus: int = FOCUS
    often: float = OFTEN
    # How the agent uses facts, by type; by default in texts, as in ``phrases.toml``.
    uses: Mapping[FactType, tuple[Use, ...]] = field(default_factory=dict)
    # Who states the facts of a type; by default the user.
    voices: Mapping[FactType, Voice] = field(default_factory=dict)
    # Templates of the result of a failed call.
    errors: tuple[str, ...] = ("error: {h} timed out",)
    mix: Mix = Mix()  # number and kinds of facts
    turn: float = 6_000  # tokens per turn, from which the number of turns is computed
    answers: float = 0.0  # probability that the agent answers instead of calling a tool
    lags: Lags = Lags()  # distances of needs, in general and for some types
    at_once: int = 2  # most facts that a message uses, except the last message of a branch
    lags_by: Mapping[FactType, Lags] = field(default_factory=dict)
    # Special phrases that state facts, by family of phrases and type of fact.
    states: Mapping[Phrasing, Mapping[FactType, tuple[str, ...]]] = field(default_factory=dict)
    # Things that are stated together, by type of fact, in one area: options of one choice.
    together: Mapping[FactType, tuple[str, ...]] = field(default_factory=dict)
    # How the user refers back to a fact, by type, after which the agent needs it. Templates may
    # have ``{key}``, its ``{area}``, its ``{thing}`` and the thing's first word: the ``{nth}`` one.
    # Facts of other types are needed without a reference.
    resumes: Mapping[FactType, tuple[str, ...]] = field(default_factory=dict)
    # Types of facts that the instruction file states, which the client puts first, instead of the
    # user before the last turns. The file's first lines are under ``file`` in ``texts``.
    instructions: tuple[FactType, ...] = ()
    # Other texts of the scenario's world, by name.
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if not self.things.get(kind):
                raise ValueError(f"{kind}: there is no thing that such a fact could be about")
            for thing, template in self.things[kind].items():
                if not unguessable(template):
                    raise ValueError(f"{kind}: the value of {thing!r} could be guessed: {template}")

    def instructs(self, kind: FactType, voice: Voice) -> bool:
        """Whether the instruction file states facts of a type, except in the last turns."""
        return voice == "user" and kind in self.instructions

    def family(self, phrasing: Phrasing) -> Family:
        """Return the phrases that state facts."""
        family = phrases().family(phrasing)
        states = {**family.states, **self.states.get(phrasing, {})}
        return msgspec.structs.replace(family, states=states)

    def uses_of(self, kind: FactType) -> tuple[Use, ...]:
        """Return the ways in which the agent may use a fact of a type."""
        return self.uses.get(kind) or phrases().says[kind]

    def voice_of(self, kind: FactType) -> Voice:
        """Return who states facts of a type."""
        return self.voices.get(kind, _VOICES.get(kind, "user"))


class DomainFile:
    """The domain of a scenario, read from a file in ``domains`` when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, story: object, owner: type) -> Domain:
        return find_domain(self._name)


@cache
def find_domain(name: str) -> Domain:
    """Load the domain file of this name."""
    file = _DOMAINS / f"{name}.toml"
    return domain_of(Section(read_toml(file, "domain"), file.name))


def domain_of(whole: Section) -> Domain:
    """Build a domain from the contents of its file; a list of words may be one text with blanks."""
    known = {form: [each.name for each in fields(form)] for form in (Domain, Mix, Lags, Tool)}
    whole.only(known[Domain])
    whole.section("mix").only(known[Mix])
    whole.section("lags").only(known[Lags])
    for table, form in (("lags_by", Lags), ("tools", Tool)):
        for _, row in whole.section(table).sections():
            row.only(known[form])
    lists = {name: _split(each) for name, each in whole.section("words").values.items()}
    areas = _split(whole.values.get("areas"))
    try:
        return msgspec.convert({**whole.values, "words": lists, "areas": areas}, Domain)
    except msgspec.ValidationError as error:
        raise whole.fault("", str(error)) from None


def _split(value: object) -> object:
    return words(value) if isinstance(value, str) else value


def words(text: str) -> tuple[str, ...]:
    """Split a text into words."""
    return tuple(text.split())


# Values that cannot be guessed: at least forty random bits, and never a bare number. There are 256
# words, so that five of them have forty bits.
_LIST = """\
acorn agate alder almond amber anchor anvil apron arbor arrow aspen atlas autumn badge baker
bamboo banjo barley basil basin basket beacon beech bell berry birch bishop bison blossom bobbin
bonnet border bottle bramble brass breeze brick bridge bristle bronze brook bugle burrow butter
button cabin cable cactus camel candle canoe canvas canyon caper caravan carbon cedar cello
chalk chapel cherry chestnut chisel cider cinder citrus clover cobalt cocoa comet copper coral
cotton cradle crane crater cricket crimson crocus crystal cypress daisy dapple delta denim
desert dolphin domino donkey dragon drum dune eagle echo elder elm ember emerald falcon fennel
fern ferry fiddle finch flint flute forest fossil fox galaxy garnet garlic geyser ginger glacier
goblet gorge granite grape gravel grove guitar hammer hamlet harp harvest hazel heather hedge
heron hickory hollow honey horizon hornet husk indigo iris island ivory ivy jackal jasmine
jasper juniper kayak kernel kettle kiln kitten lagoon lantern larch lark lattice laurel lava
lemon lentil lilac lily linen lizard llama lobster locust lotus lumber lynx magnet magpie mallet
mango maple marble marsh meadow melon mesa meteor mint mirror mitten moss mulberry mustard
nectar nettle nickel nutmeg oak oasis ocean olive onyx opal orchid osprey otter oyster paddle
palm panther papaya parsley pebble pelican pepper piano pigeon pine plum pollen poplar poppy
prairie prism puffin pumpkin quail quartz quill rabbit raft raven reed ribbon ridge robin saddle
saffron sage salmon sapphire satin sesame shale silk sorrel sparrow spruce sycamore tulip velvet
violet wagon walnut wheat whistle willow windmill wisteria yarrow zebra zinnia zither
"""
WORDS = tuple(_LIST.split())


def value(template: str, rng: random.Random, word: str) -> str:
    """Fill a template.

    Examples
    --------
    >>> value("v4.{word}.{code}", random.Random(7), "otter")
    'v4.otter.f2a7-52e6-b438'
    """
    bits = rng.getrandbits(48)
    digits = f"{bits:012x}"
    return template.format(
        code=f"{digits[:4]}-{digits[4:8]}-{digits[8:]}",
        hex=digits[2:],
        chain="-".join(WORDS[bits >> shift & 255] for shift in range(0, 40, 8)),
        word=word,
    )


def unguessable(template: str) -> bool:
    """Whether the values of a template have at least forty random bits.

    Examples
    --------
    >>> unguessable("build {word}")
    False
    """
    return any(name in template for name in ("{code}", "{hex}", "{chain}"))


class Writer:
    """Writes texts from templates; a few names of each pool are in use at a time.

    Examples
    --------
    >>> Writer(random.Random(0), {"n": ("tram",)}).fill("the {n} waits for the {n}")
    'the tram waits for the tram'
    """

    def __init__(
        self,
        rng: random.Random,
        words: Mapping[str, Sequence[str]],
        pools: Mapping[str, tuple[str, int]] | None = None,
        focus: int = FOCUS,
        often: float = OFTEN,
    ) -> None:
        self.rng, self._few, self._often = rng, focus, often
        self._words = words
        self._pools: dict[str, list[str]] = {}
        self._focus: dict[str, list[str]] = {}
        for name, (template, count) in (pools or {}).items():
            self._pools[name] = [self.fill(template) for _ in range(count)]
        self.refocus()

    def refocus(self) -> None:
        """Select other names of the pools."""
        for name, pool in self._pools.items():
            self._focus[name] = self.rng.sample(pool, min(self._few, len(pool)))

    def word(self, name: str) -> str:
        """Draw a word for a name in a template."""
        rng = self.rng
        if name == "k":
            return str(rng.randint(100, 9_999))
        if name == "h":
            return f"{rng.getrandbits(32):08x}"
        if name in self._focus:
            near = self._focus[name] if rng.random() < self._often else self._pools[name]
            return near[int(rng.random() * len(near))]
        words = self._words[name]
        return words[int(rng.random() * len(words))]

    def fill(self, template: str) -> str:
        return template.format_map(_Drawn(self))

    def one(self, templates: Sequence[str]) -> str:
        """Choose a template and fill it."""
        return self.fill(templates[int(self.rng.random() * len(templates))])

    def prose(self, templates: Sequence[str], characters: int) -> str:
        """Write sentences until the text has ``characters``, at least one sentence.

        No template is used twice as long as there are unused ones.
        """
        deck: list[str] = []

        def sentence() -> str:
            if not deck:
                deck.extend(self.rng.sample(templates, len(templates)))
            return self.fill(deck.pop())

        return " ".join(until(characters, sentence))

    def lines(self, templates: Sequence[str], characters: int) -> str:
        """Write lines until the text has ``characters``, at least one line."""
        return "\n".join(until(characters, lambda: self.one(templates)))


class _Drawn(dict[str, str]):
    """The words of one template: each is drawn at its first use and then stays the same."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __missing__(self, name: str) -> str:
        # A name that ends in a digit is another word of the same list.
        word = self[name] = self._writer.word(name.rstrip("0123456789"))
        return word


def until(characters: int, write: Callable[[], str]) -> list[str]:
    """Write texts until together they have ``characters``, at least one text."""
    texts = [write()]
    characters -= len(texts[0])
    while characters > 0:
        texts.append(write())
        characters -= len(texts[-1]) + 1
    return texts
