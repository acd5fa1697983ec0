"""Every built-in strategy keeps the contract of the family, at its defaults and in odd sizes."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from compactlab.sim.contract import Violation, check_strategy
from compactlab.sim.strategy import Lifetime, Pipeline, Strategy
from compactlab.strategies.catalogue import LINE_UP, find_strategy, strategies

# A size in which a strategy does within the battery's windows what it declares to break, where
# its default is too large for that.
ACTING = (
    "recent_events(max_events=20)",
    "amortized_forgetting(max_size=20)",
    "turn_checkpoints(every=1, keep=1)",
    "auto_compact(reserve_tokens=3000, reserve_tokens_floor=0, keep_recent_tokens=500)",
    "preserve_turns(reserve_tokens=8000, reserve_tokens_floor=0, keep_recent_tokens=100)",
    "prune_then_summarize(protect_tokens=1, minimum_tokens=2)",
)


def told(found: list[Violation]) -> str:
    return "\n".join(map(str, found))


@cache
def checked(spec: str, conversations: int = 50, seed: int = 0) -> list[Violation]:
    return check_strategy(find_strategy(spec), conversations, seed=seed)


def broken(spec: str, conversations: int = 50, seed: int = 0) -> list[Violation]:
    """What it breaks and does not declare."""
    return [each for each in checked(spec, conversations, seed) if each.rule != "breaks"]


@pytest.mark.parametrize("spec", [*LINE_UP, *ACTING])
def test_it_keeps_the_contract(spec: str) -> None:
    found = broken(spec)
    assert not found, told(found)


def test_what_is_declared_occurs() -> None:
    declared = {
        (type(part), rule)
        for spec in LINE_UP
        for part in find_strategy(spec).parts
        for rule in part.breaks
    }
    missing = declared.copy()
    for spec in (*LINE_UP, *ACTING):
        strategy = find_strategy(spec)
        never = {each.what for each in checked(spec, 50, 0) if each.rule == "breaks"}
        for part in strategy.parts:
            missing -= {
                (type(part), rule)
                for rule in part.breaks
                if not any(f"break {rule!r}" in what for what in never)
            }
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("spec", [*LINE_UP, *ACTING])
def test_it_keeps_the_contract_over_very_many(spec: str) -> None:
    found = broken(spec, 2000, seed=1)
    assert not found, told(found)


def test_every_strategy_is_in_the_line_up() -> None:
    named = {type(part) for spec in LINE_UP for part in find_strategy(spec).parts}
    whole = {type(find_strategy(spec)) for spec in LINE_UP}
    assert set(strategies().values()) <= named | whole


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


@pytest.mark.parametrize("name", sorted(strategies()))
@settings(max_examples=4, phases=[Phase.generate])
@given(data=st.data(), seed=st.integers(0, 5))
def test_it_keeps_the_contract_however_it_is_configured(
    name: str, data: st.DataObject, seed: int
) -> None:
    strategy = in_company(data.draw(configured(strategies()[name])))
    found = check_strategy(strategy, 16, seed=seed)
    # What a default does on purpose, another size need not.
    left = [each for each in found if each.rule != "breaks"]
    assert not left, f"{strategy.spec}\n{told(left)}"


def in_company(strategy: Strategy) -> Strategy:
    """With those whose acts it follows, as in the line-up."""
    for spec in LINE_UP:
        parts = find_strategy(spec).parts
        if len(parts) > 1 and type(strategy) in map(type, parts):
            company = [strategy if type(p) is type(strategy) else p for p in parts]
            return Pipeline(tuple(sorted(company, key=lambda p: list(Lifetime).index(p.lifetime))))
    return strategy
