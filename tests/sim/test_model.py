"""Models by name."""

from __future__ import annotations

import re

import pytest

from compactlab.sim.cache import Anthropic, NoCache
from compactlab.sim.errors import ModelError
from compactlab.sim.model import catalogue, find_model, replayable, tokenizer_of
from compactlab.sim.tokens import Tokenizer

# Section 1.2 of the notes on prompt caching: the shortest prefix that is stored.
MINIMA = {
    512: ["fable-5", "fable-5-1", "opus-5", "opus-5-5", "sonnet-5-5", "haiku-5-5"],
    1024: ["opus-4-8", "sonnet-5", "sonnet-4-6", "sonnet-4-5"],
    2048: ["opus-4-7"],
    4096: ["opus-4-6", "opus-4-5", "haiku-4-5"],
}


@pytest.mark.parametrize(("minimum", "name"), [(n, name) for n in MINIMA for name in MINIMA[n]])
def test_the_shortest_prefix_that_is_stored_differs_by_model(minimum: int, name: str) -> None:
    assert find_model(f"claude-{name}").policy == Anthropic(minimum=minimum)


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_model_of_the_catalogue_is_whole(name: str) -> None:
    model = catalogue()[name]
    assert model.name == name
    assert model.window >= 200_000
    assert 0 <= model.max_output < model.window
    assert model.tokenizer.factor >= 1
    assert model.tokenizer.text("hello world") >= 2
    assert model.price.count("/") == 1


@pytest.mark.parametrize(
    "written",
    ["claude-opus-4-5", "claude-opus-4.5", "claude-opus-4-5-20251101", "claude-opus-4-5-latest"],
)
def test_a_model_has_many_spellings(written: str) -> None:
    assert find_model(written) is catalogue()["claude-opus-4-5"]


def test_a_model_can_be_put_under_another_policy() -> None:
    for written in ("claude-opus-4-5@none", "claude-opus-4.5-20251101@none"):
        model = find_model(written)
        assert (model.name, model.policy) == ("claude-opus-4-5@none", NoCache())
    assert model.price == find_model("claude-opus-4-5").price


def test_a_models_own_policy_keeps_its_figures() -> None:
    own, named = find_model("claude-opus-4-5"), find_model("claude-opus-4-5@anthropic")
    assert named.policy == own.policy


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("claude-opus-4-55", "unknown model 'claude-opus-4-55'; did you mean claude-opus-4-5"),
        (
            "claude-opus-45@none",
            "unknown model 'claude-opus-45@none'; did you mean claude-opus-4-5@none",
        ),
        ("", "unknown model ''; name another, e.g. --model claude-sonnet-4-5, or NAME@none"),
        ("zzz", "unknown model 'zzz'; name another, e.g. --model claude-sonnet-4-5"),
        ("claude-opus-4-5@nonsense", "unknown cache policy 'nonsense'; did you mean none?"),
        ("claude-opus-4-5@xyz", "unknown cache policy 'xyz'; known: anthropic, none"),
        ("claude-opus-4-5@anthropc", "unknown cache policy 'anthropc'; did you mean anthropic"),
        ("claude-opus-4-5-2025", "unknown model 'claude-opus-4-5-2025'; did you mean"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(written: str, told: str) -> None:
    with pytest.raises(ModelError) as caught:
        find_model(written)
    assert told in str(caught.value)


@pytest.mark.parametrize("written", ["gpt-5.3-codex-spark", "gpt-5x", "claude-sonet-4-5", "zzz"])
def test_what_is_named_instead_can_be_replayed_at_once(written: str) -> None:
    """A recording may hold any name, and nobody wants to be told one that fails next."""
    with pytest.raises(ModelError) as caught:
        find_model(written)
    advice = str(caught.value).partition(";")[2].replace("NAME", "gpt-5")
    named = re.findall(r"(?:claude|gpt)[\w.@-]*\w", advice)
    assert named
    for name in named:
        replayable(find_model(name))


def test_a_window_can_only_be_narrowed() -> None:
    model = find_model("claude-opus-4-5")
    assert model.narrowed(1000).window == 1000
    assert model.narrowed(10**9).window == model.window == 200_000
    assert model.narrowed(None) is model


def test_a_model_without_a_policy_says_what_to_use_instead() -> None:
    with pytest.raises(ModelError, match="--model gpt-5-5@none"):
        replayable(find_model("gpt-5.5"))
    assert replayable(find_model("gpt-5.5@none"))[1] == NoCache()


def test_a_model_that_is_not_known_counts_as_o200k_does() -> None:
    assert tokenizer_of("some-model") == tokenizer_of("") == Tokenizer("o200k_base", 1.0)
    assert tokenizer_of("claude-sonnet-5-20260601").factor == 1.85
