"""Whether a text says a fact: its key, its value beside it, and nothing that takes it back.

The value belongs to the nearest key. A text says a fact in a statement (a sentence, an item of a
list, a cell of a table with its heads) in which the value stands with the key, is not denied,
doubted, asked for, put under a condition or called former, and has the fact's polarity.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.occurrences import normal, occurrences, path_ends
from compactlab.sim.facts.quantities import Token, ends_with, rival, root, same, tokens
from compactlab.sim.facts.statements import Segment, Statement, statements


class Spoken(NamedTuple):
    """What words say of a fact."""

    key: bool = False  # whether its key, or another name of it, occurs; without a key, its value
    stated: bool = False  # whether the value stands with the key as one that holds
    intact: bool = False  # whether it does with the fact's polarity, and is not taken back
    ordered: bool = False  # whether a word puts it behind another value
    wrong: bool = False  # whether another value or the contrary is stated


SILENT = Spoken()

WINDOW = 40  # words between key and value, at most: the project's notes on metrics, section 4

Names = tuple[tuple[frozenset[object], ...], ...]


# What words stand for.


@dataclass(frozen=True)
class _Words:
    empty: frozenset[str]
    light: frozenset[str]
    light_verbs: frozenset[str]
    same: dict[str, frozenset[str]]


@cache
def _words() -> _Words:
    read = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    groups: dict[str, set[str]] = {}
    for number, line in enumerate(read["same"].strip().splitlines()):
        for word in line.split():
            groups.setdefault(root(word), set()).add(f"={number}")
    return _Words(
        frozenset(read["empty"].split()),
        frozenset(map(root, read["light"].split())),
        frozenset(map(root, read["light_verbs"].split())),
        {word: frozenset(numbers) for word, numbers in groups.items()},
    )


@lru_cache(maxsize=65536)
def _senses(form: object) -> frozenset[object]:
    """A word, and the groups of words that stand for the same, of its pieces too."""
    known = _words().same
    found = known.get(form, frozenset()) | {form}  # type: ignore[call-overload]
    if len(found) == 1 and isinstance(form, str) and len(form) > 8 and form.isalpha():
        for place in range(4, len(form) - 3):
            front, behind = form[:place], form[place:]
            ahead = known.get(front) or known.get(root(front.removesuffix("s")))
            if behind in known and ahead:
                found = found | known[behind] | ahead
    return found


@lru_cache(maxsize=65536)
def _pieces(path: str) -> frozenset[object]:
    """The name of a file, and the words of its path, which may name it in a key."""
    words = [root(word) for word in re.findall(r"[^\W\d_]{3,}", path)]
    return frozenset(words) | {path.rstrip("/").rpartition("/")[2]}


_PARTICLES = frozenset("up out in off back over down on end time side".split())
_RUN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


def _all_senses(said: Iterable[Token]) -> frozenset[object]:
    """The senses of words, and of two that may be one: "backed up", "front end"."""
    found: set[object] = set()
    last: object = None
    for token in said:
        found |= _senses(token.form)
        if token.kind == "code":
            found |= _pieces(str(token.form))
        if isinstance(last, str) and token.raw in _PARTICLES:
            found |= _senses(root(last + token.raw))
        last = token.form if token.kind in ("word", "name") else None
    return frozenset(found)


@lru_cache(maxsize=65536)
def _lettered(word: frozenset[object]) -> bool:
    """Whether a word of a key is made of letters, so that it is among those of a text."""
    return all(isinstance(form, str) and form.lstrip("=").isalnum() and not form.isdigit()
               and (form[0] == "=" or form.isalpha()) for form in word)


def _content(said: Iterable[Token]) -> tuple[Token, ...]:
    """The tokens that say something; all, if none does."""
    every = tuple(token for token in said if token.kind != "mark")
    telling = tuple(
        t for t in every if t.tied or t.ties or t.raw.casefold() not in _words().empty
    )
    return telling or every


@dataclass(frozen=True)
class Sought:
    """A fact as it is looked for."""

    # Other names of the key: the senses of its words that must all be there.
    names: Names
    # The last word of names of several: enough where nothing else stands in front of it.
    heads: tuple[frozenset[object], ...]
    values: tuple[tuple[Token, ...], ...]
    polarity: str

    @cached_property
    def truth(self) -> str:
        """"yes" or "no" for a fact that says no more than that."""
        words = {str(t.raw).casefold() for v in self.values for t in v}
        return "yes" if words <= {"yes", "true"} else "no" if words <= {"no", "false"} else ""

    @cached_property
    def conditional(self) -> bool:
        """Whether a key speaks of what holds under a condition."""
        return any(not _CONDITIONAL.isdisjoint(word) for name in self.names for word in name)

    @cached_property
    def telling(self) -> bool:
        """Whether a value is hardly said of anything else: a path, a command, a long number."""
        return any(
            sum(token.typed for token in value) > 2
            or any(t.kind == "code" and "/" in str(t.form)[1:-1] for t in value)
            or len(value) > 2 and all(t.kind in ("word", "code") for t in value)
            for value in self.values
        )


_CONDITIONAL = frozenset(
    root(w) for w in "fallback backup emergency contingency plan rain condition case exception".split()
)


@lru_cache(maxsize=65536)
def _sought(names: tuple[str, ...], values: tuple[str, ...], polarity: str) -> Sought:
    keys: list[tuple[frozenset[object], ...]] = []
    heads: list[frozenset[object]] = []
    for name in names:
        said = _content(tokens(name))
        words = tuple(_senses(token.form) for token in said)
        keys.append(words)
        last = said[-1].form if said else ""
        if len(said) > 1 and last in _words().light:
            keys.append(words[:-1])
        if len(said) > 1 and said[0].form in _words().light:
            keys.append(words[1:])
        if len(said) == 2:
            keys.append((frozenset({root(f"{said[0].form}{said[1].raw}")}),))
        heads += [_senses(said[-1 - (len(said) > 2 and last in _words().light)].form)] * (
            len(said) > 1 and (len(said) > 2 or last not in _words().light)
        )
        if polarity != "is" and len(said) == 1 and said[0].form in _words().light_verbs:
            keys.append(())
    sought = tuple(_content(tokens(value)) for value in values)
    # A long number says enough without what it counts.
    sought += tuple(
        value[:1]
        for value in sought
        if len(value) == 2 and value[0].kind == "number" and value[0].number is not None
        and value[0].number >= 100 and value[1].kind == "word"
    )
    return Sought(tuple(dict.fromkeys(keys)), tuple(heads), sought, polarity)


# How a statement takes back, doubts or orders what it says. KEY, VALUE and RIVAL (another value of
# the same sort) stand in the place of what they are in a fact.


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("GAP", r"(?:(?!VALUE|RIVAL|[;:,()]|\bbut\b)\S+ )"))


_NOT = (
    r"(?:not|never|no longer|no more|isn't|aren't|wasn't|weren't|won't|don't|doesn't|didn't|cannot"
    r"|can't|mustn't|shouldn't|hasn't|haven't|hadn't|without|instead of|rather than|in place of"
    r"|in lieu of|den(?:y|ies|ied)|disput\w*|refus\w*|wouldn't|neither|nor|ruled out|ruling out|reject\w*|abandon\w*|discard\w*|dropped|gave up"
    r"|given up|stopped|stop|other than|except|no need|needn't|against|away from|no|nobody|nothing"
    r"|nicht|kein\w*|nie|niemals|statt|jamais|pas|nunca|ya no|não|mai|non)"
)
_UNLESS_MORE = r"(?! (?:only|just|exceed\w*|more|less|later|above|below|forget|change|worry|sure)\b)"
_FORMER = (
    r"(?:used to(?: be)?|formerly|previously|former|previous|originally|initially|at first"
    r"|first|outdated|obsolete|deprecated|replac\w+(?! (?:by|with))|supersed\w+(?! by)|früher|antes|before that"
    r"|stale|earlier|had been|until recently|no longer)"
)
_GONE = (
    r"(?:reject\w*|abandon\w*|dropped|discard\w*|removed|replaced|ruled out|wrong|incorrect|false"
    r"|untrue|outdated|obsolete|deprecated|retired|turned down|cancel\w*|revert\w*|superseded"
    r"|no longer|not|gone|over|rolled back|history|void|off the table|revoked|withdrawn|lifted|a mistake"
    r"|an error|vetoed|scrapped|declined|refuted|disproved|denied|abolished|ended)"
)
_IS = r"(?:was|were|is|are|has been|have been|had been|got|being|will be|turned out to be|proved)"
_DENIALS = [
    _pattern(rf"\b{_NOT}{_UNLESS_MORE} GAP{{0,4}}VALUE"),
    _pattern(rf"\b{_NOT}{_UNLESS_MORE} GAP{{0,3}}KEY GAP{{0,6}}VALUE"),
    _pattern(rf"\b{_FORMER} GAP{{0,3}}VALUE"),
    _pattern(r"\b(?:old|ex) VALUE"),
    _pattern(r"\( (?:was|were|before|ex|old|from) GAP{0,2}VALUE"),
    _pattern(r"\bfrom GAP{0,2}VALUE GAP{0,3}(?:to|->|→|auf|à|a) "),
    _pattern(r"VALUE (?:->|→|=>) "),
    _pattern(r"VALUE [^;]*; (?:it|that|this) (?:is|was) (?:back|reset|reverted|again) "),
    _pattern(r"\b(?:was|were|had) GAP{0,3}VALUE (?:\S+ ){0,6}(?:now|but|since|then|today) "),
    _pattern(r"\bnow GAP{0,3}RIVAL (?:\S+ ){0,3}(?:was|were|before) GAP{0,2}VALUE"),
    _pattern(rf"VALUE GAP{{0,4}}{_IS} (?:\w+ly |then |later |since |now |also )*{_GONE}\b"),
    _pattern(r"VALUE (?:GAP{0,3})(?:isn't|wasn't|aren't|no longer|any ?more|didn't|doesn't"
             r"|rejected|replaced (?:by|with)|nicht|is out)\b"),
    _pattern(rf"VALUE (?:\S+ ){{0,6}}[,;.(] (?:and |but |which |that |this |it )*{_IS} (?:\w+ )?"
             rf"{_GONE}\b"),
    _pattern(r"RIVAL (?:has |have )?(?:replaces|replaced|supersedes|superseded) GAP{0,3}VALUE"),
    _pattern(r"VALUE GAP{0,2}(?:until|bis|in favou?r of) "),
    _pattern(r"\b(?:cancell?ed|rejected|dropped|removed|abandoned|discarded|declined|reverted) :"
             r" (?:\S+ )?GAP{0,3}VALUE"),
    _pattern(r"VALUE (?:does not|doesn't|did not|didn't|do not|no longer"
             r"|never|isn't|is not|won't|cannot) (?:\S+ ){0,2}KEY"),
    _pattern(r"VALUE (?:[^;. ]+ ){0,4}, (?:and |but )?(?:then|later|but) (?:\w+ ){0,2}"
             r"(?:revert\w*|back|chang\w*|switch\w*|moved?) to"),
    _pattern(r"\b(?:until|till) (?!VALUE)(?:\S+ ){1,2}: VALUE"),
    _pattern(r"\b(?:chosen|preferred|picked|favou?red|instead|won|wins|prefer\w*|chose\w*) "
             r"(?:over|to|against) GAP{0,2}VALUE"),
]  # fmt: skip
_DOUBT = re.compile(
    r"\b(?:probably|possibly|perhaps|maybe|might|could be|likely|presumably|apparently|supposedly"
    r"|not sure|unsure|uncertain|unclear|unconfirmed|tentativ\w*|undecided|not (?:yet )?decided"
    r"|not (?:yet )?(?:confirmed|certain|final|settled|fixed|agreed|signed)|to be (?:decided"
    r"|confirmed)|tbd|tbc|i think|i guess|i believe|we think|seems?|suspect\w*|guess\w*|assum\w*"
    r"|consider(?:s|ed|ing)?|propos(?:es?|ed|ing)|suggest(?:s|ed|ing)?|toy\w* with|lean\w* towards?|in discussion"
    r"|being discussed|under discussion|thinking about|thought about|weighing|evaluating|idea"
    r"|would be|would have|rumou?r\w*|allegedly|claim(?:s|ed)|blames?|vielleicht|wohl"
    r"|wahrscheinlich|peut-être|quizás|forse|talvez|(?:KEY|VALUE) (?:\S+ )?may (?:be|become)|hope\w*|wish\w*|plan b"
    r"|if anything|believes?|thinks|thought)\b"
)
_SETTLED = re.compile(
    r"\b(?:settled on|decided on|decided|confirmed|agreed|final|went with|chose|chosen|picked|proved"
    r"|proven|signed|it is now|insists?|approved|taken|selected|won|answered yes|said yes|yes)\b"
)
_AGREED = re.compile(r"\b(?:answered|said|replied) (?:with )?(?:yes|so)\b|\b(?:agreed|confirmed it)\b")
# Denials of denials and the like, and what they come to.
_PLAINLY = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        (rf"\b(?:not|never|no longer|isn't|aren't) (?:at all |yet )?(?:{_GONE[3:-1]}|stale|{_FORMER[3:-1]})\b",
         "right"),
        (r"\b(?:do not|don't|never) forget (?:to )?", "must "),
        (r"\b(?:not|never|no|nothing|nobody|wouldn't|won't|don't|doesn't|didn't|cannot|can't)"
         r" (?:(?!VALUE|;|:)\S+ )*(?:except|other than|but|else than) (?=VALUE)", "only "),
        (r"\bnot (?:yet )?(?:been )?(?:decided|confirmed|settled|agreed|final|signed|approved)\b",
         "undecided"),
        (r"\b(?:not|never|isn't|aren't|wasn't|no longer|nobody is) (?:\w+ly )?(?:allowed|permitted|ok"
         r"|okay|fine|free|welcome|safe|supposed)\b(?: (?:to|for))?", "forbidden"),
        (rf"\b{_NOT} (?:\S+ ){{1,3}}in favou?r of (?=VALUE)", "chose "),
        (r"\b(?:under no circumstances|on no account|in no case|nobody|no one|nothing|never|neither|at no time)"
         r" (?:may|can|shall|should|must|is allowed to)\b", "forbidden"),
        (r"\b(?:may|can|shall|must|should) (?:never|not|no longer|nobody|under no circumstances)\b",
         "forbidden"),
    )
]  # fmt: skip


def _plainly(text: str) -> str:
    for pattern, instead in _PLAINLY:
        text = pattern.sub(instead, text)
    return text

_IF = re.compile(
    r"^(?:\W*)(?:if|unless|in case|provided|assuming|should|whenever|when|only if|once|had|wenn|falls"
    r"|otherwise|were|as soon as|as long as)\b|\b(?:if|unless|in case|provided that"
    r"|depending on|falls|whether)\b"
)
_CHOICE = re.compile(
    r"\bcandidates\b|\bVALUE or\b|\bor VALUE|\bRIVAL or VALUE|\beither\b|\boptions?\b|\bwhether\b|\bdecide\b"
    r"|\bto be asked\b|\bwondering\b|\bask(?:s|ed)? (?:if|whether|who|what|which|where|when|how)|\bvs\.? "
)
# Words that show that what is said is the newer of two.
_ORDERS = re.compile(
    r"\b(?:now|no longer|instead|former\w*|previous\w*|earlier|used to|chang\w+|renam\w+"
    r"|replac\w+|supersed\w+|updat\w+|latest|from now on|any ?more|after all|revis\w+"
    r"|correct(?:ed|ion)|switch\w+|moved|rather than|in place of|doubled|halved|raised|lowered"
    r"|later|since|increased|reduced|slipped|postponed|migrat\w+)\b|->|\u2192"
)
_DEMANDS = re.compile(
    r"\b(?:must|always|has to|have to|had to|needs? to|requir\w+|shall|should|only|mandatory"
    r"|obligatory|without exception|every|never without|insists?|expects?|make sure|be sure"
    r"|has got to|ought to|compulsory|at all times|is to|are to|ensure|immer|muss|müssen"
    r"|toujours|doit|siempre|debe|sempre|deve)\b(?! (?:not|never)\b)"
)
_FORBIDS = re.compile(
    r"\b(?:not|never|no|cannot|can't|don't|doesn't|mustn't|shouldn't|won't|may not|forbid\w*"
    r"|forbade|prohibit\w*|avoid\w*|without|refrain\w*|off[- ]limits|leave \S+ alone"
    r"|leave alone|hands off|stay\w* away|keep\w* away|keep off|steer clear|banned|bans?|taboo"
    r"|out of bounds|disallow\w*|nothing|none|nobody|untouched|instead of|stop|verboten|nicht"
    r"|nie|niemals|kein\w*|aucun\w*|ningun\w*|ningún|nessun\w*|jamais|interdit\w*|ne|nunca|prohibid\w*|no se|mai|vietato|non|não"
    r"|proibid\w*|embargo|under seal|freeze|unless told)\b"
)
_ALLOWS = re.compile(
    r"\b(?:no longer (?:forbid\w*|prohibit\w*|banned|off[- ]limits|taboo|a problem|applies|holds)"
    r"|not (?:forbidden|prohibited|banned|a problem|necessary|needed|required)"
    r"|(?:fine|okay|ok|free|safe|allowed|permitted|welcome|possible) (?:again |now )?(?:to|for)\b"
    r"|(?:is|are|was|were|now|again) (?:again |now )*(?:fine|okay|ok|allowed|permitted|possible)"
    r"|lifted|ended|ends|expired|was dropped|withdrawn|revoked|no need to|doesn't need to"
    r"|don't (?:need|have) to|does not need to|may (?!not)|can (?!not|be no)|feel free|go ahead"
    r"|darf (?!nicht)|dürfen (?!nicht)|nothing against|no objections?|no harm in|not mind"
    r"|withdr[ae]w\w*|ban (?:is|was) (?:gone|over)|doesn't matter|does not matter|not hesitate|optional|needn't)"
)
_WEAKENS = re.compile(
    r"\b(?:unless|except\w*|preferabl\w+|where possible|if possible|when possible|try to|tries to"
    r"|ideally|better not|better|rather not|normally|usually|mostly|generally|as a rule"
    r"|in principle|sparingly|in small|small doses|more than|VALUE (?:\S+ ){0,3}without|until|during|on weekdays|for now|discouraged|reluctan\w*|as far as"
    r"|if at all|not recommended|only (?:if|when|after)|too (?:often|much)|should avoid"
    r"|recommended|not ideal|not advisable|nicer|where needed|think twice|carefully|with care|if you can|temporarily)\b"
)


class _Reading:
    """A text, taken to pieces as far as somebody has asked."""

    def __init__(self, text: str) -> None:
        self.raw = text

    @cached_property
    def text(self) -> str:
        """It as it is compared."""
        return normal(self.raw)

    @cached_property
    def there(self) -> frozenset[object]:
        """The senses of all words: what must be among them to be said at all."""
        words = _RUN.findall(self.raw.replace("\u2019", "'"))
        said = {word.casefold() for word in words}
        said |= {root(a) + b for a, b in zip(words, words[1:], strict=False) if b in _PARTICLES}
        return frozenset().union(*map(_senses, map(root, said)))

    @cached_property
    def paths(self) -> frozenset[str]:
        """The relative paths of two or more components."""
        return frozenset(match[0].rstrip(".") for match in _PATH.finditer(self.text))

    @cached_property
    def lines(self) -> list[_Line]:
        """Its statements."""
        found: list[Statement | None] = [*statements(self.raw), None]
        return [_Line(one, found[place]) for place, one in enumerate(found[:-1], 1) if one]


# Several strategies keep the same texts, and several readers look at each prompt.
@lru_cache(maxsize=256)
def _reading(text: str) -> _Reading:
    return _Reading(text)


class Wording:
    """A text that is asked about facts.

    Parameters
    ----------
    text
        What it says.
    shared
        Ends of paths that several known paths have: they name none of them.
    """

    def __init__(self, text: str, shared: Collection[str] = ()) -> None:
        self._reading = _reading(text)
        self._shared = shared

    def says(self, fact: Fact) -> Spoken:
        """What the text says of a fact."""
        values = (fact.value, *fact.variants)
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        if not names and fact.polarity == "is":
            return self._names(values, bool(fact.supersedes))
        if not self._reading.raw:
            return SILENT
        sought = _sought(names, values, fact.polarity)
        found = SILENT
        if self._has(sought.names) or not names:
            found = self._judged(sought, sought.names or ((),))
        heads = tuple((head,) for head in sought.heads)
        if not found.key and self._has(heads):
            found = self._judged(sought, heads, bare=True)
        if found.intact or found.wrong:
            return found
        if sought.polarity == "is" and sought.names:
            loose = self._judged(sought, self._most(sought), bare=True)
            if loose.intact:
                return loose
        if found.key and sought.polarity != "must_not":
            return found
        if sought.polarity == "must_not" or (sought.telling and sought.polarity == "is"):
            nameless = self._judged(sought, ((),), ban=sought.polarity != "is")
            if nameless.intact or nameless.wrong:
                return nameless
        return found

    def _most(self, sought: Sought) -> Names:
        """Of long keys, those words that the text has, if they are most of them."""
        found = []
        for name in sought.names:
            there = tuple(word for word in name if not self._reading.there.isdisjoint(word))
            if len(name) > 2 and 2 <= len(there) < len(name) and 2 * len(there) > len(name):
                found.append(there)
        return tuple(found)

    def _has(self, names: Iterable[tuple[frozenset[object], ...]]) -> bool:
        """Whether all words of a key are there somewhere."""
        there = self._reading.there
        return any(
            all(not there.isdisjoint(word) or not _lettered(word) for word in name)
            for name in names
        )

    def _names(self, values: tuple[str, ...], revises: bool) -> Spoken:
        """What it says of a fact that is known by its value alone."""
        for value in values:
            wanted = normal(value)
            place = next(occurrences(self._reading.text, wanted), None)
            if place is None and "/" in wanted and self._ends(wanted):
                place = 0
            if place is not None:
                near = self._reading.text[max(0, place - _NEAR) : place + len(wanted) + _NEAR]
                return Spoken(True, True, True, revises and _ORDERS.search(near) is not None)
        return SILENT

    def _ends(self, path: str) -> bool:
        """Whether the end of a path stands there that no other one has."""
        ends = self._reading.paths.intersection(path_ends(path))
        return not ends <= frozenset(self._shared) if ends else False

    def holds(self, fact: Fact, part: str) -> bool:
        """Whether the text says one part of a fact that has several.

        Parts may be spread over a sentence, and over the next one that goes on about it.
        """
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        sought = _sought(names, (part,), "is")
        if not sought.values[0]:
            return False
        if not names:
            return any(line.mentions(sought, self._shared) for line in self._reading.lines)
        keys = sought.names + tuple((head,) for head in sought.heads)
        if not self._has(keys):
            return False
        for place, line in enumerate(self._reading.lines):
            if any(line.homes(name) for name in keys):
                near = [line]
                if place + 1 < len(self._reading.lines) and self._reading.lines[place + 1].goes_on:
                    near.append(self._reading.lines[place + 1])
                if place and line.goes_on or (place and self._reading.lines[place - 1].goes_on):
                    near.append(self._reading.lines[place - 1])
                if any(each.mentions(sought, self._shared) for each in near):
                    return True
        return False

    def _judged(
        self, sought: Sought, names: Names, *, bare: bool = False, ban: bool = False
    ) -> Spoken:
        key = stated = intact = ordered = wrong = False
        for line in self._reading.lines:
            verdict = line.verdict(sought, names, self._shared, bare=bare)
            if verdict is None or (ban and verdict != "held"):
                continue
            key = True
            if verdict in ("held", "newer", "plain"):
                stated = True
                intact = intact or verdict != "plain"
                ordered = ordered or verdict == "newer" or line.orders
            elif verdict == "denied":
                wrong, intact, stated = True, False, False
            elif verdict == "other":
                wrong = True
        return Spoken(key, stated, intact, ordered, wrong and not intact)


_NEAR = 200  # characters around a value in which a word of order is looked for
_PATH = re.compile(r"(?<![\w/.~-])[\w.@+-]+(?:/[\w.@+-]+)+")


class _Line:
    """A statement that is asked about facts."""

    def __init__(self, statement: Statement, behind: Statement | None) -> None:
        self.statement = statement
        pieces = list(statement.segments)
        self.own = len(pieces)
        if behind is not None and behind.context == statement.context and _goes_on(behind):
            first, *rest = behind.segments
            pieces += [Segment(first.tokens, ".", strong=True), *rest]
        self.segments = pieces
        self.asks = statement.asks
        self.answer = _answer(behind) if statement.asks else ""
        self.flat = [token for segment in pieces for token in segment.tokens]
        self.of = [n for n, segment in enumerate(pieces) for _ in segment.tokens]

    @cached_property
    def senses(self) -> list[frozenset[object]]:
        return [_all_senses(segment.tokens) for segment in self.segments]

    @cached_property
    def under(self) -> frozenset[object]:
        return _all_senses(self.statement.context)

    @cached_property
    def text(self) -> str:
        """The statement and what it stands under, as plain words."""
        every = (*self.statement.context, *self.flat)
        return _plainly(" ".join(token.raw.casefold() for token in every) + " ")

    @cached_property
    def orders(self) -> bool:
        return _ORDERS.search(self.text) is not None

    def verdict(
        self, sought: Sought, names: Names, shared: Collection[str], *, bare: bool = False
    ) -> str | None:
        """What the statement says: None if it does not name the fact."""
        for name in names:
            homes = self.homes(name) if name else self._anywhere(sought)
            if bare and len(name) == 1:
                homes = [home for home in homes if self._alone(home, name[0])]
            loose = bare and len(name) > 1
            if homes:
                found = [self._at(home, name, sought, shared, loose=loose) for home in homes]
                for best in ("held", "newer", "plain", "denied", "other", "asked"):
                    if best in found:
                        return best
                return "key" if name else None
        return None

    def _alone(self, home: int, head: frozenset[object]) -> bool:
        """Whether a word stands without another one in front of it that would make it another."""
        if home < 0:
            return False
        for place, token in enumerate(self.flat):
            if self.of[place] == home and not _senses(token.form).isdisjoint(head):
                front = self.flat[place - 1] if place and self.of[place - 1] == home else None
                if front is None or front.kind in ("mark", "number"):
                    return True
                if front.raw.casefold() in _words().empty or front.raw.casefold() in _LINKS:
                    return True
        return False

    @cached_property
    def goes_on(self) -> bool:
        """Whether it is about what the one in front of it is about."""
        first = self.flat[0].raw.casefold() if self.flat else ""
        words = {token.raw.casefold() for token in self.flat}
        return first in _PRONOUNS or not words.isdisjoint({"there", "also", "too", "well"})

    def mentions(self, sought: Sought, shared: Collection[str]) -> bool:
        """Whether the value stands there and is not denied."""
        for spot in self._spots(sought.values, shared):
            place = self.of[spot[0]]
            if place < self.own and not self.asks:
                text = self._marked(place, self.of[spot[1] - 1], set(), spot, [])
                if not any(pattern.search(text) for pattern in _DENIALS):
                    return True
        return False

    def _anywhere(self, sought: Sought) -> list[int]:
        """The segments that hold the value, for a fact that needs no key."""
        return sorted({self.of[a] for a, _ in self._spots(sought.values, ())} - {-2})

    def homes(self, name: tuple[frozenset[object], ...]) -> list[int]:
        """The segments in which a key stands; -1: it is all above the statement."""
        own = self.senses[: self.own]
        full = [
            n
            for n, there in enumerate(own)
            if any(not there.isdisjoint(word) for word in name)
            and all(not (there.isdisjoint(word) and self.under.isdisjoint(word)) for word in name)
        ]
        if full:
            return full
        if all(not self.under.isdisjoint(word) for word in name):
            return [-1]
        every = frozenset().union(self.under, *own)
        if all(not every.isdisjoint(word) for word in name):
            return [
                max(n for n, there in enumerate(own) if any(not there.isdisjoint(w) for w in name))
            ]
        return []

    def _spots(
        self, values: Iterable[tuple[Token, ...]], shared: Collection[str]
    ) -> Iterator[tuple[int, int]]:
        """From where to where values stand."""
        for value in values:
            for start in range(len(self.flat)):
                end = self._matches(value, start, shared)
                if end:
                    yield start, end

    def _matches(self, value: tuple[Token, ...], start: int, shared: Collection[str]) -> int:
        place, skipped = start, 0
        for wanted in value:
            while place < len(self.flat) and not _alike(wanted, self.flat[place], shared):
                token = self.flat[place]
                if place == start or skipped > 2 or not (
                    token.kind == "mark" or token.raw.casefold() in _words().empty
                ):
                    return 0
                place += 1
                skipped += 1
            if place >= len(self.flat):
                return 0
            place += 1
        if not value or self.flat[start].tied or self.flat[place - 1].ties:
            return 0
        return place

    def _scattered(
        self, values: Iterable[tuple[Token, ...]], shared: Collection[str]
    ) -> Iterator[tuple[int, int]]:
        """Where all words of a long value stand in one segment: the verb may part them."""
        for value in values:
            for place in range(len(self.segments) if len(value) > 1 else 0):
                here = [n for n, of in enumerate(self.of) if of == place]
                found = [
                    next((n for n in here if _alike(word, self.flat[n], shared)), -1)
                    for word in value
                ]
                if min(found) >= 0:
                    yield max(found), max(found) + 1

    def _at(
        self, home: int, name: tuple[frozenset[object], ...], sought: Sought,
        shared: Collection[str], *, loose: bool = False,
    ) -> str:
        """What is said of a fact whose key stands in a segment."""
        spots = list(self._spots(sought.values, shared))
        if not spots and sought.polarity != "is":
            spots = list(self._scattered(sought.values, shared))
        kind = next((v[0] for v in sought.values if len(v) == 1 and v[0].kind != "word"), None)
        paths = kind is not None and kind.kind == "code"
        keys = {
            n for n, t in enumerate(self.flat)
            if self.of[n] == home and _among(t, name) and not (paths and "/" in str(t.form))
        }
        if not spots and keys and sought.truth:
            # A fact that something is so, or is not.
            verdict = self._said(home, name, set(), (min(keys), max(keys) + 1), [], sought)
            if verdict in ("held", "newer", "denied"):
                return "held" if (verdict != "denied") == (sought.truth == "yes") else "other"
            return verdict
        rivals = [
            n for n, token in enumerate(self.flat)
            if kind is not None and n not in keys and self._rivals(kind, n, sought)
            and not any(a <= n < b for a, b in spots)
        ]
        standing = [n for n in rivals if not self._dismissed(home, keys, n, rivals)]
        bound = [spot for spot in spots if self._bound(home, keys, spot, standing)]
        if loose and not bound and not rivals and kind is not None and kind.kind == "code":
            bound = spots
        within = any(self.of[a] == home for a, _ in spots) or any(self.of[n] == home for n in rivals)
        if home > 0 and self.segments[home].aside and self._relative(home, keys) and not within:
            # What stands in brackets is said of what stands in front of them.
            bound = [spot for spot in bound if self.of[spot[0]] < home]
        if not bound:
            near = [n for n in standing if self._bound(home, keys, (n, n + 1), [])]
            return "other" if near and not self.asks or self._otherwise(home, keys, kind) else "key"
        verdicts = [self._said(home, name, keys, spot, rivals, sought) for spot in bound]
        for best in ("held", "newer", "plain", "denied", "asked"):
            if best in verdicts:
                return best
        return "key"

    def _rivals(self, kind: Token, place: int, sought: Sought) -> bool:
        token = self.flat[place]
        if kind.kind == "name" and token.kind == "name":
            first = place == 0 or self.of[place - 1] != self.of[place]
            first = first and len(self.segments[self.of[place]].tokens) > 1
            if first:
                return False
        if kind.kind == "code" and str(kind.form).endswith(f"/{token.form}"):
            return False  # its bare name, which may be that of others
        return rival(kind, token) and not any(_alike(w, token, ()) for v in sought.values for w in v)

    def _otherwise(self, home: int, keys: set[int], kind: Token | None) -> bool:
        """Whether words behind a key say something else, where a value is told by no type."""
        if self.asks or (kind is not None and kind.kind != "name"):
            return False
        if home < 0:
            words = _content(self.flat)
            return self.statement.row and bool(words) and not any(t.typed for t in words)
        behind = [n for n in range(max(keys, default=0) + 1, len(self.flat)) if self.of[n] == home]
        text = " ".join(self.flat[n].raw.casefold() for n in behind)
        match = _IS_SAID.match(text)
        return match is not None and not _VAGUE.search(match[1]) and bool(match[1].strip())

    def _bound(
        self, home: int, keys: set[int], spot: tuple[int, int], rivals: list[int]
    ) -> bool:
        """Whether a value belongs to a key."""
        start, end = spot
        place = self.of[start]
        if keys and max(start - max(keys), min(keys) - end) > WINDOW:
            return False
        if home < 0:
            # The key stands above: the item or cell may have a key of its own.
            return self.statement.row or not self._own_key(start)
        if place == home:
            return self._nearest(keys, spot, [n for n in rivals if self.of[n] == home])
        if place > home:
            inside = self.segments[place].aside
            between = [
                n for n in range(home + 1, place + 1) if inside or not self.segments[n].aside
            ]
            if self._predicate(home, place, keys) or self._fronted(home, place, keys):
                return True
            parted = self.segments[place]
            if (
                parted.joint == "," and self.segments[home].joint
                and parted.tokens[0].raw.casefold() in _FINITE
            ):
                return False  # it goes on about the subject in front of an aside
            if not all(self._continues(n, spot) for n in between):
                return False
            before = [n for n in rivals if home <= self.of[n] < place]
            return not before or self._bare(place, spot)
        # Backwards: "Mark, who is release manager"; "Samira, our account manager".
        if place != home - 1 or any(self.of[n] == home for n in rivals):
            return False
        words = " ".join(token.raw.casefold() for token in self.segments[home].tokens)
        together = self.segments[home].joint == "and" and self._bare(place, spot)
        return self._relative(home, keys) or _REPORTS.search(words) is not None or together

    def _predicate(self, home: int, place: int, keys: set[int]) -> bool:
        """Whether a segment is what a subject does from which an aside in commas parts it."""
        segment = self.segments[place]
        first = segment.tokens[0].raw.casefold()
        subject = [n for n in range(len(self.flat)) if self.of[n] == home and n > max(keys, default=0)]
        return (
            place > home + 1 and not segment.strong and segment.joint == ","
            and first in _FINITE and not subject
            and self.segments[home].joint in ("", "since", "because", "although")
            and not any(s.joint == ";" for s in self.segments[home + 1 : place])
        )

    def _dismissed(self, home: int, keys: set[int], place: int, rivals: list[int]) -> bool:
        """Whether another value is said to hold no longer, or not to hold."""
        others = [n for n in range(len(self.flat)) if n != place and (n in rivals)]
        text = self._marked(0, len(self.segments), keys, (place, place + 1), others)
        return any(pattern.search(text) for pattern in _DENIALS)

    def _fronted(self, home: int, place: int, keys: set[int]) -> bool:
        """Whether the key stands alone in front of a clause: "For the port, 8123 is best"."""
        rest = [
            token for n, token in enumerate(self.flat)
            if self.of[n] == home and n not in keys and token.kind != "mark"
            and token.raw.casefold() not in _words().empty
            and token.raw.casefold() not in _FRONT
        ]
        marks = {token.raw for token in self.segments[place].tokens if token.kind == "mark"}
        first = self.segments[home].tokens[0].raw.casefold() in _FRONT | _words().empty
        segment = self.segments[place]
        return (
            home == 0 and place == 1 and first and not rest and segment.joint == ","
            and not marks & {":", "="}
        )

    def _nearest(self, keys: set[int], spot: tuple[int, int], rivals: list[int]) -> bool:
        if not keys or not rivals:
            return True
        start, end = spot
        first, last = min(keys), max(keys)
        if start > last:
            between = [n for n in rivals if last < n < start]
            return not between or self._listed(between, start)
        behind = [n for n in rivals if n > last]
        between = [n for n in rivals if end <= n < first]
        if between:
            return False
        # In front of the key, with another value behind it: that one is the key's.
        return not behind or behind[0] - last > first - end + 2

    def _listed(self, between: list[int], start: int) -> bool:
        gap = self.flat[between[-1] + 1 : start]
        return all(t.kind == "mark" or t.raw.casefold() in _words().empty for t in gap)

    def _own_key(self, start: int) -> bool:
        front = [t for t in self.flat[:start] if self.of[0] == self.of[0]]
        marks = {t.raw for t in front if t.kind == "mark"}
        return bool(marks & {":", "="}) or len(_content(front)) > 3 if front else False

    def _continues(self, place: int, spot: tuple[int, int]) -> bool:
        """Whether a segment goes on about what the one in front of it is about."""
        segment = self.segments[place]
        first = segment.tokens[0].raw.casefold()
        if first in (":", "="):
            return True
        if segment.strong and segment.joint != "but":
            return first in _PRONOUNS
        if "then" in segment.joint or "afterwards" in segment.joint:
            return True
        if first in _PRONOUNS or first in _LINKS or first.endswith("ed"):
            return True
        return self._bare(place, spot)

    def _bare(self, place: int, spot: tuple[int, int]) -> bool:
        """Whether a segment has no words of its own beside a value."""
        words = [
            token
            for n, token in enumerate(self.flat)
            if self.of[n] == place and token.kind == "word" and not spot[0] <= n < spot[1]
            and token.raw.casefold() not in _words().empty
            and token.raw.casefold() not in _LINKS
        ]
        return not words

    def _relative(self, home: int, keys: set[int]) -> bool:
        """Whether a segment only says of the one in front what it is."""
        segment = self.segments[home]
        first = segment.tokens[0].raw.casefold()
        if segment.strong:
            return False
        if "who" in segment.joint or "which" in segment.joint or first in ("who", "which", "that"):
            return True
        rest = [
            token for n, token in enumerate(self.flat)
            if self.of[n] == home and n not in keys and token.kind in ("word", "name")
            and token.raw.casefold() not in _words().empty and token.raw.casefold() != "same"
        ]
        return segment.joint in (",", "(", "–", "—") and not rest

    def _said(
        self, home: int, name: tuple[frozenset[object], ...], keys: set[int],
        spot: tuple[int, int], rivals: list[int], sought: Sought,
    ) -> str:
        """How a value is said that belongs to the key."""
        low = min(home if home >= 0 else self.of[spot[0]], self.of[spot[0]])
        high = max(home, self.of[spot[1] - 1])
        place = self.of[spot[0]]
        if home < place and any(self.segments[n].strong for n in range(home + 1, place + 1)):
            low = place  # what was said before it is put right by it
        core = self._marked(low, high, keys, spot, rivals)
        while low > 0 and self._leads(low):
            low -= 1
        while high + 1 < len(self.segments) and self._comments(high + 1):
            high += 1
        text = self._marked(low, high, keys, spot, rivals)
        last = max((n for n, s in enumerate(self.segments[: self.own]) if s.strong), default=0)
        if self.asks and not self.answer and last <= self.of[spot[0]] < self.own:
            return "asked"
        if self.answer and self.of[spot[0]] < self.own:
            agreed = self.answer in _YES
            return "held" if agreed != (sought.polarity == "must_not") else "denied"
        above = _plainly(" ".join(token.raw.casefold() for token in self.statement.context) + " ")
        if sought.polarity != "is":
            core = self._clause(home, keys, spot, rivals)
            text = f"{core} ; {text}"
        if sought.polarity == "is":
            return "denied" if _VOID.search(above) else self._stated(text, core, sought)
        verdict = _ruled(text, above + core, sought.polarity)
        if not name and sought.names and not (_BAN.search(above + core) or _NONE.search(core)):
            if _ALLOWS.search(core) or _WEAKENS.search(core):
                return "denied"
            return "asked"  # of what is done with the object, nothing is said
        return verdict

    def _clause(
        self, home: int, keys: set[int], spot: tuple[int, int], rivals: list[int]
    ) -> str:
        """The segments of key and value, and those that go on about them."""
        low = min(home if home >= 0 else self.of[spot[0]], self.of[spot[0]])
        high = max(home, self.of[spot[1] - 1])
        while high + 1 < len(self.segments):
            first = self.segments[high + 1].tokens[0].raw.casefold()
            plain = not self.segments[high + 1].strong
            if (first in _PRONOUNS and (plain or self._bans(high + 1))) or (plain and (first in _FINITE | _MODALS or first in _LINKS)):
                high += 1
            else:
                break
        if low and not self.segments[low].strong:
            words = " ".join(token.raw.casefold() for token in self.segments[low - 1].tokens)
            low -= _RULES.search(words) is not None
        return self._marked(low, high, keys, spot, rivals)

    def _bans(self, place: int) -> bool:
        """Whether a segment says no more than that a thing is not to be touched."""
        words = " ".join(token.raw.casefold() for token in self.segments[place].tokens)
        return bool(_BAN.search(words) or _TOUCH.search(words))

    def _stated(self, text: str, core: str, sought: Sought) -> str:
        if _CHOICE.search(core) and not _SETTLED.search(text):
            return "asked"
        if any(pattern.search(text) for pattern in _DENIALS):
            return "denied"
        if _DOUBT.search(text) and not _SETTLED.search(text):
            return "denied"
        if _IF.search(text) and not (sought.conditional or _SETTLED.search(core) or _AGREED.search(text)):
            return "denied"
        return "newer" if _ORDERS.search(text) else "held"

    def _leads(self, low: int) -> bool:
        """Whether the segment in front of one puts it under a condition or in doubt."""
        front = self.segments[low - 1]
        words = " ".join(token.raw.casefold() for token in front.tokens)
        here = self.segments[low]
        if here.strong:
            return False
        return bool(
            _IF.search(f"{front.joint} {words}") or _DOUBT.search(words)
            or re.search(rf"\b{_FORMER}\b", words)
        ) and here.joint in (",", "that", "then", "", ":")

    def _comments(self, place: int) -> bool:
        """Whether a segment says how the one in front of it is meant."""
        segment = self.segments[place]
        first = segment.tokens[0].raw.casefold()
        long = len(segment.tokens) > 4 or "if" in segment.joint
        if segment.strong and long and first not in _PRONOUNS:
            return False
        words = " ".join(token.raw.casefold() for token in segment.tokens)
        return _COMMENT.match(f"{segment.joint} {words}") is not None

    def _marked(
        self, low: int, high: int, keys: set[int], spot: tuple[int, int], rivals: list[int]
    ) -> str:
        """Segments as words, with KEY, VALUE and RIVAL."""
        words: list[str] = []
        last = -1
        for n, token in enumerate(self.flat):
            if not low <= self.of[n] <= high:
                continue
            if self.of[n] != last:
                words.append(self.segments[self.of[n]].joint)
                last = self.of[n]
            if spot[0] <= n < spot[1]:
                word = "VALUE"
            elif n in keys:
                word = "KEY"
            elif n in rivals:
                word = "RIVAL"
            else:
                word = token.raw.casefold()
            if not (words and words[-1] == word and word.isupper()):
                words.append(word)
        return _plainly(" ".join(filter(None, words)) + " ")


_PRONOUNS = frozenset(
    "it they this that these he she there who which its their his her".split()
)
_LINKS = frozenset(
    """is was are were be been goes go runs run lives lives asks uses set starts start to at on in from
    for by with until under via of now then later first also currently still not only as per about
    will would can could must should may might has have had namely i.e e.g called named apart after
    before since see reference ref filed use take write look so yet again today finally ultimately today both each never no always""".split()
)
_IS_SAID = re.compile(
    r"(?:(?!is |are |was |were |: |= )\S+ ){0,3}?(?:is|are|was|were|will be|:|=|remains|became|to|by|on|in"
    r"|at|with|of|opens)\s(.*)"
)
_FRONT = frozenset("for on as to about in given regarding concerning re at choice".split())
_FINITE = frozenset("is are was were has have had will comes goes runs remains stays costs".split())
_MODALS = frozenset("must may can could shall should at without under never not".split())
# Verbs of ruling, in front of what they rule.
_RULES = re.compile(
    r"\b(?:verboten|forbidden|forbade|prohibited|banned|warned|interdit|prohibido|prohibió|vietato"
    r"|insists?|insisted|demanded|demands|required|rule|rules)\b"
)
_NONE = re.compile(r"\b(?:no|never|avoid|kein\w*|without|zero) (?:\w+ )?VALUE")
_REPORTS = re.compile(r"\b(?:wrote|said|says|asked|told|answered|confirmed|about|insisted|decided)\b")
# Headings under which nothing is stated.
_VOID = re.compile(
    r"\b(?:rejected|discarded|abandoned|ruled out|open questions?|ideas?|options|alternatives|obsolete"
    r"|outdated|deprecated|candidates|to decide|undecided|not chosen|superseded|old|previous\w*|former"
    r"|archive\w*|history)\b"
)
_TOUCH = re.compile(
    r"(?:has|have|needs?|must|should|ought) to \S+ that|\b(?:not|never|no one|nobody|must|has to"
    r"|have to|needs to)\b.{0,20}\b(?:touch\w*|allow\w*|happen|done|permitted|chang\w+|edit\w*"
    r"|say that|be so|stay|modif\w+)\b"
)
# Bans on all that one could do to a thing.
_BAN = re.compile(
    r"\b(?:hands off|off[- ]limits|taboo|leave \S+ alone|leave alone|untouched|under seal|stay away"
    r"|keep away|keep off|steer clear|out of bounds|nothing may|read[- ]only|forbidden|prohibited|banned)\b"
)
_VAGUE = re.compile(
    r"\b(?:see|above|below|set|chosen|made|given|noted|known|decided|agreed|discussed|same|unchanged"
    r"|attach\w*|redacted|tbd|unknown|still|here|file|later|earlier|open|pending|fixed|moved|told"
    r"|stored|done|found|confirmed|updated|what|which|whatever|not|there|usual|last|mentioned"
    r"|before|analysed|documented|described|listed|cleared|omitted|missing|in the|ready|up to)\b|\["
)
_COMMENT = re.compile(
    r"[,;.(–—-]?\s?(?:and |but )?(?:the |a )?(?:user|client|customer|he|she|they)?\s?(?:answered"
    r"|confirmed|agreed|rejected|declined|refused|denied|said (?:yes|no))\b|"
    r"[,;.(–—-]?\s?(?:and |but |which |that |this |it |though |although )*(?:(?:is|was|are|were|has been"
    r"|had been|turned out|proved|could|may|might|can) )?(?:not|never|wrong|incorrect|outdated|obsolete"
    r"|rejected|dropped|abandoned|if|unless|in case|maybe|probably|perhaps|tentative\w*|unconfirmed"
    r"|undecided|tbd|tbc|until|only|except\w*|provided|formerly|previously|was|were|no longer|replaced"
    r"|superseded|according|or|now|then|otherwise|preferably|where|when|ideally|possibly|to be"
    r"|subject|pending|pure|just a|still|i think|i guess|we think|as a)\b"
)


def _alike(wanted: Token, said: Token, shared: Collection[str]) -> bool:
    if same(wanted, said):
        return True
    if wanted.kind == said.kind == "code":
        form = str(said.form)
        return form not in shared and (
            ends_with(wanted.form, form) or (form.startswith("/") and ends_with(form, wanted.form))
        )
    if {wanted.kind, said.kind} <= {"word", "name"}:
        return not _senses(wanted.form).isdisjoint(_senses(said.form))
    return False


def _among(token: Token, name: tuple[frozenset[object], ...]) -> bool:
    return any(not _all_senses((token,)).isdisjoint(word) for word in name)


_YES = frozenset("yes ja oui sí yep sure".split())
_NO = frozenset("no nein non never nope".split())


def _answer(statement: Statement | None) -> str:
    """The answer to a question that a statement begins with."""
    if statement is None:
        return ""
    first = next((t for s in statement.segments for t in s.tokens if t.kind != "mark"), None)
    word = first.raw.casefold() if first else ""
    return word if word in _YES | _NO else ""


def _goes_on(statement: Statement) -> bool:
    first = statement.segments[0].tokens[0].raw.casefold() if statement.segments else ""
    return first in _PRONOUNS or first in ("also", "not")


def _ruled(text: str, core: str, polarity: str) -> str:
    """Whether a statement demands or forbids what it speaks of."""
    if polarity == "must":
        if _IF.search(text) or _DOUBT.search(text) or _EXCUSES.search(text):
            return "denied"
        if re.search(rf"\b{_NOT}{_UNLESS_MORE} ", core) and not _DEMANDS.search(core):
            return "denied"
        return "held" if _DEMANDS.search(core) or _IMPERATIVE.match(core) else "plain"
    if _FORBIDS.search(core):
        if _ALLOWS.search(text) or _WEAKENS.search(text) or _IF.search(text):
            return "denied"
        return "held"
    return "denied"


# A verb and its object; a name with a value right behind it is a setting.
_IMPERATIVE = re.compile(
    r"(?:\W+|and |then |first |please |always |also )*KEY (?![:=]|is\b|are\b|was\b|VALUE)"
)
_EXCUSES = re.compile(
    r"\b(?:optional|no need|needn't|(?:don't|doesn't|does not|do not|didn't) (?:need|have) to|not"
    r" (?:necessary|required|needed|mandatory|obligatory)|no longer|may (?:be )?(?:skip|omit)\w*|can (?:be )?(?:skip|omit)\w*"
    r"|unless|except|preferabl\w+|if possible|where possible|ideally|nice to have|forbidden)\b"
)
