"""Formats of text and numbers: external text is made harmless, figures follow their unit."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Protocol

# External text is made harmless: ids come from untrusted file names, and errors quote their lines.

# Controls (terminal escapes, NUL), invisible and bidirectional marks, surrogates, private use.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_BREAKS = frozenset("\t\n\r\v\f\x85\u2028\u2029")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    r"""Replace invisible characters by a replacement character, and line breaks by spaces.

    The result cannot control a terminal, change the direction of text, or break an XML parser. Each
    format does its own escaping.

    Examples
    --------
    >>> clean("a\x00b\nc") == "a\N{REPLACEMENT CHARACTER}b c"
    True
    """
    # Printable text, which is nearly all text, contains none of these.
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char in _BREAKS:
        return " "
    never_a_character = ord(char) & 0xFFFE == 0xFFFE
    return _REPLACEMENT if never_a_character or unicodedata.category(char) in _UNSEEN else char


def printed_by(name: str, text: str) -> str:
    r"""The output of plug-in code, cleaned, under the name of its row.

    Examples
    --------
    >>> print(printed_by("mine over talk", "a\n\n  b\a \n"))
    mine over talk printed:
      a
        b�
    """
    lines = [f"  {clean(line.rstrip())}" for line in text.splitlines() if line.strip()]
    return "\n".join([f"{clean(name)} printed:", *lines])


def shorten(text: str, size: int) -> str:
    """Shorten a text to a maximum size by cutting its middle.

    Examples
    --------
    >>> shorten("conversation-17", 9)
    'conv…n-17'
    """
    if len(text) <= size:
        return text
    tail = (size - 1) // 2
    return f"{text[: size - 1 - tail]}…{text[len(text) - tail :]}"


def listed(names: list[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def enumerated(names: list[str], most: int) -> str:
    """The first names, and the number of further ones.

    Examples
    --------
    >>> enumerated(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    more = len(names) - most
    return listed([*names[:most], f"{more:,} more"] if more > 0 else names)


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "call"), counted(2000, "call")
    ('1 call', '2,000 calls')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith(("gy", "ry")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def capitalised(text: str) -> str:
    """A sentence with its first letter in upper case."""
    return text[:1].upper() + text[1:]


# Lines that CI runners take for commands in a log: lines that begin with two colons, also after
# blanks (GitHub); and anywhere in a line, ##[...] (GitHub, once), ##vso[...] (Azure) and
# ##teamcity[...].
_LINE_COMMAND = re.compile(r"^(\s*:)(?=:)", re.MULTILINE)
_INLINE_COMMAND = re.compile(r"##(?=\w*\[)")
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)


def without_commands(text: str) -> str:
    r"""A text without commands for CI runners.

    Examples
    --------
    >>> print(without_commands("::error::no\n  ::stop-commands::x\na ##vso[task.complete]b"))
    : :error::no
      : :stop-commands::x
    a # #vso[task.complete]b
    """
    return without_inline_commands(_LINE_COMMAND.sub(r"\1 ", text))


def without_inline_commands(text: str) -> str:
    """A text within a line, without commands for CI runners.

    Examples
    --------
    >>> without_inline_commands("a ##[add-mask]b")
    'a # #[add-mask]b'
    """
    return _INLINE_COMMAND.sub("# #", text)


def json_without_commands(text: str) -> str:
    r"""The same JSON value without commands for CI runners; strings do not begin lines in JSON.

    Examples
    --------
    >>> print(json_without_commands('["##vso[task.complete]"]'))
    ["\u0023#vso[task.complete]"]
    """
    return _INLINE_COMMAND.sub(r"\\u0023#", text)


def page_without_commands(page: str) -> str:
    r"""An HTML page that looks the same without commands for CI runners, for printing into a log.

    Examples
    --------
    >>> print(page_without_commands('<p>##[x]</p><script>["##[x]"]</script>'))
    <p>&#35;#[x]</p><script>["\u0023#[x]"]</script>
    """
    parts = _SCRIPT.split(page)
    parts[::2] = [_INLINE_COMMAND.sub("&#35;#", text) for text in parts[::2]]
    parts[1::2] = map(json_without_commands, parts[1::2])
    return "".join(parts)


# Where spreadsheets begin a formula: at the start of a cell, and after a semicolon, which separates
# cells if the comma is the decimal sign. Wide forms count as well. Lines that begin with two colons
# are commands for CI runners.
_FORMULA = re.compile(r"(^|;)(\s*(?:[=+\-@\uff1d\uff0b\uff0d\uff20]|::))")


