"""The search form of a fact: the senses of its key's words, and the tokens of its value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise, product
from typing import TypeVar

from compactlab.sim.facts.quantities import (
    WORDS,
    Token,
    cleaned,
    ends_with,
    phrases_of,
    root,
    same,
    synonyms,
    tokens,
)

M = TypeVar("M")
Names = tuple[tuple[frozenset[object], ...], ...]

# Senses of words.


@dataclass(frozen=True)
class Vocabulary:
    """Roots of words, and groups of synonyms."""

    empty: frozenset[str]
    light: frozenset[str]
    light_verbs: frozenset[str]
    same: dict[str, frozenset[str]]
    opposites: dict[str, frozenset[str]]
    topics: dict[str, frozenset[int]]  # the topics that a root belongs to
    foreign: frozenset[str]
    homographs: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of words.toml."""
    pairs = [[side.split() for side in pair.split("/")] for pair in WORDS["opposites"].split("|")]
    topics = enumerate(re.split(r"\||\n", WORDS["topics"]))
    return Vocabulary(
        frozenset(WORDS["empty"].split()),
        frozenset(map(root, WORDS["light"].split())),
        frozenset(map(root, WORDS["light_verbs"].split())),
        _by_word((word, f"={number}") for number, group in enumerate(synonyms()) for word in group),
        _by_word(
            (root(word), root(other))
            for left, right in pairs
            for here, there in ((left, right), (right, left))
            for word, other in product(here, there)
        ),
        _by_word((root(word), number) for number, topic in topics for word in topic.split()),
        frozenset(WORDS["foreign"].split()),
        frozenset(WORDS["homographs"].split()),
    )


def _by_word(entries: Iterable[tuple[str, M]]) -> dict[str, frozenset[M]]:
    found: dict[str, set[M]] = {}
    for word, meaning in entries:
        found.setdefault(word, set()).add(meaning)
    return {word: frozenset(meanings) for word, meanings in found.items()}


@lru_cache(maxsize=65536)
def senses(form: object) -> frozenset[object]:
    """Return a word and its synonym groups, including those of its pieces."""
    known = vocabulary().same
    found = known.get(str(form), frozenset()) | {form}
    if len(found) == 1 and isinstance(form, str) and len(form) > 7 and form.isalpha():
        for index in range(4, len(form) - 3):
            front, behind = form[:index], form[index:]
            ahead = known.get(front) or known.get(root(front.removesuffix("s")))
            if behind in known and ahead:
                found = found | known[behind] | ahead
    return found


@lru_cache(maxsize=65536)
def pieces(path: str) -> frozenset[object]:
    """Return a file's name, and the words of its path, which may name it in a key."""
    words = [root(word) for word in re.findall(r"[^\W\d_]{3,}", path)]
    return frozenset(words) | {path.rstrip("/").rpartition("/")[2]}


PARTICLES = frozenset(WORDS["particles"].split())
RUN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


def all_senses(said: Iterable[Token]) -> frozenset[object]:
    """Return the senses of words, and of pairs that may be one word: "backed up", "front end"."""
    found: set[object] = set()
    last: object = None
    for token in said:
        found |= senses(token.form)
        if token.kind == "word" and " " in token.form:
            found = found.union(*map(senses, token.form.split()))
        if token.kind == "code":
            found |= pieces(str(token.form))
        if isinstance(last, str) and token.raw in PARTICLES:
            found |= senses(root(last + token.raw))
        last = token.form if token.kind in ("word", "name") else None
    return frozenset(found)


_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


# Summaries quote the same sentences, under the same headings.
@lru_cache(maxsize=2**13)
def possible_senses(text: str) -> frozenset[object]:
    """Return at least the :func:`all_senses` that consist of letters, without cutting into tokens.

    The words of codes are among them, as they are written.
    """
    words = RUN.findall(cleaned(text))
    forms = {root(a) + b for a, b in pairwise(words) if b in PARTICLES}.union(words)
    for word in words:
        if not word.isalpha():
            forms.update(_LETTERS.findall(word), word.split("'"))
    written = {form.casefold() for form in forms}
    return frozenset(written).union(*map(senses, phrases_of(set(map(root, forms)))))


@lru_cache(maxsize=65536)
def lettered(word: frozenset[object]) -> bool:
    """Whether a word of a key consists of letters, like the words of a text."""
    return all(
        isinstance(form, str)
        and form.lstrip("=").isalnum()
        and not form.isdigit()
        and (form[0] == "=" or form.isalpha())
        for form in word
    )


