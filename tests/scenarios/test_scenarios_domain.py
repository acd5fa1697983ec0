"""Domains are files: read strictly, once, and part of what names a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.catalogue import content_of_scenario, find_scenario
from compactlab.scenarios.engine import domain as domains
from compactlab.scenarios.engine.domain import Lags, domain_of, find_domain
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.toml import Section, parse_toml
from tests.lines import refusals
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


FAULTS = [
    ("turn", "trun"),
    ("shortest", "shortst"),
    ("lines", "line"),
    ("turn = 600", "turn = 'long'"),
    ("turn = 600", "mix.lat = 3"),
    ('areas = "north south"', ""),
    ("[kinds]\ndecision", "[kinds]\ndecisions"),
    ("[things.decision]", "[things.goal]"),
    ("{code}", "{word}"),
]


def test_what_is_no_domain_is_refused_with_file_and_key(golden: Any) -> None:
    def read(change: tuple[str, str]) -> None:
        assert change[0] in SMALL
        domain_of(Section(parse_toml(SMALL.replace(*change)), "small.toml"))

    golden("faults/domains.txt", refusals(InputError, read, FAULTS))


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
