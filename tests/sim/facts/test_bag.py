"""What is asked first of a text is never stricter than what is asked then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.facts.fact_query import Bag, alike, fact_query
from compactlab.sim.facts.quantities import tokens
from compactlab.sim.facts.wording import Reading

# Words and their forms, numbers with units and without, names, paths and codes.
SAID = st.lists(
    st.sampled_from(
        ["deploy", "deployed", "deployment", "colour", "color", "Mark", "mark", "10", "ten",
         "10 MB", "10,000", "1e4", "0.5", "50 %", "half", "3 days", "src/app/main.py", "main.py",
         "/main.py", "ff.heron.2a7c", "sha256:ab12", "https://a.example/b", "v1.2", "1.2",
         "2026-11-25", "25 November 2026", "14:30", "2:30 pm", "$5", "5 USD",
         "yes", "on", "enabled", "backup", "back up", "deploy2mark.py", "node7s"]
    ), min_size=1, max_size=6,
).map(" ".join)  # fmt: skip


@given(value=SAID, text=SAID)
def test_where_a_token_is_said_it_may_be_said(value: str, text: str) -> None:
    said = tokens(text)
    bag = Bag(said)
    for wanted in tokens(value):
        if any(alike(wanted, each, ()) for each in said):
            assert bag.may_say([wanted])


# Lines that a passage is made of, or that stand above one.
LINE = st.tuples(
    st.sampled_from(
        ["", "- ", "  - ", "- [x] ", "## ", "1. ", "| a | ", "```\n", "~~", "`", "x_", "the ",
         "the deploy: ", "It is ", "No. "]
    ), SAID, st.sampled_from(["", ".", ": ", " |", "`", "'s", "\u2019s up", "~~", "?", "\n"]),
).map("".join)  # fmt: skip


@given(name=st.none() | SAID, values=st.lists(SAID, max_size=2), lines=st.lists(LINE, max_size=8))
def test_a_passage_that_is_not_split_says_nothing(
    name: str | None, values: list[str], lines: list[str]
) -> None:
    reading = Reading("\n".join(lines))
    query = fact_query((name,) if name else (), tuple(values), "must")
    names = query.names or ((),)
    near = list(reading.near(names, query.values))
    for line in reading.lines:
        if line not in near:
            assert line.verdict(query, names, ()) is None
