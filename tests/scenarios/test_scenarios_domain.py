"""Domains are files: read strictly, once, and part of what names a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compactlab.scenarios.catalogue import content_of_scenario, find_scenario
from compactlab.scenarios.engine import domain as domains
from compactlab.scenarios.engine.domain import Lags, domain_of, find_domain
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.toml import Section, parse_toml
from tests.scenarios.made import STORIES

SMALL = """
areas = "north south"
turn = 600

[words]
n = "tram bridge"
v = ["is late", "waits"]

[things.decision]
"fare zone" = "zone-{code}"

[kinds]
decision = 1

[lags_by.decision]
shortest = 10

[tools.table]
lines = ["{n}"]

[uses]
decision = ["So {value}.", ["table", { zone = "{value}" }]]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(domains, "_DOMAINS", tmp_path)
    find_domain.cache_clear()
    yield tmp_path
    find_domain.cache_clear()


def test_a_small_domain() -> None:
    domain = domain_of(Section(parse_toml(SMALL), "small.toml"))
    assert domain.areas == ("north", "south")
    assert domain.words == {"n": ("tram", "bridge"), "v": ("is late", "waits")}
    assert domain.lags_by == {"decision": Lags(shortest=10)}
    assert domain.uses_of("decision") == ("So {value}.", ("table", {"zone": "{value}"}))
    assert domain.uses_of("goal") == ("That brings {value} closer.", "It counts towards {value}.")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("turn", "trun", r"small.toml: unknown key 'trun'; did you mean turn"),
        ("shortest", "shortst", r"small.toml: lags_by.decision: unknown key 'shortst'"),
        ("lines", "line", r"small.toml: tools.table: unknown key 'line'"),
        ("turn = 600", "turn = 'long'", r"small.toml: Expected `float`, got `str` - at `\$.turn`"),
        ("turn = 600", "mix.lat = 3", r"small.toml: mix: unknown key 'lat'; did you mean late"),
        ('areas = "north south"', "", r"small.toml: .*areas"),
        ("[kinds]\ndecision", "[kinds]\ndecisions", r"small.toml: Invalid enum value 'decisions'"),
        ("[things.decision]", "[things.goal]", r"small.toml: decision: there is no thing"),
        ("{code}", "{word}", r"small.toml: decision: the value of 'fare zone' could be guessed"),
    ],
)
def test_what_is_no_domain_is_refused_with_file_and_key(
    right: str, wrong: str, message: str
) -> None:
    assert right in SMALL
    with pytest.raises(InputError, match=message):
        domain_of(Section(parse_toml(SMALL.replace(right, wrong)), "small.toml"))


@pytest.mark.parametrize("name", STORIES)
def test_a_conversation_is_another_with_another_domain_and_not_with_a_comment_in_it(
    name: str, folder: Path
) -> None:
    original = Path(domains.__file__).parents[1] / "domains" / f"{name}.toml"
    text = original.read_text("utf-8")
    contents = []
    for each in (text, f"# A word.\n{text}", text.replace("\ngoal = ", "\ngoal = 1", 1)):
        (folder / original.name).write_text(each, "utf-8")
        find_domain.cache_clear()
        contents.append(content_of_scenario(find_scenario(name)))
    assert contents[0] == contents[1] != contents[2]


def test_a_domain_is_read_once(folder: Path) -> None:
    (folder / "small.toml").write_text(SMALL, "utf-8")
    assert find_domain("small") is find_domain("small")
    with pytest.raises(InputError, match="no domain: No such file"):
        find_domain("none")
