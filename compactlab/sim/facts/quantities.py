"""The words of a text in comparable form: roots, quantities with units, dates, times and paths."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple


class Token(NamedTuple):
    """A piece of a text.

    ``form`` is its meaning, the same for all notations. A number is ``(dimension, amount)`` with
    the amount in the base unit of the dimension. A date is ``("date", year, month, day)``; missing
    items are None.
    """

    kind: str  # word, name, number, date, time, code (a path, an identifier) or mark
    form: Any
    raw: str
    start: int
    end: int
    number: Fraction | None = None  # the number in it, regardless of the unit
    tied: bool = False  # whether a hyphen or underscore joins it to the previous word
    ties: bool = False  # whether it is joined to the next word

    @property
    def low(self) -> str:
        """The token as written, in lower case."""
        return self.raw.casefold()

    @property
    def typed(self) -> bool:
        """Whether its form shows that it is a value."""
        return self.kind in ("number", "date", "time", "code")


# Derivational suffixes, longest first, with the least length of the remaining word.
_ENDINGS = {
    "ization": 3, "isation": 3, "ation": 3, "ition": 4, "ment": 3, "ance": 4,
    "ence": 4, "ness": 4, "able": 4, "ible": 4, "ity": 4, "ion": 4, "age": 3, "ive": 4, "ure": 4,
    "ant": 5, "ent": 5, "al": 4, "er": 3, "or": 4,
}  # fmt: skip
_VOWEL = re.compile("[aeiouyäöüéèêàáíóúãõ]")


@lru_cache(maxsize=65536)
def root(word: str) -> str:
    """Return the common root of a word and its inflected and derived forms.

    Examples
    --------
    >>> [root(word) for word in ("deploys", "deployed", "deployments")]
    ['deplo', 'deplo', 'deplo']
    >>> root("retries") == root("retry"), root("notification") == root("notify")
    (True, True)
    >>> root("allergic") == root("allergy"), root("approval") == root("approves")
    (True, True)
    """
    word = word.casefold().removesuffix("'s").removesuffix("'")
    if word[1:2] == "'":
        word = word[2:]  # French: l', d', n'
    if len(word) > 6 and word.endswith(("arse", "irse")):
        word = word[:-2]  # Spanish: firmarse
    if len(word) > 6 and word.endswith("ic"):
        return word[:-2]
    word = _single(_inflected(word))
    for ending, instead in (("fication", "fy"), ("plication", "ply")):
        if word.endswith(ending):
            word = word.removesuffix(ending) + instead
    for ending, least in _ENDINGS.items():
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending)
            break
    for ending, least in (("e", 3), ("y", 3), ("i", 3), ("at", 3)):
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending)
    return _single(word)


def _single(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _inflected(word: str) -> str:
    """Return a word without the endings of plural, tense and adverb."""
    for ending, instead in (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""),
                            ("edly", ""), ("ed", ""), ("ly", ""), ("s", "")):  # fmt: skip
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest):
            if ending == "s" and rest[-1] in "su":
                return word
            return rest + instead
    return word


WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def _numbered(table: str) -> dict[str, int]:
    """Return the numbers of the words of a table."""
    return {word: int(n) for n, words in WORDS[table].items() for word in words.split()}


_MONTHS = _numbered("months")
_NUMBERS = _numbered("numbers")
_DAYS = _numbered("days")
_SHARES = {"half": 50, "quarter": 25, "fifth": 20, "tenth": 10}
_HOURS = {"noon": 12, "midday": 12, "midnight": 0, "mittag": 12, "mitternacht": 0, "midi": 12}
_TENS = {word: n for word, n in _NUMBERS.items() if n in range(20, 100, 10)}
_SCALES = {
    "hundred": 100, "hundert": 100, "cent": 100, "thousand": 1000, "tausend": 1000, "mille": 1000,
    "mil": 1000, "million": 10**6, "millions": 10**6, "billion": 10**9, "billions": 10**9,
    "millionen": 10**6, "k": 1000, "m": 10**6, "mn": 10**6, "mio": 10**6, "bn": 10**9,
}  # fmt: skip
_CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur",
    "eur": "eur", "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp",
    "pounds": "gbp", "chf": "chf", "francs": "chf", "¥": "jpy", "yen": "jpy", "jpy": "jpy",
}  # fmt: skip


def _units() -> dict[str, tuple[str, Fraction]]:
    table = WORDS["units"]
    return {
        name: (dimension, Fraction(factor))
        for dimension, units in table.items()
        for factor, names in units.items()
        for name in names.split()
    }


_UNITS = _units()
# Units that must directly follow the number, because they could be any letter.
_SHORT = frozenset({"s", "h", "d", "w", "b", "g", "t", "l", "m", "k", "an", "ans", "ore", "ora"})

# Month names that need a capital letter.
_MONTH = (
    r"(?!(?-i:may|march|mar|dec|set|out|mars|jun|sept)\b)(?:"
    + "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
    + r")\b"
)
_HOUR = "|".join(word for word, number in _NUMBERS.items() if number in range(1, 13))
_DIGITS = (
    r"\d{1,6},\d{1,2}(?=\s?(?:[%€£$°]|[a-zµμ]{1,4}\b))|"
    r"\d{1,3}(?:[,_'\u2019\u00a0\u2009\u202f]\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d+(?:\.\d+)?(?:e[-+]?\d{1,2}(?!\d))?"
)
_WORD = r"[^\W\d_]"
# A colon separates a number from a word in capitals: "item-6:DONE".
_IN_CODE = r"(?:[\w.@\#+-]|:(?!(?<=\d:)(?-i:[A-Z]{2})))"
_TOKEN = re.compile(
    rf"""
    (?P<stamp>\b\d{{4}}-\d{{2}}-\d{{2}}\b)
  | (?P<dots>\b\d{{1,2}}\.\s?\d{{1,2}}\.\d{{4}}\b)
  | (?P<slashes>(?<![\w/])\d{{1,2}}/\d{{1,2}}/\d{{2,4}}(?![\w/]))
  | (?P<day_month>\b\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?\s(?:de\s|of\s)?{_MONTH}
        (?:,?\s(?:de\s)?\d{{4}}\b)?)
  | (?P<month_day>\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?![:.]\d)(?:,?\s\d{{4}}\b)?)
  | (?P<clock>\b\d{{1,2}}(?::\d\d(?::\d\d)?\s?(?:[ap]m\b|[ap]\.m\b\.?)?
        |\s?(?:[ap]m\b|[ap]\.m\b\.?)|\s?h\s?\d\d\b|\s(?:uhr|o'clock)\b)(?![:\w]))
  | (?P<spoken>\b(?:half|quarter)\s(?:past|to)\s(?:{_HOUR})\b)
  | (?P<path>(?:https?://)?(?:~|\.{{0,2}}|[a-z]:)?(?:[\w@.*+-]+|(?<![\w/]))(?:/(?:(?!->)[\w@.*+~=%-])+)+/?
        |(?<![\w/])[\w.-]*\w/(?!\w))
  | (?P<option>(?<![\w-])--?[a-z][\w-]*)
  | (?P<money>(?:us\$|[$€£¥]|\b(?:usd|eur|chf|gbp)\s)\s?(?:{_DIGITS}))
  | (?P<amount>(?<![\w.])[-+\u2212]?(?:{_DIGITS})(?![\w.:@-]*[\w@]|\s?/\s?\d)
        |(?<![\w.])[-+\u2212]?(?:{_DIGITS})(?=(?:[kmgt]i?b?|bn|mn|[nµμ]?s|ms|h|d|w|min|mins|sec|[mck]?m
        |[mk]?g|[mcd]?l|[kmg]?hz|kw|usd|eur|°c|x|-(?:second|minute|hour|day|week|month|year)s?)\b))
  | (?P<code>[\w\#@$]{_IN_CODE}*\d{_IN_CODE}*(?<![.:,+-])|\#\w[\w-]*\w
        |\w[\w-]*(?:\.\w[\w-]*)*\.[a-z]\w*
        |[\w.+-]+@[\w.-]+\w)
  | (?P<word>{_WORD}+(?:'{_WORD}+)?)
  | (?P<blank>\s+)
  | (?P<mark>->|→|=>|\.\.\.|…|[^\w\s])
""",
    re.VERBOSE | re.IGNORECASE,
)
_DIGITS_MOST = 40  # most digits of a number that are compared
_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}\Z)")  # of a decimal fraction
_PLAIN_NUMBER = re.compile(r"[^\d.e+-]")


def _value(text: str) -> Fraction:
    text = _COMMA.sub(".", text)
    plain = _PLAIN_NUMBER.sub("", text.casefold().replace("\u2212", "-")).rstrip(".e+-")
    return Fraction(plain[:_DIGITS_MOST])


def _date(kind: str, text: str) -> object:
    numbers = [int(each) for each in re.findall(r"\d+", text)]
    if kind == "stamp":
        return ("date", *numbers)
    if kind in ("dots", "slashes"):
        day, month, year = numbers
        if kind == "slashes" and (month > 12 or day > 31):
            day, month = month, day
        return ("date", year + 2000 * (year < 100), month, day)
    name = next(w for w in re.findall(rf"{_WORD}+", text.casefold()) if w in _MONTHS)
    return ("date", numbers[1] if len(numbers) > 1 else None, _MONTHS[name], numbers[0])


_EVENING = re.compile(r"\b(?:pm|p\.m|in the (?:afternoon|evening)|at night)\b", re.IGNORECASE)


def _spoken_time(text: str, behind: str) -> object:
    share, side, word = text.split()
    minute = 30 if share == "half" else 15 if side == "past" else 45
    hour = _NUMBERS[word] - (side == "to") + 12 * (_EVENING.search(behind) is not None)
    return ("time", hour, minute)


def _clock(text: str) -> object | None:
    hour, *rest = (int(each) for each in re.findall(r"\d+", text))
    minute = rest[0] if rest else 0
    low = text.casefold().replace(".", "")
    if low.endswith("pm") and hour < 12:
        hour += 12
    if low.endswith("am") and hour == 12:
        hour = 0
    return ("time", hour, minute) if hour < 25 and minute < 60 else None


def _path(text: str) -> str:
    path = re.sub(r"^[a-z]+://", "", text.casefold())
    path = re.sub(r"(?:(?::\d+)+|::\w+)$", "", path)
    return path.removeprefix("./").removeprefix(".../").rstrip(".")


_PORT = re.compile(r"[\w.-]*[a-z][\w-]*:\d{2,5}", re.IGNORECASE)
# Longer strings are data. They are cut, because patterns are tried from each character.
_LONG = re.compile(r"[\w.@#$+:/~=%*'\u2019-]{200}")
_ESCAPED = re.compile(r"\\[nrt\"]")


def cleaned(text: str) -> str:
    """Return a text as it is cut into tokens: one notation, without quotes of code and escapes."""
    text = unicodedata.normalize("NFKC", text.replace("\u2019", "'")).replace("`", "")
    return _LONG.sub(r"\g<0> ", _ESCAPED.sub("  ", text).replace("\\", "/"))


_SPAN = r"(?:second|minute|hour|day|week|month|year|mile|kilometre|litre|kilo)s?\b"
_HALVES = re.compile(
    rf"\bhalf an? (?={_SPAN})|\b(\w+) (?:({_SPAN}) and a half\b|and a half (?={_SPAN}))",
    re.IGNORECASE,
)


def _halves(match: re.Match[str]) -> str:
    """Write "half an hour", "an hour and a half", "two and a half hours" in digits."""
    if match[1] is None:
        return "0.5 "
    word = match[1].casefold()
    number = word if word.isdigit() else _NUMBERS.get(word, 1 if word in ("a", "an") else "")
    return f"{number}.5 {match[2] or ''}" if number != "" else match[0]


# Summaries of different strategies quote the same sentences.
@lru_cache(maxsize=2**13)
def tokens(text: str) -> tuple[Token, ...]:
    """Cut a text into tokens.

    Examples
    --------
    >>> [token.form for token in tokens("Retries: twice, within 1,500 ms")]
    ['retr', ':', ('', Fraction(2, 1)), ',', 'within', ('time', Fraction(3, 2))]
    >>> [token.form for token in tokens("5 March 2026 or 2026-03-05")]
    [('date', 2026, 3, 5), 'or', ('date', 2026, 3, 5)]
    """
    text = _HALVES.sub(_halves, cleaned(text))
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        port = match[0].rfind(":") if kind == "code" and _PORT.fullmatch(match[0]) else -1
        if port > 0:  # "db.internal:5432"
            colon = match.start() + port
            found.append(_token("code", match[0][:port], match.start(), colon, text))
            found.append(_token("amount", match[0][port + 1 :], colon + 1, match.end(), text))
        elif kind != "blank":
            found.append(_token(str(kind), match[0], match.start(), match.end(), text))
    return tuple(_phrased(_measured(found)))


def synonyms() -> Iterator[list[str]]:
    """Yield the groups of words that mean the same, as roots; those of a phrase have blanks."""
    for group in re.split(r"\||\n", WORDS["same"]):
        yield [" ".join(map(root, word.split("_"))) for word in group.split()]


@cache
def phrases() -> dict[str, list[list[str]]]:
    """Return the phrases that stand for one word, longest first, by their first root."""
    every = {word for group in synonyms() for word in group if " " in word}
    found: dict[str, list[list[str]]] = {}
    for first, *rest in sorted(map(str.split, every), key=len, reverse=True):
        found.setdefault(first, []).append(rest)
    return found


def phrases_of(roots: set[str]) -> set[str]:
    """Return roots, with the phrases that may be made of them."""
    known = phrases()
    return roots.union(
        " ".join([first, *rest])
        for first in known.keys() & roots
        for rest in known[first]
        if roots.issuperset(rest)
    )


def _phrased(said: list[Token]) -> Iterator[Token]:
    """Join the words of phrases: "first language", "no later than", "take-off"."""
    known = phrases()
    place = 0
    while place < len(said):
        token, end = said[place], 0
        for rest in known.get(token.form, ()) if token.kind in ("word", "name") else ():
            end = end or _behind(said, place + 1, rest)
        if end:
            last, raw = said[end - 1], " ".join(word.raw for word in said[place:end])
            form = " ".join(word.form for word in said[place:end] if word.raw != "-")
            token = Token("word", form, raw, token.start, last.end, None, token.tied, last.ties)
        yield token
        place = end or place + 1


def _behind(said: list[Token], place: int, words: list[str]) -> int:
    """Return the index behind words that follow, hyphens apart; 0 if they do not."""
    for word in words:
        place += place < len(said) and said[place].raw == "-"
        if place >= len(said) or said[place].form != word:
            return 0
        place += 1
    return place


def _token(kind: str, raw: str, start: int, end: int, text: str) -> Token:  # noqa: PLR0911
    tied = text[start - 1 : start] in ("-", "_") and text[start - 2 : start - 1].isalnum()
    ties = text[end : end + 1] in ("-", "_") and text[end + 1 : end + 2].isalnum()
    if kind in ("stamp", "dots", "slashes", "day_month", "month_day"):
        return Token("date", _date(kind, raw), raw, start, end)
    if kind in ("clock", "spoken"):
        form = (
            _clock(raw) if kind == "clock" else _spoken_time(raw.casefold(), text[end : end + 25])
        )
        if form:
            return Token("time", form, raw, start, end)
        return Token("code", raw.casefold(), raw, start, end)
    if kind == "money":
        sign = re.split(r"\d", raw, maxsplit=1)[0].strip().casefold()
        number = _value(raw[len(sign) :])
        return Token("number", (_CURRENCIES[sign], number), raw, start, end, number)
    if kind == "amount":
        number = _value(raw)
        return Token("number", ("", number), raw, start, end, number, tied, ties)
    if kind in ("path", "code", "option"):
        form = _path(raw) if kind == "path" else raw.casefold()
        if kind == "code" and re.fullmatch(r"v\d+(?:\.\d+)*", form):
            form = form[1:]
        if re.fullmatch(r"\d+(?:\.\d+)?", form):
            number = _value(form)
            return Token("number", ("", number), raw, start, end, number, tied, ties)
        return Token("code", form, raw, start, end, None, tied, ties)
    if kind == "word":
        low = raw.casefold()
        if low in _HOURS:
            return Token("time", ("time", _HOURS[low], 0), raw, start, end)
        if (low in _DAYS or low.removesuffix("s") in _DAYS) and raw not in ("sat", "sun", "wed"):
            day = _DAYS.get(low, _DAYS.get(low.removesuffix("s")))
            return Token("date", ("day", day), raw, start, end)
        if low in _NUMBERS and low not in ("sept", "un", "um", "second", "mil", "once"):
            number = Fraction(_NUMBERS[low])
            return Token("number", ("", number), raw, start, end, number, tied, ties)
        named = raw[0].isupper()
        return Token("name" if named else "word", root(raw), raw, start, end, None, tied, ties)
    return Token("mark", raw, raw, start, end)


def _measured(found: list[Token]) -> list[Token]:
    """Join numbers with the scale, unit and currency after them."""
    done: list[Token] = []
    index = 0
    while index < len(found):
        token = found[index]
        index += 1
        share = found[index] if index + 1 < len(found) and found[index + 1].low == "of" else None
        if token.low in ("a", "an") and share and share.low in _SHARES:
            amount = Fraction(_SHARES[share.low])
            raw = f"{token.raw} {share.raw}"
            token = Token("number", ("percent", amount), raw, token.start, share.end, amount)
            index += 1
        if token.kind == "number":
            token, index = _grown(token, found, index)
            joined = len(done) > 1 and done[-1].low == "and" and token.form[0] == "time"
            if done and (whole := _added(done[-1 - joined], token)):
                done[-1 - joined :] = [whole]
                continue
        done.append(token)
    return done


def _added(large: Token, small: Token) -> Token | None:
    """Return a quantity in two units: "4 min 45 s"."""
    if large.kind != "number" or large.form[0] != small.form[0] or not large.form[0]:
        return None
    if not (large.number and small.number and 0 < small.form[1] < large.form[1] / large.number):
        return None
    amount = large.form[1] + small.form[1]
    number = amount / (small.form[1] / small.number)
    raw = f"{large.raw} {small.raw}"
    return large._replace(form=(large.form[0], amount), raw=raw, end=small.end, number=number)


Amount = tuple[str, Fraction]


def _grown(token: Token, found: list[Token], place: int) -> tuple[Token, int]:
    """Return a number with its continuation, and the index after it."""
    amount: Amount = token.form
    while place < len(found):
        behind = found[place]
        after = found[place + 1] if place + 1 < len(found) else None
        if not (after and _joins(token, amount, behind, after)):
            more = (
                _spelled(token, amount, behind)
                or _scaled(token, amount, behind, after)
                or _unit(token, amount, behind)
            )
            if more is None:
                break
            amount = more
            raw = f"{token.raw} {behind.raw}"
            token = token._replace(ties=behind.ties, end=behind.end, raw=raw)
        place += 1
    return token._replace(form=amount), place


def _joins(token: Token, amount: Amount, behind: Token, after: Token) -> bool:
    """Whether a hyphen or an "and" is part of a number: twenty-five, 30-day."""
    low = after.low
    if behind.raw == "-":
        ten = token.low in _TENS and after.number in range(1, 10)
        return ten or (low in _UNITS and behind.start == token.end)
    words = behind.low == "and" and not token.raw[-1].isdigit()
    return words and amount[1] >= 100 and low in _NUMBERS


def _spelled(token: Token, amount: Amount, behind: Token) -> Amount | None:
    """Join a number in words with the next word: two hundred, one fifth."""
    dimension, number = amount
    low = behind.low
    if dimension or token.raw[-1].isdigit():
        return None
    if low in _SHARES and number == 1:
        return "percent", Fraction(_SHARES[low])
    if low == "hundred" and number > 1000:
        return "", number + number % 1000 * 99
    tens = number in range(20, 100, 10) and behind.number in range(1, 10)
    if low in _NUMBERS and (tens or number >= 100):
        return "", number + _NUMBERS[low]
    return None


def _scaled(token: Token, amount: Amount, behind: Token, after: Token | None) -> Amount | None:
    """Multiply a number by a thousand or a million; a lower-case m only counts for money."""
    dimension, number = amount
    low = behind.low
    if behind.raw == "m":
        if dimension in _CURRENCIES.values() or (after and after.low in _CURRENCIES):
            return dimension, number * 10**6
        return None if dimension else ("length", number)
    close = len(low) > 2 or behind.start == token.end
    if low in _SCALES and low not in ("cent", "mil") and close:
        return dimension, number * _SCALES[low]
    return None


def _unit(token: Token, amount: Amount, behind: Token) -> Amount | None:
    """Join a number with its unit or its currency."""
    dimension, number = amount
    low = behind.low
    if dimension == "degrees" and low in ("c", "f", "celsius", "fahrenheit"):
        return ("celsius" if low[0] == "c" else "fahrenheit"), number
    if dimension:
        return None
    if low in ("°", "degrees", "degree", "grad"):
        return "degrees", number
    if low in _CURRENCIES:
        return _CURRENCIES[low], number
    close = low not in _SHORT or behind.start == token.end or token.raw[-1].isdigit()
    if low in _UNITS and close:
        return _UNITS[low][0], number * _UNITS[low][1]
    return None


def same(wanted: Token, said: Token) -> bool:  # noqa: PLR0911
    """Whether a token means the same as another one.

    A bare number matches any unit but a percent sign; a date without a year matches any year.
    """
    if wanted.form == said.form:
        return wanted.kind == said.kind or "number" not in (wanted.kind, said.kind)
    mine, its = wanted.form, said.form
    if not (isinstance(mine, tuple) and isinstance(its, tuple)):
        return False
    if mine[0] == "date" == its[0]:
        return all(
            one is None or other is None or one == other
            for one, other in zip(mine, its, strict=False)
        )
    if len(mine) != len(its) and mine[0] == its[0] == "time":
        return _seconds(wanted) == _seconds(said)
    if not wanted.kind == said.kind == "number":
        return False
    if mine[0] == "bytes" == its[0]:
        return its[1] * mine[1] != 0 and mine[1] / its[1] in _BINARY
    if mine[0] == "" and its[0] == "percent":
        return bool(mine[1] < 1 and mine[1] * 100 == its[1])
    if mine[0] == "" or (its[0] == "degrees" and mine[0] in ("celsius", "fahrenheit")):
        return wanted.number == said.number
    # Here a full stop separates thousands.
    if mine[0] == its[0] and re.match(r"\d{1,3}\.\d{3}(?!\d)", said.raw):
        return bool(mine[1] == its[1] * 1000)
    return False


# A kilobyte has 1,000 or 1,024 bytes.
_BINARY = {Fraction(1024, 1000) ** power for power in range(-4, 5)}


def _seconds(token: Token) -> Fraction | None:
    """Return a duration; a time of the day is one if it is written as such: "1h30"."""
    if token.kind == "number":
        return Fraction(token.form[1])
    return Fraction(60 * (60 * token.form[1] + token.form[2])) if "h" in token.low else None


# Dimensions between which values are comparable alternatives.
_KIN = (set(_CURRENCIES.values()), {"celsius", "fahrenheit"}, {"time", "months"})


def rival(wanted: Token, said: Token) -> bool:
    """Whether a token is a different value of the same sort."""
    if same(wanted, said):
        return False
    if wanted.kind != said.kind:
        return wanted.kind == "code" == said.kind
    if wanted.kind == "date":
        return bool(wanted.form[0] == said.form[0])
    if wanted.kind == "number":
        mine, its = wanted.form[0], said.form[0]
        return not mine or mine == its or any({mine, its} <= kin for kin in _KIN)
    return wanted.kind in ("time", "code", "name")


def ends_with(path: object, shorter: object) -> bool:
    """Whether a path ends with a shorter one of two or more components.

    Examples
    --------
    >>> ends_with("/home/repo/src/a.py", "src/a.py"), ends_with("/home/repo/src/a.py", "a.py")
    (True, False)
    """
    if not (isinstance(path, str) and isinstance(shorter, str)):
        return False
    return "/" in shorter.strip("/") and path.endswith("/" + shorter.lstrip("/"))
