"""Every built-in strategy keeps the contract of the family in odd sizes, too."""

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from compactlab.sim.replay.strategy import Lifetime, Pipeline, Strategy
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.testing.contract import check_strategy


def values(hint: Any, default: Any) -> st.SearchStrategy[Any]:
    """What a field may be: odd sizes of its default."""
    if isinstance(default, bool):
        return st.booleans()
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if isinstance(default, int):
        return st.sampled_from([default, 0, 1, 2, 5, default // 20, default // 3, 2 * default])
    if isinstance(default, float):
        return st.sampled_from([default, 0.0, 0.1, 0.5, 0.9, 1.0])
    return st.just(default)


@st.composite
def configured(draw: st.DrawFn, cls: type[Strategy]) -> Strategy:
    """A strategy in a configuration that it accepts."""
    hints = get_type_hints(cls)
    fields = [f for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    chosen = {f.name: draw(values(hints[f.name], f.default)) for f in fields}
    try:
        return cls(**chosen)
    except ValueError:
        assume(False)
        raise


@pytest.mark.parametrize("name", sorted(STRATEGIES.built_in))
@settings(max_examples=2, phases=[Phase.generate])
@given(data=st.data(), seed=st.integers(0, 5))
def test_it_keeps_the_contract_however_it_is_configured(name, data, seed):
    keeps_it(in_company(data.draw(configured(STRATEGIES.find(name)))), 13, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STRATEGIES.built_in))
@settings(max_examples=40, phases=[Phase.generate])
@given(data=st.data(), seed=st.integers(0, 50))
def test_and_in_very_many_sizes(name, data, seed):
    keeps_it(in_company(data.draw(configured(STRATEGIES.find(name)))), 30, seed)


def keeps_it(strategy: Strategy, conversations: int, seed: int) -> None:
    found = check_strategy(strategy, conversations, seed=seed)
    # What a default does on purpose, another size need not.
    left = [each for each in found if each.rule != "breaks"]
    assert not left, "\n".join([strategy.spec, *map(str, left)])


def in_company(strategy: Strategy) -> Strategy:
    """With those whose acts it follows, as in the line-up."""
    for spec in ALL_STRATEGIES:
        parts = find_strategy(spec).parts
        if len(parts) > 1 and type(strategy) in map(type, parts):
            company = [strategy if type(p) is type(strategy) else p for p in parts]
            return Pipeline(tuple(sorted(company, key=lambda p: list(Lifetime).index(p.lifetime))))
    return strategy