def harmless(text: str) -> str:
    """A text without formulas for spreadsheets and commands for CI runners.

    Examples
    --------
    >>> harmless("=1+1"), harmless("coding_agent-0")
    ("'=1+1", 'coding_agent-0')
    """
    return _FORMULA.sub(r"\1'\2", without_inline_commands(clean(text)))


def code(text: str) -> str:
    r"""A code span, also for cells of tables; a backtick in it becomes a similar accent.

    Examples
    --------
    >>> print(code("a|b"))
    `a\|b`
    """
    held = (
        without_inline_commands(clean(text))
        .replace("`", "\N{MODIFIER LETTER GRAVE ACCENT}")
        .replace("|", "\\|")
    )
    return f"`{held}`" if held.strip() else ""


# Numbers for people, by their unit, as short as a comparison permits.

NONE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"

# Units of counts, shown without decimals; other units except shares have one.
_COUNTS = ("calls", "compactions", "summaries")


def show(value: float | None, unit: str) -> str:
    """Format a figure.

    Examples
    --------
    >>> show(1234.5, "USD"), show(0.00123, "USD"), show(44_725, "tokens"), show(0.98106, "share")
    ('1,234.50', '0.0012', '44.7k', '98.1%')
    >>> show(0.99999, "share"), show(17.0, "calls"), show(0.333, "ratio")
    ('>99.9%', '17', '0.33')
    >>> show(0.0597, "seconds"), show(12.5, "seconds"), show(3.25, "per 100 calls")
    ('0.06', '12.50', '3.2')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if unit.startswith("USD"):
        return dollars(value)
    if unit in _HOW:
        return _HOW[unit](value)
    return f"{value:,.0f}" if unit in _COUNTS else f"{value:,.1f}"


class Interval(Protocol):
    """A share with its interval of 95 %, which may be unknown."""

    @property
    def value(self) -> float:
        """The share."""

    @property
    def low(self) -> float | None:
        """The lower bound."""

    @property
    def high(self) -> float | None:
        """The upper bound."""


def with_interval(share: Interval | None) -> str:
    """Format a share with its interval in percent, if that is known.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> with_interval(SimpleNamespace(value=0.914, low=0.8, high=0.95))
    '91.4% [80, 95]'
    """
    if share is None:
        return NONE
    text = show(share.value, "share")
    if share.low is None or share.high is None:
        return text
    return f"{text} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def lag_from(lag: int) -> str:
    """A distance of at least this many tokens, in words; 0 is the shortest step.

    Examples
    --------
    >>> lag_from(20_000), lag_from(0)
    ('≥20k', '<1k')
    """
    return f"\N{GREATER-THAN OR EQUAL TO}{lag // 1000}k" if lag else "<1k"


def dollars(value: float) -> str:
    """Dollars to the cent; below a dollar, two significant digits."""
    if value == 0:
        return "0"
    digits = max(2, 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def percent(value: float) -> str:
    """A share in whole percent, without the sign; 0 and 100 are exact.

    Examples
    --------
    >>> percent(0.25), percent(0.001), percent(0.999), percent(1.0)
    ('25', '<1', '>99', '100')
    """
    if 0 < value < 0.005:
        return "<1"
    return ">99" if 0.995 <= value < 1 else f"{100 * value:.0f}"


def exact(value: float | None) -> str:
    """A figure in full, for tooltips."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else repr(float(value))


def plain(value: float | None) -> int | float | None:
    """A figure for JSON: integral values as int, NaN and infinities as None.

    A new count is an int, but a float when it comes from a store; in a file both must be equal.

    Examples
    --------
    >>> plain(497.0), plain(0.25), plain(float("nan"))
    (497, 0.25, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)


def _percent(value: float) -> str:
    """A share in percent; 100% and 0% are exact, not rounded."""
    if value in (0, 1):
        return f"{value:.0%}"
    if 0 < value < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= value < 1 else f"{value:.1%}"


def _compact(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        scaled = value / size
        # 999,960 becomes 1.00M, not 1000.0k.
        if abs(scaled) >= 0.9995:
            return f"{scaled:.{_digits(abs(scaled))}f}{letter}"
    return f"{value:,.0f}"


def _digits(scaled: float) -> int:
    """Decimals for three significant digits."""
    return 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0


def _ratio(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


_HOW: Mapping[str, Callable[[float], str]] = {
    "share": _percent,
    "ratio": _ratio,
    "seconds": "{:,.2f}".format,
    "tokens": _compact,
}
