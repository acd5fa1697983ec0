"""A law: more blanks, or lines cut at another width, change nothing of what a text states."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.sim.facts.pairs.pairs import Pair, read
from tests.sim.facts.pairs.test_reading import HALVES, state

# Known faults: the legend of a list, "(name:port/owner)", is read only beside its heading; an item
# without a mark that is cut in two is two items.
BROKEN = ("port of the mail service", "migration for the invoices table")
PAIRS = [pair for half in HALVES for pair in read(half) if pair.key not in BROKEN]
_KEPT_WHOLE = re.compile(r"\s*(?:\||#|\*\*)")  # rows and headings end with their line
_INDENTED = re.compile(r"\s*(?:(?:[-*\u2022+]|\d{1,2}[.)])\s+)?")
_BLANKS = re.compile(r"\s*")
_NEW_ITEM = re.compile(r"\n\s*(?:[-*\u2022+]|\d{1,2}[.)])\s")


def reflowed(text: str, width: int) -> str:
    """Cut the lines of a text at a width, as editors do."""
    return "\n".join(
        line
        if _KEPT_WHOLE.match(line)
        else textwrap.fill(
            line.lstrip(),
            width,
            initial_indent=_BLANKS.match(line)[0],  # type: ignore[index]  # else a long word has none
            subsequent_indent=" " * len(_INDENTED.match(line)[0]),  # type: ignore[index]
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def wrapped(pair: Pair, width: int, chance: Random) -> Pair:
    """The same pair, its text cut at a width and with more blanks."""
    text = reflowed(pair.text, width)
    if len(_NEW_ITEM.findall(text)) > len(_NEW_ITEM.findall(pair.text)):
        return pair  # a line that begins with "8." by chance: nobody could tell that it is no item
    blanks = [" ", " ", "  ", "\t"]
    return replace(pair, text=re.sub(r"(?<=\S) (?=\S)", lambda _: chance.choice(blanks), text))


@given(
    st.lists(st.sampled_from(PAIRS), min_size=30, max_size=30), st.integers(40, 100), st.integers(0)
)
def test_white_space_and_reflow_change_nothing(pairs: list[Pair], width: int, seed: int) -> None:
    for pair in pairs:
        assert state(wrapped(pair, width, Random(seed))) == state(pair)
