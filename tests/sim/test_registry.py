"""Strategies, summarisers, scenarios, readers and cache policies are found in one way."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from compactlab.scenarios.catalogue import SCENARIOS, find_scenario
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.scenarios.readers import pi
from compactlab.scenarios.readers.transcript import READERS
from compactlab.sim.cache import POLICIES
from compactlab.sim.cache.prefixes import Paged
from compactlab.sim.core import registry
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.experiment.sources import Scenario, alone
from compactlab.sim.models.model import find_model
from compactlab.strategies import SlidingWindow
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from compactlab.strategies.summarizers.extractive import Lead

# What a package brings of each kind, a built-in name, what is nearly one, and what it means.
KINDS: list[tuple[registry.Registry[Any], Any, str, str, str]] = [
    (STRATEGIES, SlidingWindow, "keep_all", "keep_al", "keep_all"),
    (SUMMARIZERS, Lead, "lexrank", "lexrnk", "lexrank"),
    (SCENARIOS, CodingAgent, "rewinds", "rewind", "rewinds"),
    (POLICIES, Paged, "xai", "geminy", "gemini"),
    (READERS, pi.FORMAT, "codex", "openclow", "openclaw"),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.kind for kind, *_ in KINDS])


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Pretend that a package brings things: name to thing, or to the error of loading it."""
    groups: list[str] = []

    def bring(**things: Any) -> list[str]:
        def load(thing: Any) -> Any:
            if isinstance(thing, Exception):
                raise thing
            return thing

        def points(group: str) -> list[Any]:
            groups.append(group)
            return [
                SimpleNamespace(name=name, load=lambda t=thing: load(t), value="pack:X", dist=None)
                for name, thing in things.items()
            ]

        monkeypatch.setattr(registry, "entry_points", points)
        return groups

    return bring


@every_kind
def test_a_package_adds_to_it_but_takes_no_built_in_name(kind, installed):
    of, brought, name, *_ = kind
    ours = of.find(name)
    groups = installed(brought=brought, **{name: brought})
    found = of.find("brought")
    assert found is brought or (found.name, found.package) == ("brought", "pack")
    assert of.find(name) is ours
    assert list(of) == [*of.built_in, "brought"]
    assert set(groups) == {f"compactlab.{of.kind}"}


@every_kind
def test_what_cannot_be_used_is_named_and_costs_nobody_else(kind, installed):
    of = kind[0]
    installed(broken=ImportError("no such library"), other=3)
    faults: list[str] = []
    assert set(of.usable(lambda error: faults.append(str(error)))) == set(of.built_in)
    assert faults[0] == "broken cannot be loaded: no such library"
    assert "other is not a " in faults[1]


@every_kind
def test_an_unknown_name_is_told_the_nearest(kind):
    of, _, _, typo, meant = kind
    assert typo not in of
    with pytest.raises(UsageError, match=f"unknown {of.what} '{typo}'; did you mean .*{meant}"):
        of.find(typo)


def test_what_is_installed_is_named_like_what_is_built_in(installed):
    installed(brought=SlidingWindow)
    assert find_strategy("brought(keep=2)") == SlidingWindow(2)
    assert [STRATEGIES.is_foreign(name) for name in ("brought", "keep_all")] == [True, False]
    installed(brought=Lead)
    assert find_summarizer("brought(tokens=9)") == Lead(tokens=9)
    installed(brought=CodingAgent)
    assert find_scenario("brought(turns=3)") == CodingAgent(turns=3)
    installed(brought=Paged)
    assert find_model("claude-sonnet-4-5@brought").policy == Paged()


@dataclass(frozen=True)
class Dies(Scenario):
    def conversation(self, seed: int) -> Conversation:
        raise SystemExit(3)


def test_a_scenario_of_others_is_made_in_a_process_of_its_own():
    with pytest.raises(InputError, match=r"dies\(\) failed: .*3"):
        alone(Dies(), 0)
