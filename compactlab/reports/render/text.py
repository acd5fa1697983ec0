"""How text and numbers are written: foreign text harmless, figures by their unit."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping

# Foreign text made harmless: ids come from strangers' file names, errors quote their lines.

# Controls (terminal escapes, NUL), invisible and bidirectional marks, surrogates, private use.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_BREAKS = frozenset("\t\n\r\v\f\x85\u2028\u2029")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    r"""Put a replacement character for all that is not seen, and spaces for line breaks.

    What is left has no power over a terminal, over the direction of the text around it, or over
    an XML parser. Escaping for a format is the business of that format.

    Examples
    --------
    >>> clean("a\x00b\nc") == "a\N{REPLACEMENT CHARACTER}b c"
    True
    """
    # What is printable holds none of these, and nearly every text is.
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char in _BREAKS:
        return " "
    never_a_character = ord(char) & 0xFFFE == 0xFFFE
    return _REPLACEMENT if never_a_character or unicodedata.category(char) in _UNSEEN else char


def printed_by(name: str, text: str) -> str:
    r"""What code that is not ours has printed, cleaned, under the name of its row.

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
    """Cut the middle out of a text that is longer than it may be.

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
    """Join names as one says them.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def enumerated(names: list[str], most: int) -> str:
    """The first names, and how many more there are.

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
    """A sentence with a large first letter, and the rest as it is."""
    return text[:1].upper() + text[1:]


# What the runner of a pipeline takes for its own command in a log: a line that begins with two
# colons, also behind blanks (GitHub); and wherever they are in a line, ##[...] (GitHub, once),
# ##vso[...] (Azure) and ##teamcity[...].
_LINE_COMMAND = re.compile(r"^(\s*:)(?=:)", re.MULTILINE)
_INLINE_COMMAND = re.compile(r"##(?=\w*\[)")
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)


def without_commands(text: str) -> str:
    r"""A text that no runner of a pipeline takes for commands.

    Examples
    --------
    >>> print(without_commands("::error::no\n  ::stop-commands::x\na ##vso[task.complete]b"))
    : :error::no
      : :stop-commands::x
    a # #vso[task.complete]b
    """
    return without_inline_commands(_LINE_COMMAND.sub(r"\1 ", text))


def without_inline_commands(text: str) -> str:
    """The same of a text that does not begin a line.

    Examples
    --------
    >>> without_inline_commands("a ##[add-mask]b")
    'a # #[add-mask]b'
    """
    return _INLINE_COMMAND.sub("# #", text)


def json_without_commands(text: str) -> str:
    r"""JSON of the same value in which there is none; a string in it begins no line.

    Examples
    --------
    >>> print(json_without_commands('["##vso[task.complete]"]'))
    ["\u0023#vso[task.complete]"]
    """
    return _INLINE_COMMAND.sub(r"\\u0023#", text)


def page_without_commands(page: str) -> str:
    r"""An HTML page that looks the same in which there is none, for who prints it into a log.

    Examples
    --------
    >>> print(page_without_commands('<p>##[x]</p><script>["##[x]"]</script>'))
    <p>&#35;#[x]</p><script>["\u0023#[x]"]</script>
    """
    parts = _SCRIPT.split(page)
    parts[::2] = [_INLINE_COMMAND.sub("&#35;#", text) for text in parts[::2]]
    parts[1::2] = map(json_without_commands, parts[1::2])
    return "".join(parts)


# Where a spreadsheet would begin a formula: at the start of a cell, and after the semicolon that
# separates cells where the comma is the decimal sign. The wide forms count as well. And where a
# line begins with two colons, the runner of a pipeline would begin a command.
_FORMULA = re.compile(r"(^|;)(\s*(?:[=+\-@\uff1d\uff0b\uff0d\uff20]|::))")


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and no runner of a pipeline for a command.

    Examples
    --------
    >>> harmless("=1+1"), harmless("coding_agent-0")
    ("'=1+1", 'coding_agent-0')
    """
    return _FORMULA.sub(r"\1'\2", without_inline_commands(clean(text)))


def code(text: str) -> str:
    r"""A code span, also in a cell of a table; a backtick in it becomes an accent that looks alike.

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


# How numbers are written for people: by their unit, as short as one can still compare them.

NONE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"

# What is counted one by one; anything else that is no share has tenths.
_COUNTS = ("calls", "compactions", "summaries")


def show(value: float | None, unit: str) -> str:
    """Write a figure.

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


def lag_from(lag: int) -> str:
    """A lag of so many tokens or more, as columns and sentences name it; 0 is the shortest one.

    Examples
    --------
    >>> lag_from(20_000), lag_from(0)
    ('≥20k', '<1k')
    """
    return f"\N{GREATER-THAN OR EQUAL TO}{lag // 1000}k" if lag else "<1k"


def dollars(value: float) -> str:
    """Dollars to the cent; of less than a dollar, two digits that say something."""
    if value == 0:
        return "0"
    digits = max(2, 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def percent(value: float) -> str:
    """A share in whole percent, without the sign, where 0 is nothing and 100 all of it.

    Examples
    --------
    >>> percent(0.25), percent(0.001), percent(0.999), percent(1.0)
    ('25', '<1', '>99', '100')
    """
    if 0 < value < 0.005:
        return "<1"
    return ">99" if 0.995 <= value < 1 else f"{100 * value:.0f}"


def exact(value: float | None) -> str:
    """A figure in full, for where one points at it."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else repr(float(value))


def plain(value: float | None) -> int | float | None:
    """A figure for machines: whole numbers whole, and nothing that is no number.

    A count is an int when it has just been measured and a float when it comes from a store; in a
    file it must look the same.

    Examples
    --------
    >>> plain(497.0), plain(0.25), plain(float("nan"))
    (497, 0.25, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)


def _percent(value: float) -> str:
    """A share in percent; 100% is everything and 0% nothing, not nearly so."""
    if value in (0, 1):
        return f"{value:.0%}"
    if 0 < value < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= value < 1 else f"{value:.1%}"


def _compact(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        scaled = value / size
        # 999,960 is 1.00M and not 1000.0k.
        if abs(scaled) >= 0.9995:
            return f"{scaled:.{_digits(abs(scaled))}f}{letter}"
    return f"{value:,.0f}"


def _digits(scaled: float) -> int:
    """Digits behind the point that make three in all."""
    return 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0


def _ratio(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


_HOW: Mapping[str, Callable[[float], str]] = {
    "share": _percent,
    "ratio": _ratio,
    "seconds": "{:,.2f}".format,
    "tokens": _compact,
}
