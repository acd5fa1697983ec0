"""The figures behind simulated fates: each has a source, and they do what they say."""

import re
from pathlib import Path
from runpy import run_path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Fact, FactType
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from compactlab.strategies.summarizers.lossy import LEVELS, Case, Lossy, figures

KINDS = get_args(FactType)
RULE = Fact("f", "constraint", "k", "v")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("polarity", ["is", "must", "must_not"])
def test_there_is_a_figure_for_every_fact_and_more_memory_keeps_more(kind, polarity):
    fact = Fact("f", kind, "k", "v", polarity=polarity)  # type: ignore[arg-type]
    for case in (Case(place=0.0), Case(place=0.5, ratio=0.01), Case(fresh=False)):
        low, mid, high = (Lossy(level).kept(fact, case) for level in LEVELS)
        assert 0 <= low <= mid <= high <= 1


def test_every_figure_has_a_source_and_a_guess_says_so():
    for figure in figures():
        assert figure.source
        assert re.fullmatch(r"20\d\d(-\d\d)?(; 20\d\d(-\d\d)?)*", figure.date)
        assert (figure.n == "-") == figure.source.startswith(("guess", "derived"))


@pytest.mark.parametrize(
    ("kind", "first"),
    [("constraint", 0.17), ("prohibition", 0.53), ("tool_detail", 0.14)],
)
def test_published_figures_are_the_middle(kind, first):
    assert Lossy().kept(Fact("f", kind, "k", "v"), Case()) == first


def test_a_forbidden_thing_is_a_prohibition_whatever_its_type():
    ban = Fact("f", "constraint", "k", "v", polarity="must_not")
    assert Lossy().kept(ban, Case()) == 0.53


def test_the_middle_and_a_hard_compression_are_unkind():
    lossy = Lossy()
    plain = lossy.kept(RULE, Case(place=0.0))
    assert lossy.kept(RULE, Case(place=0.5)) < plain
    assert lossy.kept(RULE, Case(place=0.95)) == plain
    ratios = [lossy.kept(RULE, Case(place=0.0, ratio=ratio)) for ratio in (0.001, 0.039, 0.3)]
    assert ratios[0] < ratios[1] == plain < ratios[2]


def test_known_chances_take_the_place_of_figures_and_of_place_and_ratio():
    lossy = Lossy(first=0.4, later=0.9)
    assert lossy.kept(RULE, Case(place=0.5, ratio=0.001)) == 0.4
    assert lossy.kept(RULE, Case(fresh=False)) == 0.9
    assert lossy.kept(RULE, Case(carried=True)) == 0.9


@given(
    st.sampled_from(KINDS),
    st.sampled_from(LEVELS),
    st.floats(0, 1),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
def test_a_fate_is_where_the_chance_falls(kind, level, first, chance, older):
    """Kept, then stale, then damaged, then lost, along the line from 0 to 1."""
    fact = Fact("f", kind, "k", "v")
    lossy = Lossy(level, first=first, mutated=0.25, stale=0.5)
    found = lossy.drawn(fact, Case(older=older), chance)
    if chance < first:
        assert found == "intact"
        return
    rest = (chance - first) / (1 - first)
    if older:
        assert found == ("stale" if rest < 0.5 else "mutated" if rest < 0.75 else "lost")
    else:
        assert found == ("mutated" if rest < 0.25 else "lost")


def page(root: Path) -> str:
    return (root / "docs" / "summarizers.md").read_text("utf-8")


def test_the_tables_of_figures_and_faults_are_what_make_docs_writes(root):
    written = run_path(str(root / "examples" / "summarizers_page.py"))["renewed"](page(root))
    assert written == page(root), "write it anew: make docs"


def test_every_summariser_has_its_row_and_what_is_simulated_is_marked(root):
    for name in SUMMARIZERS:
        simulated = find_summarizer(name).simulated
        row = next(line for line in page(root).splitlines() if line.startswith(f"| `{name}` |"))
        assert row.endswith(f"| {simulated or 'no'} |")
