"""A gate between two installations: other versions of libraries, the same figures or others."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import compactlab
from compactlab.reports.gate.baseline import GATED
from compactlab.sim.core import tokens
from compactlab.sim.experiment import conditions
from compactlab.sim.models import pricing

USED, UNUSED = "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-5"


class Installation:
    """What is installed, as far as figures come from it; a test changes what it wants."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, patch

    def other_versions(self) -> None:
        """Another release of the price list and of the tokenizer's library."""
        real = conditions.version
        self._patch.setattr(conditions, "price_list", lambda: "genai-prices 9.9")
        self._patch.setattr(
            conditions, "version", lambda name: "9.9" if name == "tiktoken" else real(name)
        )

    def other_price(self, name: str) -> None:
        """A price list in which the answers of a model cost twice as much."""
        real = pricing.PriceSheet._read

        def read(sheet: Any, prices: Any, tier: int) -> Any:
            rates = real(sheet, prices, tier)
            return replace(rates, output=2 * rates.output) if sheet._name == name else rates

        self._patch.setattr(pricing.PriceSheet, "_read", read)
        self.forget()

    def other_counts(self) -> None:
        """A library that counts a token more where a text has a line break."""
        real = tokens.encoding("o200k_base")
        other = tokens.Encoding(real.name, lambda text: real.encode(text) + ("\n" in text), {})
        self._patch.setitem(tokens._loaded, real.name, other)

    def forget(self) -> None:
        """Prices are read once."""
        pricing.price_sheet.cache_clear()
        pricing.prices_of.cache_clear()

    def run(self, name: str, **more: Any) -> Path:
        """Run the experiment of these tests into a store."""
        strategies = ("keep_all", "sliding_window(keep=4)")
        talk = ("coding_agent(turns=2, tokens=2000)",)
        compactlab.run(talk, strategies, out=self.folder / name, tables=[], metrics=GATED, **more)
        return self.folder / name


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    installation = Installation(tmp_path, monkeypatch)
    yield installation
    monkeypatch.undo()
    installation.forget()


@pytest.fixture
def gate(here: Installation, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run, keep the figures, change the installation, run there, and judge."""
    cli = request.getfixturevalue("compactlab")

    def judge(*changes: Callable[[], None], **more: Any) -> Any:
        file = here.folder / "baseline.json"
        assert cli("baseline", here.run("before", **more), "-o", file).code == 0
        for change in changes:
            change()
        return cli("gate", here.run("after", **more), "--baseline", file)

    return judge


def test_other_versions_with_the_same_figures_hold(here, gate):
    done = gate(here.other_versions)
    assert (done.code, done.err) == (0, "")
    assert "gate: holds: " in done.out
    told = "; compared are the figures that were used\n"
    assert "note: the price list: was 'genai-prices " in done.out
    assert f"', is 'genai-prices 9.9'{told}" in done.out
    assert f"', is 'tiktoken 9.9'{told}" in done.out


def test_a_price_that_was_used_and_has_changed_is_named(here, gate):
    done = gate(here.other_versions, lambda: here.other_price(USED))
    assert done.code == 2
    told = "other provenance: claude-sonnet-4-5: prices.output: was 15, is 30\n"
    assert told in done.out


def test_a_price_that_was_not_used_may_change(here, gate):
    assert gate(here.other_versions, lambda: here.other_price(UNUSED)).code == 0


def test_other_counts_of_tokens_are_named(here, gate):
    done = gate(here.other_versions, here.other_counts)
    assert done.code == 2
    told = "other provenance: token counts (o200k_base) of 1 conversation changed: coding_agent-0\n"
    assert told in done.out


OWN = """
[models.{name}]
window = {window}
cache = "none"
prices = {{ input = 1, output = 2 }}
"""


@pytest.mark.parametrize("used", [True, False])
def test_ones_own_model_counts_where_it_was_used(used, here, gate):
    file = here.folder / "models.toml"
    mine = OWN.format(name="mine", window=50_000)

    def write(window: int) -> None:
        other = OWN.format(name="mine" if used else "other", window=window)
        file.write_text(other if used else mine + other)

    write(60_000)
    done = gate(lambda: write(61_000), models=["mine"], models_file=file)
    assert done.code == (2 if used else 0)
    assert used == ("other provenance: mine: window: was 60000, is 61000\n" in done.out)


def test_a_baseline_of_versions_alone_is_read_as_ever(here, gate):
    """One that an earlier compactlab has written; a note says how to renew it."""

    def age() -> None:
        file = here.folder / "baseline.json"
        kept = json.loads(file.read_text())
        del kept["models"]
        for each in kept["conversations"]:
            del each["counts"]
        file.write_text(json.dumps(kept))

    note = "note: the baseline holds versions and not the figures that were used"
    done = gate(age)
    assert done.code == 0
    assert note in done.out
    done = gate(age, here.other_versions)
    assert done.code == 2
    assert "other provenance: the price list: was 'genai-prices " in done.out
    assert note in done.out
