"""The page: whole for any store, the same bytes every time, and nothing in it from elsewhere."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from compactlab.reports.page.page import page, write
from compactlab.reports.provenance import command
from compactlab.sim.metrics import METRICS
from compactlab.sim.results import Results
from compactlab.sim.run import Run

Make = Callable[..., Run]
Store = Callable[..., Results]


@pytest.fixture(scope="module")
def cache() -> dict[str, str]:
    return {}


@pytest.fixture
def shown(small: Results, cache: dict[str, str]) -> str:
    if "page" not in cache:
        cache["page"] = page(small)
    return cache["page"]


def test_it_refers_to_nothing_outside_itself(shown: str) -> None:
    assert "://" not in shown
    assert "<script" not in shown
    assert "@import" not in shown
    assert re.findall(r'(?:href|src)="[^#]', shown) == []
    assert "default-src 'none'" in shown


def test_it_says_what_was_compared_and_with_what(shown: str) -> None:
    head = shown[: shown.index("<nav")]
    for word in ("7 strategies", "claude-code 3", "claude-sonnet-4-5", "narrowed to 2,000 tokens",
                 "compactlab 0.1.0", "genai-prices 0.2.3", "not a model"):  # fmt: skip
        assert word in head


def test_every_figure_is_explained(shown: str) -> None:
    meaning = shown[shown.index('id="meaning"') :]
    for name in METRICS:
        assert f"<code>{name}</code>" in meaning


def test_every_chart_has_its_units(shown: str) -> None:
    for words in ("USD (less is better)", "needs met, %", "fresh tokens, all", "call number"):
        assert words in shown


def test_failed_runs_are_named_with_their_errors(shown: str) -> None:
    failed = shown[shown.index('id="failed"') :]
    assert "no turns (turn_slice.py:33 in compact)" in failed
    assert "four.jsonl:3: not JSON" in failed


def test_it_says_how_to_do_it_again(shown: str) -> None:
    command = re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    assert command is not None
    assert "--conversations FOLDER_OF_RECORDINGS" in command[1]
    assert "--strategies &#39;turn_slice(turns=10)&#39;" in command[1]
    assert "--window 2000" in command[1]


def test_the_command_gives_a_shell_the_very_specs(make: Make, store: Store) -> None:
    specs = ["keep_all()", "auto_compact(rides='fresh')", """odd(a='"', b="$x")""", "x('`y`')"]
    runs = [make(spec) for spec in specs]
    told = command(store(*runs, models=["a b"], sources=["made(n=1)-0", "r"], seeds=[0, 1]))
    words = shlex.split(told)
    assert [words[n + 1] for n, word in enumerate(words) if word == "--strategies"] == specs
    conversations = [words[n + 1] for n, word in enumerate(words) if word == "--conversations"]
    assert conversations == ["made(n=1)", "FOLDER_OF_RECORDINGS"]
    assert words[-2:] == ["--seeds", "2"]
    assert "\"auto_compact(rides='fresh')\"" in told


def test_every_strategy_has_one_colour(shown: str) -> None:
    swatches = re.findall(r'background-color: var\(--(\w+)\)"></span>(sliding_window)', shown)
    assert len(set(swatches)) == 1


def test_both_themes_have_all_colours(shown: str) -> None:
    style = shown[shown.index("<style>") : shown.index("</style>")]
    assert style.count("--vermillion:") == 3  # light, dark, print
    assert not re.search(r"#[0-9a-f]{6}", shown[shown.index("</style>") :])


def test_without_runs_it_says_so() -> None:
    assert "No runs: there is nothing to compare." in page(Results([]))


def test_when_all_failed_it_names_them(fail: Make, store: Store) -> None:
    text = page(store(fail("keep_all()"), fail("turn_slice()", "two")))
    assert "There is nothing to compare" in text
    assert "ValueError: no" in text
    assert "<svg" not in text


def test_one_run_makes_a_page(make: Make, store: Store) -> None:
    assert page(store(make("keep_all()"))).count("<svg") == 3


def test_several_models_have_a_section_each(make: Make, store: Store) -> None:
    models = ("claude-sonnet-4-5", "claude-opus-4-5")
    text = page(store(*(make("keep_all()", model=model) for model in models)))
    assert 'id="part-2"' in text
    assert "Comparison 2" in text


def test_the_smaller_conversations_have_figures_only(make: Make, store: Store) -> None:
    runs = [make("keep_all()", [(0, 100 + n)], f"c{n}") for n in range(9)]
    text = page(store(*runs))
    assert "Shown are the 6 largest; 3 more have figures only, below." in text
    assert text.index("<h3>c8") < text.index("<h3>c7")
    assert "<summary>c0" in text


def test_a_run_without_calls_or_figures_makes_a_page(store: Store) -> None:
    bare = Run("one", "native", "keep_all()", "m", 0, 0)
    assert "<svg" not in page(store(bare))


def test_it_replaces_a_file_as_a_whole_with_the_same_bytes(
    small: Results, shown: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write(small, path)
    assert path.read_text("utf-8") == shown
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_a_large_store_stays_small(make: Make, store: Store) -> None:
    prompts = [(0, 1_000), *((1_000 + n, 900 + n % 7) for n in range(500))]
    specs = [f"s{n}()" for n in range(11)]
    runs = [make(spec, prompts, f"c{n}", cut=[5, 9]) for n in range(9) for spec in specs]
    assert len(page(store(*runs))) < 5_000_000
