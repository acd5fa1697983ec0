"""What runs have used together, in whichever order it was found."""

import hypothesis.strategies as st
from hypothesis import given

import compactlab
from compactlab.sim.store.figures_used import united

NAMES = st.sampled_from("abc")
USED = st.dictionaries(
    st.sampled_from(["conditions", "counts", "models"]),
    st.dictionaries(NAMES, st.dictionaries(NAMES, st.lists(NAMES, unique=True).map(sorted))),
)


@given(one=USED, two=USED, three=USED)
def test_order_pieces_and_repetition_change_nothing(one, two, three):
    whole = united([one, two, three])
    assert united([united([three, one]), two, one]) == whole
    assert str(united([three, two, one])) == str(whole)  # its order, too


TIERED = """
[models.tiered]
window = 50_000
cache = "none"
multipliers = { batch = 0.5 }
prices = { input = 1, output = 2, tiers = [{ above = 1_000, input = 3, output = 4 }] }

[models.mine]
window = 50_000
cache = "none"
servers = { preset = "8b", dollars = 2.5 }
"""


def test_prices_are_those_of_the_sizes_that_were_used(tmp_path):
    (tmp_path / "models.toml").write_text(TIERED)
    results = compactlab.run(
        ["coding_agent(turns=2, tokens=2000)"],
        ["sliding_window(keep=1)"],
        ["tiered+batch", "mine"],
        models_file=tmp_path / "models.toml",
        window=9_000,
        metrics=["calls"],
        tables=[],
    )
    models = results.manifest["used"]["models"]
    tiered = models["tiered+batch"]
    assert tiered["window"] == ["9000"]
    prices = {name: value for name, value in tiered.items() if name.endswith(("put", " 1000"))}
    assert prices.items() >= {"prices.input above 1000": ["1.5"]}.items()
    assert prices.items() >= {"prices.output above 1000": ["2"]}.items()
    assert models["mine"]["servers.dollars"] == ["2.5"]
    assert models["mine"]["charged"] == ["by time"]
    assert not any(name.startswith("prices.") for name in models["mine"])
