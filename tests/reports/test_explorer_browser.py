"""The sliders of the page of a run and of a tuning, as a reader moves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.page.page import write
from compactlab.reports.render import html
from compactlab.reports.tune.report import SCRIPTS
from compactlab.reports.tune.report import page as tuning_page
from tests.hostile import HOSTILE
from tests.reports.conftest import CUT, KEPT, SUMMED, make, store
from tests.reports.test_browser import CHROMIUM, browser, opened  # noqa: F401
from tests.reports.tune.test_report import found, tuned

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [
    pytest.mark.slow,  # a stage of .ci/run
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine"),
]

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations; whoever cuts writes much, and whoever does not reads much."""
    path = tmp_path_factory.mktemp("explorer") / "report.html"
    runs = [
        run
        for name in ("one", "two")
        for run in (
            make("keep_all()", KEPT, name),
            make("cutting()", CUT, name, cut=[2, 3]),
            make("summing()", SUMMED, name, cut=[2], side=0.0005),
            make("idle_compaction(margin=60.0)", SUMMED, name, cut=[2]),
        )
    ]
    write(store(*runs, by_price=["idle_compaction(margin=60.0)"]), path)
    return path


@pytest.fixture
def place(opened: Open, path: Path) -> Locator:  # noqa: F811
    page = opened(path)
    page.locator("details:has(.explorer) > summary").click()
    return page.locator(".explorer")


def put(place: Locator, name: str, value: int) -> None:
    slider = place.get_by_label(name)
    slider.evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def bill(place: Locator) -> dict[str, str]:
    """The cost of each strategy as it is shown, the cheapest first."""
    rows = place.locator("tbody tr:visible").all()
    return {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in rows}


def told(place: Locator) -> str:
    return place.locator(".told").inner_text()


def test_without_a_touch_it_is_the_bill_of_the_table(place):
    still = place.locator(".still tbody tr").all()
    table = {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in still}
    assert not place.locator(".still").is_visible()
    assert bill(place) == {name.strip(): cost for name, cost in table.items()} != {}
    assert told(place).endswith("The same as replayed.")


def test_prices_turn_the_order_and_that_is_told(place):
    before = [*bill(place)]
    put(place, "cache write", -20)
    put(place, "cache read", 20)
    after = bill(place)
    assert [*after] != before
    assert (
        after["idle_compaction(margin=60.0)"] == "\N{EN DASH}"
    )  # decides by prices: needs a replay
    assert [*after][-1] == "idle_compaction(margin=60.0)"
    assert place.get_by_text("needs a replay").count() == 1
    # Sonnet 4.5: reads at 10 times 0.30, writes at a tenth of 3.75 dollars a million.
    reads, writes = (sum(pair[n] for pair in KEPT) for n in (0, 1))
    cost = (reads * 3.0 + writes * 0.375 + 40 * 15) / 1e6  # of each of the two conversations
    assert float(after["keep_all"]) == pytest.approx(cost, rel=0.01)
    assert (
        "10 \N{MULTIPLICATION SIGN} the list price: 3.00 USD per million tokens"
        in place.inner_text()
    )


def test_a_shorter_lifetime_costs_more_and_is_called_approximated(place):
    before = float(bill(place)["keep_all"])
    put(place, "cache lifetime", 0)
    assert float(bill(place)["keep_all"]) > before
    assert "25 s (0.0833 \N{MULTIPLICATION SIGN}), approximated" in place.inner_text()
    put(place, "cache lifetime", 16)
    assert "never expires" in place.inner_text()
    place.get_by_role("button", name="As replayed").click()
    assert float(bill(place)["keep_all"]) == before
    assert "5 min, as replayed" in place.inner_text()


def test_a_slider_obeys_the_keyboard_and_says_where_it_is(place):
    slider = place.get_by_label("output")
    slider.focus()
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == (
        "1.1 \N{MULTIPLICATION SIGN} the list price: 16.50 USD per million tokens"
    )


def test_without_a_script_the_bill_by_class_is_there(opened: Open, path: Path) -> None:  # noqa: F811
    page = opened(path, java_script_enabled=False)
    page.locator("details:has(.explorer) > summary").click()
    heads = page.locator(".explorer thead th").all_inner_texts()
    classes = ["plain input", "cache read", "cache write", "output"]
    assert heads == ["strategy", "USD per conversation", *classes]
    assert page.locator(".explorer tbody tr").count() == 4


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (390, "light")])
def test_it_fits_a_screen(opened: Open, path: Path, width: int, scheme: str) -> None:  # noqa: F811
    page = opened(path, width, color_scheme=scheme)
    page.locator("details:has(.explorer) > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.locator(".explorer :is(label, output, td, th, p):visible").evaluate_all(
        "all => all.map((each) => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 10


def test_names_in_it_are_text(opened: Open, tmp_path: Path) -> None:  # noqa: F811
    specs = [f"{text}{number}" for number, text in enumerate(HOSTILE.values())]
    runs = [make("keep_all()"), *(make(spec, CUT, cut=[2]) for spec in specs)]
    write(store(*runs, strategies={run.strategy: run.strategy for run in runs}),
          tmp_path / "report.html")  # fmt: skip
    page = opened(tmp_path / "report.html")
    page.locator("details:has(.explorer) > summary").click()
    put(page.locator(".explorer"), "cache write", 3)
    assert page.locator(".explorer tbody tr:visible").count() == len(runs)
    assert page.locator(".explorer :is(img, a, script, iframe)").count() == 0


@pytest.fixture
def tuning(opened: Open, tmp_path: Path) -> Locator:  # noqa: F811
    path = tmp_path / "tune.html"
    path.write_text(html.write(tuning_page(found(tuned())), COLOURS, SCRIPTS), encoding="utf-8")
    return opened(path).locator(".settings")


def test_every_place_of_the_slider_is_a_replay(tuning):
    slider, output = tuning.get_by_role("slider"), tuning.locator("output")
    assert output.inner_text() == "trigger=85,000 (2 of 4 replayed)"  # the one to take
    assert "to take; cheapest with recovery" in tuning.inner_text()
    # Below 200,000 tokens Claude Code has no window to set, only a percentage.
    assert '"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "48"' in tuning.locator("pre").inner_text()
    seen = []
    slider.press("Home")
    for _ in range(6):  # beyond the last there is nothing
        seen.append(output.inner_text().partition(" (")[0])
        slider.press("ArrowRight")
    assert list(dict.fromkeys(seen)) == [
        "trigger=60,000",
        "trigger=85,000",
        "trigger=120,000",
        "its own rule",
    ]
    assert tuning.locator("rect").count() == 4


def test_a_setting_has_the_figures_of_its_row(tuning):
    tuning.get_by_role("slider").press("Home")
    row = tuning.page.locator("tr", has_text="trigger=60,000").locator("td").all_inner_texts()
    shown = tuning.locator("dd").all_inner_texts()
    assert shown[: len(row) - 1] == row[:-1]
