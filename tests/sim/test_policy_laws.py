"""What holds for every cache policy, over sessions that are drawn."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import (
    POLICIES,
    Anthropic,
    CachePolicy,
    Deepseek,
    Explicit,
    Gemini,
    OpenaiEndings,
    OpenaiGrid,
    Paged,
    Xai,
)
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.cache.prefixes import Automatic
from tests.sim.drawn import QUICK, Client, Request, billed, growing, model_under, requests
from tests.sim.reference_cache import blocks_of, shared_blocks, sizes_of
from tests.sim.reference_prefixes import agree
from tests.sim.test_deepseek import POLICIES_DRAWN as DEEPSEEK
from tests.sim.test_explicit import POLICIES_DRAWN as EXPLICIT
from tests.sim.test_openai_endings import POLICIES_DRAWN as ENDINGS

BUILT_IN = POLICIES.built_in
AUTOMATIC = {
    **{name: st.just(each()) for name, each in BUILT_IN.items() if issubclass(each, Automatic)},
    "gemini": st.builds(
        Gemini, minimum=st.sampled_from([0, 500, 2048, 4096]), idle=st.sampled_from([60.0, 3600.0])
    ),
    "openai_grid": st.builds(
        OpenaiGrid, minimum=st.sampled_from([128, 1024]), idle=st.sampled_from([300.0, 1800.0])
    ),
    "xai": st.builds(Xai, idle=st.sampled_from([60.0, 600.0])),
}
DRAWN: dict[str, st.SearchStrategy[CachePolicy]] = {
    **{name: st.just(each()) for name, each in BUILT_IN.items()},
    **AUTOMATIC,
    "anthropic": st.builds(
        Anthropic,
        minimum=st.sampled_from([0, 15, 700]),
        lookback=st.sampled_from([1, 5, 20]),
        marks=st.sampled_from([("system", "last"), ("last",), ("auto",)]),
    ),
    "deepseek": DEEPSEEK,
    "explicit": EXPLICIT,
    "openai_endings": ENDINGS,
    "paged": st.builds(Paged, capacity=st.sampled_from([0, 160, 10_000])),
}
each_policy = pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)


def all_but(*names: str) -> pytest.MarkDecorator:
    others = sorted({*DRAWN} - {*names})
    return pytest.mark.parametrize("drawn", [DRAWN[name] for name in others], ids=others)


@pytest.mark.parametrize("drawn", AUTOMATIC.values(), ids=AUTOMATIC)
@given(data=st.data(), session=requests())
def test_where_any_prefix_is_found_it_agrees_with_a_naive_cache_at_every_call(drawn, data, session):
    agree(data.draw(drawn), session)  # type: ignore[arg-type]


@each_policy
@given(data=st.data(), session=requests())
def test_every_token_is_read_or_has_a_cause(drawn, data, session):
    policy = data.draw(drawn)
    bills = billed(model_under(policy), session)
    assert bills == billed(model_under(policy), session)
    for request, bill in zip(session, bills, strict=True):
        assert bill.usage.prompt == sum(sizes_of(request.view, QUICK))
        assert min(bill.usage.uncached, bill.usage.cache_write) >= 0
        assert sum(bill.causes.values()) == bill.usage.prompt - bill.usage.cache_read
        assert all(tokens > 0 for tokens in bill.causes.values())
        assert set(bill.causes) <= set(CAUSES)


@all_but("deepseek")  # which stores an answer before it is sent back
@given(data=st.data(), session=requests())
def test_what_is_read_is_a_prefix_of_something_sent_before(drawn, data, session):
    bills = billed(model_under(data.draw(drawn)), session)
    for index, (request, bill) in enumerate(zip(session, bills, strict=True)):
        mine = blocks_of(request.view)
        before = (blocks_of(earlier.view) for earlier in session[:index])
        shared = max((shared_blocks(mine, blocks) for blocks in before), default=0)
        assert bill.usage.cache_read <= sum(sizes_of(request.view, QUICK)[:shared])


@all_but("anthropic", "none")  # which miss several ends in the same place
@given(data=st.data(), session=requests())
def test_causes_ascend_beyond_what_was_read(drawn, data, session):
    client = Client(data.draw(drawn).open())
    for request in session:
        told = client.send(request)
        reached = [told.read, *(upto for _, upto in told.missed)]
        assert all(one < next for one, next in itertools.pairwise(reached))


@each_policy
@given(
    data=st.data(),
    grown=growing(most_blocks=6),
    gaps=st.lists(st.sampled_from([1.0, 300.0, 1801.0, 3601.0]), min_size=12, max_size=12),
)
def test_of_what_only_grows_nothing_is_unexplained(drawn, data, grown, gaps):
    session = [Request(view, gap) for view, gap in zip(grown, gaps, strict=False)]
    bills = billed(model_under(data.draw(drawn)), session)
    assert not any("unexplained" in bill.causes for bill in bills)


@pytest.mark.parametrize(
    ("name", "spec", "life"),
    [
        ("deepseek", "deepseek(interval=0, grid=128, idle=86400.0, loss=0.0)", 86_400),
        ("deepseek_grid", "deepseek_grid(grid=64, minimum=64, idle=86400.0, loss=0.0)", 86_400),
        ("explicit", "explicit(what='system', minimum=4096, ttl=3600.0, renew=0.2)", 3600),
        ("gemini", "gemini(grid=1, minimum=4096, idle=3600.0, loss=0.0)", 3600),
        ("none", "no_cache()", 0),
        ("openai_grid", "openai_grid(grid=128, minimum=1024, idle=1800.0, loss=0.0)", 1800),
        ("paged", "paged(capacity=1000000, page=16)", math.inf),
        ("xai", "xai(grid=128, minimum=0, idle=600.0, loss=0.0)", 600),
        (
            "anthropic",
            "anthropic(minimum=1024, ttl='5m', marks=('system', 'last'), lookback=20, "
            "runs_are_one=True, share=1.0)",
            3600,
        ),
        (
            "openai_endings",
            "openai_endings(minimum=1024, mode='implicit', marks=('system',), lookback=80, "
            "idle=1800.0, loss=0.0)",
            1800,
        ),
    ],
)
def test_each_says_its_figures_and_how_long_prefixes_live(name, spec, life):
    policy = POLICIES.find(name)()
    assert (policy.spec, policy.loss) == (spec, 0)
    assert policy.lifetime("1h") == life
    assert policy.shortened(0.5).lifetime("1h") == life / 2


@pytest.mark.parametrize(
    ("policy", "figures"),
    [
        (Deepseek, {"grid": 0}),
        (Deepseek, {"interval": -1}),
        (Deepseek, {"idle": -1.0}),
        (Deepseek, {"loss": 2.0}),
        (Explicit, {"minimum": -1}),
        (Explicit, {"ttl": -1}),
        (Explicit, {"renew": -1}),
        (OpenaiEndings, {"marks": ("first",)}),
        (OpenaiEndings, {"minimum": -1}),
        (OpenaiEndings, {"lookback": 0}),
        (OpenaiEndings, {"idle": -1.0}),
        (OpenaiEndings, {"loss": 1.5}),
        (OpenaiGrid, {"grid": 0}),
        (OpenaiGrid, {"minimum": -1}),
        (OpenaiGrid, {"idle": -1.0}),
        (OpenaiGrid, {"loss": 1.5}),
        (Paged, {"page": 0}),
        (Paged, {"capacity": -1}),
    ],
)
def test_what_cannot_be_is_refused(policy, figures):
    with pytest.raises(ValueError, match=rf"{next(iter(figures))}|mark|negative|share|interval"):
        policy(**figures)


def test_less_room_is_kept_where_nothing_expires():
    assert Paged().lifetime() == math.inf
    assert Paged(capacity=1000).shortened(0.8) == Paged(capacity=800)
