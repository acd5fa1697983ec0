"""Colours that are used together can be told apart, whatever colours one sees."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from compactlab.reports.charts.drawing import strategy_colours
from compactlab.reports.charts.palette import COLOURS, HUES, LINES, PATTERNS, cause_colours
from compactlab.reports.charts.profile import SHADES
from compactlab.sim.cache.causes import CAUSES

Floats = NDArray[np.float64]

# How linear RGB is seen without one kind of cones. G. Machado, M. Oliveira and L. Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on
# Visualization and Computer Graphics 15 (6), 2009; severity 1.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]),
    "tritanopia": np.array([
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ]),
}  # fmt: skip
# From linear RGB to Oklab, in which distances are as large as they look. B. Ottosson, "A perceptual
# color space for image processing", 2020.
_CONES = np.array([
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
])  # fmt: skip
_LAB = np.array([
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
])  # fmt: skip

LINES_TOGETHER = (*HUES, "ink", "slate", "grey")
AREAS_TOGETHER = (*HUES, "olive", "grey")
# Black and white are 1 apart. The nearest two of Okabe and Ito's own colours are 0.076 apart, of
# the ten of matplotlib's usual cycle 0.008.
APART = 0.06


def linear(colour: str) -> Floats:
    """The light of a colour in hexadecimal."""
    given = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def blended(colour: str, paper: str, share: float) -> str:
    """What a screen shows of a colour that is seen through: it mixes numbers and not light."""
    pairs = [(int(colour[n : n + 2], 16), int(paper[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(share * one + (1 - share) * two):02x}" for one, two in pairs)


def looks(light: Floats, seen: Floats) -> Floats:
    """Where a colour stands in Oklab for somebody."""
    lab: Floats = _LAB @ np.cbrt(_CONES @ np.clip(seen @ light, 0, 1))
    return lab


def contrast(one: Floats, other: Floats) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ each) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("names", [LINES_TOGETHER, AREAS_TOGETHER], ids=["lines", "areas"])
def test_colours_look_different(names, eyes, theme):
    at = {name: looks(linear(COLOURS[name][theme]), SEEN[eyes]) for name in names}
    gaps = {pair: float(np.linalg.norm(at[pair[0]] - at[pair[1]]))
            for pair in combinations(names, 2)}  # fmt: skip
    nearest = min(gaps, key=gaps.__getitem__)
    assert gaps[nearest] >= APART, f"{nearest} are {gaps[nearest]:.3f} apart"


def test_the_simulation_knows_what_is_hard_to_tell_apart():
    """Red and green are far apart, and near each other without the cones for green."""
    red, green = linear("#c00000"), linear("#4d6b00")
    gaps = [np.linalg.norm(looks(red, seen) - looks(green, seen)) for seen in SEEN.values()]
    assert gaps[0] > 0.2
    assert gaps[2] < APART
    assert all(np.allclose(seen.sum(axis=1), 1, atol=1e-5) for seen in SEEN.values())


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read_on_paper_and_on_the_darkest_cell(theme):
    ink, muted, paper = (linear(COLOURS[n][theme]) for n in ("ink", "muted", "paper"))
    assert contrast(ink, paper) > 12
    assert contrast(muted, paper) > 4.5
    mixed = blended(COLOURS["blue"][theme], COLOURS["paper"][theme], max(SHADES))
    assert contrast(ink, linear(mixed)) > 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_lines_can_be_seen_on_paper(theme):
    paper = linear(COLOURS["paper"][theme])
    for name in LINES_TOGETHER:
        assert contrast(linear(COLOURS[name][theme]), paper) > 2.1


def test_lines_differ_by_mark_and_dashes_as_well():
    loud = [LINES[name] for name in LINES_TOGETHER if name != "grey"]
    assert len({line.marker for line in loud}) == len(loud)
    assert len({line.dashes for line in loud}) >= len(loud) - 1


def test_every_cause_has_its_own_colour_and_pattern():
    looks = cause_colours()
    assert set(looks) == set(CAUSES)
    assert len(set(looks.values())) == len(CAUSES)
    assert all(colour in AREAS_TOGETHER and p in PATTERNS for colour, p in looks.values())


def test_no_hue_stands_for_two_strategies(make, store):
    specs = ["keep_all()", "keep_none()", "as_recorded()", *(f"s{n}()" for n in range(6))]
    colours = strategy_colours(store(*map(make, specs)))
    assert (colours["keep_all()"], colours["as_recorded()"]) == ("slate", "ink")
    assert colours["keep_none()"] == "grey"
    assert [colours[f"s{n}()"] for n in range(6)] == list(HUES)


def test_of_many_strategies_those_on_the_front_have_hues(make, store):
    cheap, dear = [(0, 500), (500, 100)], [(0, 1_000), (0, 1_000)]
    runs = [make(f"s{n}()", dear, need=0.5) for n in range(9)]
    runs += [make("good()", dear, cut=[1], need=0.9), make("frugal()", cheap, cut=[1], need=0.8)]
    colours = strategy_colours(store(make("keep_all()", dear), *runs))
    assert {spec for spec, colour in colours.items() if colour in HUES} == {"good()", "frugal()"}
    assert colours["s3()"] == "grey"


def test_a_front_longer_than_the_hues_shows_its_ends(make, store):
    runs = [make(f"s{n}()", [(0, 500 + n), (0, 500)], cut=[1], need=n / 20) for n in range(1, 20)]
    colours = strategy_colours(store(*runs))
    loud = [spec for spec, colour in colours.items() if colour != "grey"]
    assert len(loud) == len(HUES)
    assert {"s1()", "s19()"} <= set(loud)
