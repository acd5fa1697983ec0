"""The cost of one's own servers: it grows faster than the tokens, and reading is nearly free."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Usage
from compactlab.sim.models.rates import PRESETS

SMALL, LARGE = PRESETS["8b"], PRESETS["70b"]
MODELS = st.sampled_from([SMALL, LARGE])
TOKENS = st.integers(0, 200_000)


@given(MODELS, st.integers(0, 60), st.integers(0, 60))
def test_the_formula_is_what_the_tokens_add_up_to(model, cache_misses, cached):
    counted = 0.0
    for place in range(cache_misses):
        behind = cached + place + 0.5  # all before it, and half of itself
        counted += 2 * model.parameters + 4 * model.layers * model.width * behind
    assert model.operations(cache_misses, cached) == pytest.approx(counted)


@given(MODELS, st.integers(0, 60), TOKENS)
def test_so_is_what_writing_reads(model, output, prompt):
    read = 0.0
    for place in range(output):
        weights = model.parameters * model.bytes / model.streams
        read += weights + model.kv_bytes * (prompt + place + 0.5)
    speed = model.gpus * model.bandwidth * model.utilisation
    assert model.decode_seconds(output, prompt) == pytest.approx(read / speed)


@given(MODELS, TOKENS, TOKENS, TOKENS)
def test_taking_tokens_in_at_once_or_in_two_goes_costs_the_same(model, one, other, cached):
    both = model.operations(one, cached) + model.operations(other, cached + one)
    assert model.operations(one + other, cached) == pytest.approx(both)


@given(MODELS, st.integers(1, 200_000), TOKENS)
def test_twice_the_tokens_cost_more_than_twice(model, cache_misses, cached):
    assert model.operations(2 * cache_misses, cached) > 2 * model.operations(cache_misses, cached)


@given(MODELS, st.integers(1, 200_000), TOKENS)
def test_reading_is_cheaper_than_computing_and_never_free(model, cache_misses, read):
    cost = model.cost(Usage(uncached=cache_misses, cache_read=read))
    assert (
        model.cost(Usage(uncached=cache_misses))
        <= cost
        <= model.cost(Usage(uncached=cache_misses + read))
    )


@given(MODELS, TOKENS, TOKENS, TOKENS)
def test_whatever_was_not_read_is_computed_however_it_is_billed(model, cache_misses, read, output):
    plain = Usage(uncached=cache_misses, cache_read=read, output=output)
    written = Usage(cache_write_5m=cache_misses, cache_read=read, output=output)
    assert model.cost(plain) == model.cost(written) >= 0


def test_the_presets_hold_as_many_bytes_a_token_as_is_known():
    assert (SMALL.kv_bytes, LARGE.kv_bytes) == (128 * 1024, 320 * 1024)
    assert 128_000 * LARGE.kv_bytes == pytest.approx(42e9, rel=0.01)


def test_attention_evens_with_the_rest_where_it_should():
    assert SMALL.even == pytest.approx(30_000, rel=0.03)
    assert LARGE.even == pytest.approx(53_000, rel=0.03)


@pytest.mark.parametrize(("model", "least", "most"), [(SMALL, 25e3, 35e3), (LARGE, 20e3, 30e3)])
def test_short_prompts_go_as_fast_as_is_known_and_half_as_fast_far_back(model, least, most):
    assert least < 1000 / model.prefill_seconds(1000) < most
    far = 1 / model.prefill_seconds(1, round(model.even))
    assert far == pytest.approx(0.5 / model.prefill_seconds(1), rel=0.01)


def test_dollars_are_the_time_of_all_gpus():
    usage = Usage(uncached=50_000, cache_read=10_000, output=1000)
    hours = LARGE.seconds(usage) / 3600
    assert LARGE.cost(usage) == pytest.approx(hours * 8 * 3.0)
    assert replace(LARGE, dollars=0.0).cost(usage) == 0
    assert LARGE.cost(Usage()) == 0


def test_it_stands_where_a_price_sheet_stands():
    usage = Usage(uncached=10, output=1)
    assert SMALL.rates(0.0, usage.prompt).cost(usage) == SMALL.cost(usage)


def test_who_decodes_alone_pays_for_all_the_weights():
    alone, shared = replace(SMALL, streams=1), replace(SMALL, streams=64)
    assert math.isclose(1 / alone.decode_seconds(1, 0), 105, rel_tol=0.01)
    assert alone.decode_seconds(1, 0) > 60 * shared.decode_seconds(1, 0)


@pytest.mark.parametrize("name", ["parameters", "gpus", "utilisation", "streams", "dollars"])
def test_impossible_figures_are_refused(name):
    with pytest.raises(ValueError, match=name):
        replace(SMALL, **{name: -1})
