"""Profiles: the texture of sessions as data, which is read, checked and written."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.catalogue import content_of_scenario, find_scenario
from compactlab.scenarios.engine.profile import (
    BUILT_IN,
    SHARES,
    SPEAKERS,
    Breaks,
    Profile,
    Spread,
    file_of,
    find_profile,
    profile_of,
)
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.stream import stream
from compactlab.sim.core.toml import Section, parse_toml
from tests.lines import refusals

NAMES = st.text(max_size=6)
FIGURE = st.floats(0.001, 1e6)
SPREAD = st.builds(Spread, FIGURE, st.floats(0, 3)) | st.builds(Spread, FIGURE, FIGURE, FIGURE)
SHARE = st.floats(0, 1)

profiles = st.builds(
    Profile,
    NAMES,
    NAMES,
    st.dictionaries(NAMES, SPREAD, max_size=3),
    st.fixed_dictionaries(dict.fromkeys(SPEAKERS, SPREAD)),
    SPREAD,
    st.fixed_dictionaries(dict.fromkeys(SHARES, SHARE)),
    st.dictionaries(NAMES, SHARE, max_size=3),
    st.builds(Breaks, SHARE, FIGURE, FIGURE, st.floats(0, 43_200)),
    st.dictionaries(NAMES, st.integers(0, 10**6), max_size=2),
)


@given(profiles)
def test_what_is_written_is_read_again(profile: Profile) -> None:
    assert profile_of(Section(parse_toml(profile.toml()))) == profile


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_profile_is_whole_and_says_where_it_comes_from(name: str) -> None:
    profile = find_profile(name)
    assert profile.name == name
    assert "easured" in profile.source or "guess" in profile.source
    assert 0 <= sum(profile.tools.values()) <= 1
    assert {"text", "thinking", "answer"} <= set(profile.sizes)


def test_a_file_serves_as_well_as_a_name(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(find_profile("coding").toml(), encoding="utf-8")
    assert find_profile(str(file)) == find_profile("coding")


def test_draws_have_the_median_and_stay_below_the_top() -> None:
    rng = stream(0, "draws")
    drawn = [Spread(100, 1.5, most=400).draw(rng) for _ in range(4_000)]
    assert 90 < median(drawn) < 110
    assert max(drawn) == 400
    assert {Spread(7, 0).draw(rng) for _ in range(9)} == {7}


def test_a_break_is_between_its_ends() -> None:
    rng = stream(0, "draws")
    drawn = [Breaks(0.1, 10, 1_000).draw(rng) for _ in range(4_000)]
    assert 10 <= min(drawn) < 11
    assert max(drawn) == 1_000
    assert 19 < median(drawn) < 21


def test_a_tool_without_a_size_gets_that_of_any_result() -> None:
    research = find_profile("research")
    assert research.size("open").median == 1_300
    assert research.size("weather") == research.size("result")
    with pytest.raises(UsageError, match="unknown size 'weather'"):
        find_profile("coding").size("weather")


FAULTS = [
    ("median = 4.0", "median = 0"),
    ("sigma = 1.29", "sigma = 'x'"),
    ("name =", "nam ="),
    ("thinking = 0.42", "thinking = 1.2"),
    ("thinking = 0.42", "thoughts = 0.42"),
    ('"user" =', '"usr" ='),
    ("tools = 10000", "tools = 0.5"),
    ("share = 0.03", "share = nan"),
    ("night = 0.0", "night = 43201"),
    ("[waits]", "[waits"),
]


def test_a_wrong_file_is_named_with_the_key(tmp_path: Path, golden: Any) -> None:
    text = find_profile("coding").toml()
    text = text.replace('"tools"', "tools").replace('"thinking"', "thinking")

    def find(change: tuple[str, str]) -> None:
        assert change[0] in text
        (tmp_path / "own.toml").write_text(text.replace(*change, 1), encoding="utf-8")
        find_profile(str(tmp_path / "own.toml"))

    golden("faults/profiles.txt", refusals(InputError, find, FAULTS, tmp_path))


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean coding"):
        find_profile("codng")
    with pytest.raises(InputError, match="no profile: No such file"):
        find_profile(str(tmp_path / "none.toml"))


def test_a_conversation_is_another_with_another_profile_and_not_with_a_comment_in_it(tmp_path):
    own = tmp_path / "mine.toml"
    text = file_of("chat").read_text("utf-8")
    own.write_text(text, "utf-8")
    spec = f"support_chat(profile='{own}')"
    before = content_of_scenario(find_scenario(spec))
    own.write_text(f"# A word.\n{text}", "utf-8")
    assert content_of_scenario(find_scenario(spec)) == before
    own.write_text(text.replace("median = ", "median = 1", 1), "utf-8")
    assert content_of_scenario(find_scenario(spec)) != before
    own.unlink()
    assert "No such file" in content_of_scenario(find_scenario(spec))
    plain = [
        content_of_scenario(find_scenario(f"support_chat(profile='{n}')")) for n in ("chat", "days")
    ]
    assert plain[0].split()[-1] != plain[1].split()[-1]
