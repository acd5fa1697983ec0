"""A user's own models, in a file."""

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.cache import Anthropic, NoCache, Paged
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import Catalogue, built_in, find_model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import PRESETS
from tests.lines import refusal, refusals

WHOLE = """
[providers.acme]
source = "our contract"
asof = 2026-11-01
factor = 1.2
multipliers = { night = 0.5 }

[models."acme.large-20260101"]
provider = "acme"
window = 200_000
max_output = 8_000
encoding = "cl100k_base"
cache = { policy = "anthropic", minimum = 2048, ttl = "1h", marks = ["system:1h", "last"] }
prices = { input = 2, cache_read = 0.2, cache_write_5m = 2.5, output = 10, storage = 3.6, tiers = [
    { above = 50_000, input = 3 },
    { above = 100_000, input = 4, cache_read = 0.4, output = 20 },
] }
multipliers = { fast = 3.0 }
strips_thinking = true

[models.claude-opus-5]
window = 9_000
cache = "none"
price = "anthropic/claude-sonnet-5"

[models.house]
window = 32_000
cache = { policy = "paged", capacity = 50_000 }
servers = { preset = "8b", dollars = 1.5 }
"""


@pytest.fixture
def own(tmp_path: Path) -> Catalogue:
    file = tmp_path / "own.toml"
    file.write_text(WHOLE, encoding="utf-8")
    return Catalogue.load(file)


def test_a_file_describes_a_model_whole(own):
    model = own.find("acme.large-20260101")
    assert model.name == "acme.large-20260101"
    assert (model.provider, model.source, model.asof) == ("acme", "our contract", "2026-11-01")
    assert (model.window, model.max_output) == (200_000, 8_000)
    assert model.tokenizer == Tokenizer("cl100k_base", 1.2)
    assert model.policy == Anthropic(minimum=2048, ttl="1h", marks=("system:1h", "last"))
    assert dict(model.multipliers) == {"night": 0.5, "fast": 3.0}
    assert model.strips_thinking


def test_prices_by_hand_have_tiers_and_storage(own):
    prices = prices_of(own.find("acme.large-20260101"))

    def dollars(prompt: int, **usage: int) -> float:
        return round(prices.rates(0, prompt).cost(Usage(**usage)) * 1_000, 9)

    million = 1_000
    for prompt, told in ((50_000, 2), (50_001, 3), (100_000, 3), (100_001, 4)):
        assert dollars(prompt, uncached=million) == told
    assert [dollars(n, output=million) for n in (0, 100_000, 100_001)] == [10, 10, 20]
    assert [dollars(n, cache_read=million) for n in (0, 60_000, 200_000)] == [0.2, 0.2, 0.4]
    assert dollars(0, cache_write_1h=million) == dollars(0, cache_write_5m=million) == 2.5
    assert dollars(0, storage=million * 3600) == pytest.approx(3.6)
    fast = prices_of(own.find("acme.large-20260101+fast+night")).rates(0, 0)
    assert fast.cost(Usage(output=1_000_000)) == pytest.approx(15)


def test_what_has_no_price_of_its_own_costs_what_it_came_from():
    row = {"window": 1, "cache": "none", "prices": {"input": 4, "output": 0}}
    rates = prices_of(Catalogue.of({"models": {"bare": row}}).find("bare")).rates(0, 0)
    usage = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert rates.cost(usage) == 16


def test_own_models_win_and_the_others_stay(own):
    mine, theirs = own.find("claude-opus-5"), find_model("claude-opus-5")
    assert (mine.window, mine.policy) == (9_000, NoCache())
    assert theirs.window == 1_000_000
    assert mine.price == "anthropic/claude-sonnet-5"
    assert own.find("claude-opus-4.5@none") == find_model("claude-opus-4-5@none")
    assert own.find("claude-opus-5@anthropic").policy == Anthropic()


def test_own_servers_are_paid_by_their_time(own):
    model = own.find("house")
    assert model.policy == Paged(capacity=50_000)
    usage = Usage(uncached=20_000, output=100)
    cost = prices_of(model).rates(0, usage.prompt).cost(usage)
    assert cost == pytest.approx(PRESETS["8b"].cost(usage) / 2)


def test_a_catalogue_travels_and_is_told_apart_by_its_digest(own):
    again = pickle.loads(pickle.dumps(own))
    assert again == own
    assert again.digest == own.digest != ""
    assert Catalogue.of(own.own) == own
    dearer = {**own.own, "models": {**own.own["models"], "house": {"window": 1, "cache": "none"}}}
    assert Catalogue.of(dearer).digest != own.digest
    assert Catalogue.of({}) is built_in()
    assert built_in().digest == ""


CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "storage")
PRICE = st.sampled_from([0, 0.025, 1, 7.5, 30])
GIVEN = st.dictionaries(st.sampled_from(CLASSES), PRICE)


