"""What a scenario is about: its words, its things, its tools, and how its templates are filled.

All of it is data: ``domains/*.toml``, where the fields of :class:`Domain` are the keys.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from compactlab.scenarios.engine.phrases import Family, Phrasing, phrases
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.toml import Section, read_toml

Voice = Literal["user", "assistant", "tool"]

_VOICES: Mapping[FactType, Voice] = {
    "tool_detail": "tool", "handle": "tool", "done": "assistant", "proposal": "assistant"
}  # fmt: skip

_DOMAINS = Path(__file__).parent.with_name("domains")
FOCUS, OFTEN = 4, 0.7  # names in use at a time, and the share of uses that are of them: guesses


@dataclass(frozen=True)
class Mix:
    """How many facts there are, and of what fate; see the notes on metrics, section 10."""

    density: float = 0.36  # facts that are stated, for every thousand tokens. Decoys come on top.
    decoys: float = 0.25  # for every stated fact; a quarter makes a fifth of all facts
    # Shares of the stated facts: replaced by a newer one, taken back, following from one that is
    # then replaced.
    superseded: float = 0.15
    deleted: float = 0.05
    dependent: float = 0.05
    # Shares stated in the first tenth of the tokens, and in the last turns (in the last quarter of
    # them, where there are few), of facts that neither replace nor follow from others; the rest is
    # stated between, and the others wherever there is room for them.
    first: float = 0.3
    last: float = 0.2
    # Share of facts that have a near-duplicate: a key with one other word, a value of the same
    # make. At least; others come by themselves.
    twins: float = 0.2
    # How often at least and at most what replaces is itself replaced, the first time counted.
    # Demands and prohibitions are replaced once, so that they stay even. With chains, their ends
    # may be taken back like all else.
    chain: tuple[int, int] = (1, 1)
    late: int = 5  # how many turns are the last ones
    # Share of the facts of the user's voice that are said again in later turns, once or twice.
    restated: float = 0.0
    # Share of the open loops that end in a fact of type ``done``, which supersedes them; the user
    # closes the others.
    finished: float = 0.0


@dataclass(frozen=True)
class Lags:
    """After how many tokens a fact is needed: log-uniform, cut to the time for which it holds.

    It is as likely after 500 to 1,000 as after 5,000 to 10,000. Not measured: it is so that facts
    of all ages are needed.

    Examples
    --------
    >>> Lags().at(0.5, most=1e9)
    10000.0
    >>> Lags(near=0.8, border=5_000).at(0.8, most=1e9)
    5000.0
    """

    shortest: int | float = 500.0  # tokens
    longest: int | float = 200_000.0
    # Share of the needs that come before so many tokens; the others come after it.
    near: float = 0.0
    border: int | float = 500.0

    def at(self, share: float, most: float) -> float:
        """So many tokens after which a share of needs has come, of at most so many."""
        if share < self.near:
            low, high, share = self.shortest, self.border, share / self.near
        else:
            low, high, share = self.border, self.longest, (share - self.near) / (1 - self.near)
        high = min(high, most)
        return high * share if high <= low else low * float((high / low) ** share)


@dataclass(frozen=True)
class Tool:
    """A tool: how it is called, and what it returns."""

    # Templates of its arguments, by name.
    arguments: Mapping[str, str] = field(default_factory=dict)
    # Templates of lines, of which its result is made until that is long enough; the size comes from
    # the profile, under the tool's name.
    lines: tuple[str, ...] = ()
    head: str = ""  # template of the first line; "" for none
    share: float = 1.0  # its share of all calls; where the profile has one, that counts
    shows: bool = True  # whether facts may stand in its results


# How the agent uses a fact: it says something, or it calls a tool with these arguments. The value
# stands in it and the key does not, so that a use is no second statement of the fact.
Use = str | tuple[str, Mapping[str, str]]


@dataclass(frozen=True)
class Domain:
    """The words, things and tools of a scenario.

    In templates, ``{name}`` is drawn from ``words`` or ``pools``, ``{k}`` is a number, ``{h}``
    eight hexadecimal digits; within one template a name stands for the same word.
    """

    # Lists of words, by the name under which templates ask for them.
    words: Mapping[str, tuple[str, ...]]
    # Words that tell two things of the same name apart, at least sixteen: "billing", "freight".
    areas: tuple[str, ...]
    # By type of fact, what facts are about: the name of a thing, and the template of its value (see
    # value). Area and thing make the key.
    things: Mapping[FactType, Mapping[str, str]]
    # Weights of the types of facts. Those of demands and prohibitions are evened out.
    kinds: Mapping[FactType, float]
    requests: tuple[str, ...] = ()  # templates of what the user asks
    sentences: tuple[str, ...] = ()  # templates of what the agent says and thinks
    tools: Mapping[str, Tool] = field(default_factory=dict)  # by name; none, where people only talk
    # Names that come back, as in real sessions: by name, a template and how many of them a
    # conversation has. Most uses within a turn are of the same few.
    pools: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    # How many names of a pool a turn is about, and the share of uses that are of them. With one
    # name, calls, results and what is said are of the same.
    focus: int = FOCUS
    often: float = OFTEN
    # By type of fact, how the agent uses it; what is not in it is said, as in ``phrases.toml``.
    uses: Mapping[FactType, tuple[Use, ...]] = field(default_factory=dict)
    # Who states facts of a type; the user, where nothing is said.
    voices: Mapping[FactType, Voice] = field(default_factory=dict)
    # Templates of what a tool returns that fails.
    errors: tuple[str, ...] = ("error: {h} timed out",)
    mix: Mix = Mix()  # how many facts there are, and of what fate
    turn: float = 6_000  # tokens of a turn, from which their number is computed
    answers: float = 0.0  # probability, each time, that the agent answers instead of calling a tool
    lags: Lags = Lags()  # when facts are needed, and when those of some types are
    at_once: int = 2  # how many facts a message uses at most, but for the last one of a branch
    lags_by: Mapping[FactType, Lags] = field(default_factory=dict)
    # By family of phrases and type of fact, how it is stated, where it is not as usual.
    states: Mapping[Phrasing, Mapping[FactType, tuple[str, ...]]] = field(default_factory=dict)
    # By type of fact, things that are stated together, of one area: options of one choice.
    together: Mapping[FactType, tuple[str, ...]] = field(default_factory=dict)
    # By type of fact, how the user comes back to it, whereupon the agent needs it. May have
    # ``{key}``, its ``{area}``, its ``{thing}`` and of that the first word: the ``{nth}`` one. Of
    # other types, facts are needed without it.
    resumes: Mapping[FactType, tuple[str, ...]] = field(default_factory=dict)
    # Types of what the user would say before the last turns that stands in an instruction file
    # instead, which the client puts in front; ``texts`` has its first lines under ``file``.
    instructions: tuple[FactType, ...] = ()
    # Whatever else its world says, by name.
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if not self.things.get(kind):
                raise ValueError(f"{kind}: there is no thing that such a fact could be about")
            for thing, template in self.things[kind].items():
                if not unguessable(template):
                    raise ValueError(f"{kind}: the value of {thing!r} could be guessed: {template}")

    def instructs(self, kind: FactType, voice: Voice) -> bool:
        """Whether facts of a type stand in an instruction file, but for those of the last turns."""
        return voice == "user" and kind in self.instructions

    def family(self, phrasing: Phrasing) -> Family:
        """In which words facts are stated."""
        family = phrases().family(phrasing)
        states = {**family.states, **self.states.get(phrasing, {})}
        return msgspec.structs.replace(family, states=states)

    def uses_of(self, kind: FactType) -> tuple[Use, ...]:
        """How the agent may use a fact of a type."""
        return self.uses.get(kind) or phrases().says[kind]

    def voice_of(self, kind: FactType) -> Voice:
        """Who states a fact of a type."""
        return self.voices.get(kind, _VOICES.get(kind, "user"))


class DomainFile:
    """The domain of a scenario: a file of the folder ``domains``, read when it is first needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, story: object, owner: type) -> Domain:
        return find_domain(self._name)


