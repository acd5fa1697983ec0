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
from tests.lines import refusal

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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("window = ", "no file of models: Invalid value (at end of document)"),
        ("model = {}", "unknown key 'model'; did you mean models?"),
        ("models = 3", "models must be a table, not 3"),
        ("models.m = 3", "models.m must be a table, not 3"),
        ("models.m = {}", "models.m.window is missing; it must be a whole number from 1"),
        ("models.m.window = 0", "models.m.window must be a whole number from 1, not 0"),
        ("models.m.window = true", "models.m.window must be a whole number from 1, not true"),
        ("models.m.window = 1.5", "models.m.window must be a whole number from 1, not 1.5"),
        ("models.m.window = 10", "models.m.cache is missing; it must be the name of a cache"),
        (f"{MODEL}, windw = 3 }}", "models.m: unknown key 'windw'; did you mean window"),
        (f"{MODEL}, prices = [] }}", "models.m.prices must be a table, or a list of tables"),
        (
            f"{MODEL}, prices = [{{ input = 1, output = 1, until = 2026-12-31 }}] }}",
            "models.m.prices end with one table that has no day in until",
        ),
        (f"{MODEL}, factor = 0 }}", "models.m.factor must be a number above 0, not 0"),
        (f"{MODEL}, factor = nan }}", "models.m.factor must be a number above 0, not NaN"),
        (f"{MODEL}, asof = 'soon' }}", "models.m.asof must be a day, e.g. 2026-12-31, not"),
        (f"{MODEL}, encoding = 'o200k' }}", "models.m.encoding must be 'cl100k_base' or"),
        (f"{MODEL}, strips_thinking = 1 }}", "models.m.strips_thinking must be true or false"),
        (f"{MODEL}, price = 'gpt-5' }}", "models.m.price must be provider/model of genai-prices"),
        (f"{MODEL}, prices = {{ input = 1 }} }}", "models.m.prices.output is missing; it must be"),
        (
            f"{MODEL}, prices = {{ input = -1, output = 1 }} }}",
            "models.m.prices.input must be a number from 0, not -1",
        ),
        (
            f"{MODEL}, prices = {{ input = 1, output = 1, cache_reads = 1 }} }}",
            "models.m.prices: unknown key 'cache_reads'; did you mean cache_read or",
        ),
        (
            f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [{{ abov = 1 }}] }} }}",
            "models.m.prices.tiers.0: unknown key 'abov'; did you mean above?",
        ),
        (
            f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [3] }} }}",
            "models.m.prices.tiers.0 must be a table, not 3",
        ),
        (
            f"{MODEL}, prices = {{ input = 1, output = 1, tiers = [{{ above = 9 }}, "
            "{ above = 9 }] } }",
            "models.m.prices.tiers.1.above is 9 in two tiers",
        ),
        (
            f"{MODEL}, price = 'a/b', prices = {{ input = 1, output = 1 }} }}",
            "models.m.price stands beside prices: prices come from one place",
        ),
        (f"{MODEL}, storage = 'x' }}", "models.m.storage must be a number, or a list of tables"),
        (
            f"{MODEL}, storage = [{{ price = 1, until = 2026 }}] }}",
            "models.m.storage.0.until must be a day",
        ),
        (f"{MODEL}, multipliers = {{ 'a b' = 1 }} }}", "models.m.multipliers.a b is not a name of"),
        (f"{MODEL}, multipliers = {{ x = 0 }} }}", "models.m.multipliers.x must be a number above"),
        (
            f"{MODEL}, servers = {{ preset = '9b' }} }}",
            "models.m.servers names an unknown preset '9b'; did you mean 8b",
        ),
        (
            f"{MODEL}, servers = {{ preset = '8b', gpu = 2 }} }}",
            "models.m.servers is wrong: prefill: unknown field 'gpu'; did you mean gpus?",
        ),
        (
            f"{MODEL}, servers = {{ preset = '8b', gpus = 0 }} }}",
            "models.m.servers is wrong: prefill: gpus is above 0, not 0",
        ),
        (
            'models.m = { window = 1, cache = { policy = "antropic" } }',
            "models.m.cache names an unknown cache policy 'antropic'; did you mean anthropic?",
        ),
        (
            'models.m = { window = 1, cache = { policy = "anthropic", minimun = 1 } }',
            "models.m.cache is wrong: anthropic: unknown field 'minimun'; did you mean minimum?",
        ),
        (
            'models.m = { window = 1, cache = { policy = "anthropic", minimum = "x" } }',
            "models.m.cache is wrong: anthropic: minimum must be a whole number, not 'x'",
        ),
        (
            'models.m = { window = 1, cache = { policy = "anthropic", marks = ["end"] } }',
            "models.m.cache is wrong: anthropic: marks: 'end' is not a mark",
        ),
        (
            'models.m = { window = 1, cache = { minimum = 3 } }',
            "models.m.cache.policy is missing",
        ),
        (
            "[models.gpt-9.5]\nwindow = 1",
            'models.gpt-9.5 is no key; if it is of the name, that needs quotes: [models."gpt-9.5"]',
        ),
        ('models."a b".window = 1', "models.a b: a model's name is not empty"),
        ('models."a@b".window = 1', "models.a@b: a model's name is not empty"),
        ('models."recorded".window = 1', "models.recorded: a model's name is not empty and not"),
        ("providers.p.tokens = 1", "providers.p: unknown key 'tokens'; known: asof"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_file_and_key(text, told, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Catalogue.load(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert told in str(caught.value)


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