def content(said: Iterable[Token]) -> tuple[Token, ...]:
    """Return the content tokens; all tokens if there are none."""
    every = tuple(token for token in said if token.kind != "mark")
    telling = tuple(t for t in every if t.tied or t.ties or t.low not in vocabulary().empty)
    return telling or every


@dataclass(frozen=True)
class FactQuery:
    """The search form of a fact."""

    # The names of the key: the senses of the words that must all occur.
    names: Names
    # The last words of multi-word names: sufficient without a modifier before them.
    heads: tuple[frozenset[object], ...]
    values: tuple[tuple[Token, ...], ...]
    polarity: str
    # Parts of the names that suffice where a value is demanded with them: a rule names its object.
    looser: Names = ()

    @cached_property
    def truth(self) -> str:
        """The value of a yes/no fact: "yes" or "no"; else ""."""
        words = {str(t.raw).casefold() for v in self.values for t in v}
        return "yes" if words <= {"yes", "true"} else "no" if words <= {"no", "false"} else ""

    @cached_property
    def conditional(self) -> bool:
        """Whether the key describes a condition."""
        return any(not _CONDITIONAL.isdisjoint(word) for name in self.names for word in name)

    @cached_property
    def tentative(self) -> bool:
        """Whether the key describes something undecided."""
        return any(not _TENTATIVE.isdisjoint(word) for name in self.names for word in name)

    @cached_property
    def contrary(self) -> FactQuery | None:
        """The form of what a negative value denies: "not installed", "unpaid"."""
        value = self.values[0] if self.values else ()
        rest = value[1:] if len(value) > 1 and value[0].low in _NEGATIVE else ()
        prefix = _PREFIX.match(value[0].low) if len(value) == 1 else None
        if prefix and value[0].kind in ("word", "name"):
            rest = tokens(prefix[1])
        return FactQuery(self.names, self.heads, (rest,), self.polarity) if rest else None

    @cached_property
    def joined(self) -> list[str]:
        """The values with digits that may be parted otherwise: telephone numbers, accounts."""
        plain = [run_on(v) for v in self.values if v and all(_bare(token) for token in v)]
        return [text for text in plain if len(text) > 7 and any(map(str.isdigit, text))]

    @cached_property
    def subject(self) -> list[frozenset[object]]:
        """The words of its key, without those that any value has: "date", "number"."""
        words = [word for name in self.names for word in name]
        return [word for word in words if word.isdisjoint(vocabulary().light)] or words

    @cached_property
    def opposites(self) -> frozenset[object]:
        """Words that speak of another thing of the same sort as its key."""
        own = {form for word in self.subject for form in word}
        return frozenset(x for f in own for x in vocabulary().opposites.get(str(f), ())) - own

    @cached_property
    def topics(self) -> frozenset[int]:
        """The topics that the words of its key belong to."""
        forms = (form for word in self.subject for form in word)
        return frozenset[int]().union(*(vocabulary().topics.get(str(form), ()) for form in forms))

    @cached_property
    def telling(self) -> bool:
        """Whether the value is nearly unique: a path, a command, a long number."""
        return any(
            sum(token.typed for token in value) > 2
            or any(t.kind == "code" and "/" in str(t.form)[1:-1] for t in value)
            or (len(value) > 2 and all(t.kind in ("word", "code") for t in value))
            for value in self.values
        )


_TENTATIVE = frozenset(map(root, WORDS["tentative"].split()))
_CONDITIONAL = frozenset(map(root, WORDS["conditional"].split()))
_NEGATIVE = frozenset(WORDS["negative"].split())
_PREFIX = re.compile(r"(?:un|non-)(?=[^\W\d_]{4})(.+)")
_CUTS = frozenset(["while", "when", "whenever", "then", "plus", "und", "et"])


def _said(value: str) -> tuple[Token, ...]:
    """Return the tokens of a value, without words that part sentences into segments."""
    every = content(tokens(value))
    return tuple(token for token in every if token.low not in _CUTS) or every