@given(GIVEN, st.dictionaries(st.integers(1, 20), GIVEN, max_size=4), st.integers(0, 25))
def test_tiers_by_hand_cost_what_a_look_through_them_says(base, tiers, prompt):
    """The largest threshold that is passed says what it says; the rest is as below all of them."""
    base = {"input": 3.0, "output": 15.0, **base}
    listed = [{"above": above, **own} for above, own in tiers.items()]
    row = {"window": 9, "cache": "none", "prices": {**base, "tiers": listed}}
    rates = prices_of(Catalogue.of({"models": {"m": row}}).find("m")).rates(0, prompt)
    passed = [above for above in tiers if prompt > above]
    told = {**base, **(tiers[max(passed)] if passed else {})}
    read = told.get("cache_read", told["input"])
    write = told.get("cache_write_5m", told["input"])
    hour = told.get("cache_write_1h", write)
    usage = Usage(1, 2, 3, 4, 5, 6)
    dollars = told["input"] + 2 * read + 3 * write + 4 * hour + 5 * told["output"]
    dollars += 6 * told.get("storage", 0) / 3600
    assert rates.cost(usage) == pytest.approx(dollars / 1e6)


@given(st.dictionaries(st.integers(1, 20), st.integers(1, 9), max_size=5), st.integers(1, 22))
def test_prices_that_end_on_a_day_are_those_of_the_first_day_that_is_not_over(ends, day):
    """By a look through all of them, in any order; the day itself is within."""
    tables = [{"input": 99, "output": 0}]
    tables += [{"input": n, "output": 0, "until": f"2026-12-{end:02}"} for end, n in ends.items()]
    row = {"window": 9, "cache": "none", "prices": tables}
    sheet = prices_of(Catalogue.of({"models": {"m": row}}).find("m"))
    left = [end for end in ends if day <= end]
    wanted = ends[min(left)] if left else 99
    for hour in (0, 23):
        time = datetime(2026, 12, day, hour, 59, tzinfo=UTC).timestamp()
        assert sheet.rates(time, 5).cost(Usage(uncached=1)) * 1e6 == pytest.approx(wanted)
        assert sheet.sizes(time) == [0]


MODEL = 'models.m = { window = 10, cache = "none"'


FAULTS = [
    "window = ",
    "model = {}",
    "models = 3",
    "models.m = 3",
    "models.m = {}",
    "models.m.window = 0",
    "models.m.window = true",
    "models.m.window = 1.5",
    "models.m.window = 10",
    f"{MODEL}, windw = 3 }}",
    f"{MODEL}, prices = [] }}",
    f"{MODEL}, prices = [{{ input = 1, output = 1, until = 2026-12-31 }}] }}",
    f"{MODEL}, factor = 0 }}",
    f"{MODEL}, factor = nan }}",
    f"{MODEL}, asof = 'soon' }}",
    f"{MODEL}, encoding = 'o200k' }}",
    f"{MODEL}, strips_thinking = 1 }}",
    f"{MODEL}, price = 'gpt-5' }}",
    f"{MODEL}, prices = {{ input = 1 }} }}",
    f"{MODEL}, prices = {{ input = -1, output = 1 }} }}",
    f"{MODEL}, prices = {{ input = 1, output = 1, cache_reads = 1 }} }}",
    f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [{{ abov = 1 }}] }} }}",
    f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [3] }} }}",
    f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [{{ above = 9 }}, {{ above = 9 }}] }} }}",
    f"{MODEL}, price = 'a/b', prices = {{ input = 1, output = 1 }} }}",
    f"{MODEL}, storage = 'x' }}",
    f"{MODEL}, storage = [{{ price = 1, until = 2026 }}] }}",
    f"{MODEL}, multipliers = {{ 'a b' = 1 }} }}",
    f"{MODEL}, multipliers = {{ x = 0 }} }}",
    f"{MODEL}, servers = {{ preset = '9b' }} }}",
    f"{MODEL}, servers = {{ preset = '8b', gpu = 2 }} }}",
    f"{MODEL}, servers = {{ preset = '8b', gpus = 0 }} }}",
    'models.m = { window = 1, cache = { policy = "antropic" } }',
    'models.m = { window = 1, cache = { policy = "anthropic", minimun = 1 } }',
    'models.m = { window = 1, cache = { policy = "anthropic", minimum = "x" } }',
    'models.m = { window = 1, cache = { policy = "anthropic", marks = ["end"] } }',
    "models.m = { window = 1, cache = { minimum = 3 } }",
    "[models.gpt-9.5]\nwindow = 1",
    'models."a b".window = 1',
    'models."a@b".window = 1',
    'models."recorded".window = 1',
    "providers.p.tokens = 1",
]


def test_a_fault_is_told_with_file_and_key(tmp_path, golden):
    def load(text: str) -> None:
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        Catalogue.load(tmp_path / "own.toml")

    golden("faults/models.txt", refusals(InputError, load, FAULTS, tmp_path))


def test_a_model_is_not_taken_for_a_file_of_models():
    assert refusal(InputError, lambda: Catalogue.load("gpt-5-mini@none")) == snapshot("""\
gpt-5-mini@none: no file of models: No such file or directory; the model of this name is
--model\
""")


def test_a_file_that_is_not_there_is_told(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match="no file of models"):
            Catalogue.load(path)
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    assert refusal(InputError, lambda: Catalogue.load(tmp_path / "latin.toml")) == snapshot("""\
latin.toml: no file of models: 'utf-8' codec can't decode byte 0xe9 in position 5: invalid
continuation byte\
""")