@cache
def find_domain(name: str) -> Domain:
    """The domain that stands in the file of a name."""
    file = _DOMAINS / f"{name}.toml"
    return domain_of(Section(read_toml(file, "domain"), file.name))


def domain_of(whole: Section) -> Domain:
    """Build a domain of what its file says; a list of words may be one text with blanks between."""
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
    """The words of a text."""
    return tuple(text.split())


# Values that nobody guesses: at least forty random bits, and never a bare number.
# Two hundred and fifty-six words, so that five of them have forty bits.
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
    """Whether what a template makes has at least forty random bits.

    Examples
    --------
    >>> unguessable("build {word}")
    False
    """
    return any(name in template for name in ("{code}", "{hex}", "{chain}"))


class Writer:
    """Writes texts from templates; at a time, a few names of each pool are in use.

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
        """Turn to other names of the pools."""
        for name, pool in self._pools.items():
            self._focus[name] = self.rng.sample(pool, min(self._few, len(pool)))

    def word(self, name: str) -> str:
        """Draw what stands for a name in a template."""
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
        """Fill a template."""
        return template.format_map(_Drawn(self))

    def one(self, templates: Sequence[str]) -> str:
        """Choose a template and fill it."""
        return self.fill(templates[int(self.rng.random() * len(templates))])

    def prose(self, templates: Sequence[str], characters: int) -> str:
        """Write sentences until there are that many characters, one at least.

        None is of a template that was used before, as long as there are others.
        """
        deck: list[str] = []

        def sentence() -> str:
            if not deck:
                deck.extend(self.rng.sample(templates, len(templates)))
            return self.fill(deck.pop())

        return " ".join(until(characters, sentence))

    def lines(self, templates: Sequence[str], characters: int) -> str:
        """Write lines until there are that many characters, one at least."""
        return "\n".join(until(characters, lambda: self.one(templates)))


class _Drawn(dict[str, str]):
    """The words of one template: drawn where they are asked for, and then the same."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __missing__(self, name: str) -> str:
        # What ends in a digit is another one of the same list.
        word = self[name] = self._writer.word(name.rstrip("0123456789"))
        return word


def until(characters: int, write: Callable[[], str]) -> list[str]:
    """Write texts until together they have that many characters, one at least."""
    texts = [write()]
    characters -= len(texts[0])
    while characters > 0:
        texts.append(write())
        characters -= len(texts[-1]) + 1
    return texts
