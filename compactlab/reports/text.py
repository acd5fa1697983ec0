"""Foreign text made harmless: ids come from strangers' file names, errors quote their lines."""

from __future__ import annotations

import unicodedata

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