@lru_cache(maxsize=65536)
def fact_query(names: tuple[str, ...], values: tuple[str, ...], polarity: str) -> FactQuery:
    """Build the search form from names, values and polarity."""
    keys: list[tuple[frozenset[object], ...]] = []
    heads: list[frozenset[object]] = []
    looser: list[tuple[frozenset[object], ...]] = []
    for name in names:
        said = content(tokens(name))
        words = tuple(senses(token.form) for token in said)
        keys.append(words)
        if any(" " in str(token.raw) for token in said if token.kind == "word"):
            single = (form for token in said for form in str(token.form).split())
            keys.append(tuple(map(senses, single)))
        last = said[-1].form if said else ""
        if len(said) > 1 and last in vocabulary().light:
            keys.append(words[:-1])
        if " of " in name and len(said) > 1 and said[0].form in vocabulary().light:
            keys.append(words[1:])
        if len(said) == 2:
            keys.append((frozenset({root(f"{said[0].form}{said[1].raw}")}),))
        if " of " in name and len(said) > 1 and said[0].form not in vocabulary().light:
            heads.append(words[0])
        heads += [senses(said[-1 - (len(said) > 2 and last in vocabulary().light)].form)] * (
            len(said) > 1 and (len(said) > 2 or last not in vocabulary().light)
        )
        if (
            polarity in ("must", "must_not")
            and len(said) == 1
            and said[0].form in vocabulary().light_verbs
        ):
            keys.append(())
        if polarity in ("must", "must_not") and len(said) > 1 and said[0].kind in ("word", "name"):
            # The object is the value: other words of the key only say what sort of thing it is.
            light = said[0].form in vocabulary().light_verbs
            looser.append(words[1:] if light else words[:1])
    query = tuple(_said(value) for value in values)
    # A long number is sufficient without its unit.
    query += tuple(
        value[:1]
        for value in query
        if len(value) == 2
        and value[0].kind == "number"
        and value[0].number is not None
        and value[0].number >= 100
        and value[1].kind == "word"
    )
    return FactQuery(
        tuple(dict.fromkeys(keys)), tuple(heads), query, polarity, tuple(dict.fromkeys(looser))
    )


def run_on(said: Iterable[Token]) -> str:
    """Return the letters and digits of tokens, without what parts them."""
    return "".join(filter(str.isalnum, "".join(token.low for token in said)))


def _bare(token: Token) -> bool:
    """Whether a token has no unit and no decimals."""
    return token.kind not in ("date", "time") and not (
        token.kind == "number" and (token.form[0] or not token.raw.strip("+-").isdigit())
    )


def alike(wanted: Token, said: Token, shared: Collection[str]) -> bool:
    """Whether a token of a text matches one of a value."""
    if wanted.kind == "name" and said.kind == "word" and said.low in vocabulary().homographs:
        return False
    if same(wanted, said):
        return True
    if wanted.kind == said.kind == "code":
        form = str(said.form)
        return form not in shared and (
            ends_with(wanted.form, form) or (form.startswith("/") and ends_with(form, wanted.form))
        )
    if {wanted.kind, said.kind} <= {"word", "name"}:
        return not senses(wanted.form).isdisjoint(senses(said.form))
    return False


@lru_cache(maxsize=65536)
def needed(wanted: Token) -> tuple[frozenset[object], ...]:
    """Return the words, by their senses, that are wherever a token is :func:`alike`.

    They are among the :func:`possible_senses` of the text.
    """
    if wanted.kind == "code":
        last = str(wanted.form).rstrip("/").rpartition("/")[2]
        return tuple(frozenset({word}) for word in RUN.findall(last))
    word = senses(wanted.form) if wanted.kind in ("word", "name") else frozenset()
    return (word,) if word and lettered(word) else ()


class Bag:
    """The tokens of a text, for a fast pre-check: most texts do not contain most values."""

    def __init__(self, said: Iterable[Token]) -> None:
        every = list(said)
        self.forms = {token.form for token in every}
        self.senses = frozenset[object]().union(*map(senses, self.forms))
        self.codes = any(token.kind == "code" for token in every)
        self.measured = any(isinstance(form, tuple) for form in self.forms)

    def may_say(self, value: Iterable[Token]) -> bool:
        """Whether all tokens of a value may occur; if not, none is :func:`alike`."""
        return all(map(self._may_say, value))

    def _may_say(self, wanted: Token) -> bool:
        if wanted.form in self.forms or (self.codes and wanted.kind == "code"):
            return True
        if isinstance(wanted.form, tuple):
            return self.measured
        return not self.senses.isdisjoint(senses(wanted.form))


def among(token: Token, name: tuple[frozenset[object], ...]) -> bool:
    """Whether a token is a word of a key."""
    return any(not all_senses((token,)).isdisjoint(word) for word in name)
