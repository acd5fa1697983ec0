"""What a reader of a page sees first: in one screen, legible, and light in colours and bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compactlab.reports.page.page import write
from compactlab.sim.store.results import Results
from tests.reports.conftest import make, store
from tests.reports.test_browser import CHROMIUM, COLLISIONS, OPEN, Open, browser, opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [
    pytest.mark.slow,  # a stage of .ci/run
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine"),
]
__all__ = ["browser", "opened"]


def crowd() -> Results:
    """Forty strategies, most of them close together, and a few far away, over ten talks."""
    runs = []
    for talk in range(10):
        name, base = f"talk-{talk}", 300 + 10 * talk
        runs += [
            make("keep_all()", [(0, 4 * base)] * 30, name),
            make("keep_none()", [(0, base // 3)] * 30, name, cut=range(1, 30), need=0.05),
            make("random_keep()", [(0, base)] * 30, name, cut=range(1, 30), need=0.4),
        ]
        runs += [
            make(
                f"strategy_{n}()",
                [(base + 20 * n, 60 + 7 * n % 90)] * 30,
                name,
                cut=[5, 20],
                need=0.7 + 0.3 * ((n * 7) % 37) / 37,
                side=0.004 * (n % 6),
                junk=0.5,
            )
            for n in range(36)
        ]
        runs += [make("far()", [(0, 1_900)] * 30, name, cut=range(1, 30, 2), need=0.99)]
    results = store(*runs, own_strategies=["strategy_5()"])
    for run in results.runs:
        run.title = f"Please mend the parser of part {run.conversation[-1]} & its tests"
    return results


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("crowd") / "report.html"
    write(crowd(), path)
    return path


@pytest.fixture
def page(opened: Open, path: Path) -> Page:
    return opened(path)


def test_the_first_screen_holds_verdict_table_and_chart(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in (".headlines", ".certainty", ".front table", ".front figure > svg"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 800
    assert 3 <= page.locator(".front tbody tr").count() <= 8
    names = page.locator(".front tbody th").all_inner_texts()
    assert not any(name.startswith(("keep_all", "keep_none")) for name in names)
    assert "keep_all" in page.locator(".front").inner_text().partition("Bounds:")[2]


def test_all_else_is_closed_and_the_last_part_is_provenance(page):
    titles = page.locator("details.part > summary strong").all_inner_texts()
    assert titles[0] == "All 37 strategies"
    assert titles[-1] == "Provenance"
    assert page.locator("details[open]").count() == 0
    page.locator("summary", has_text="All 37 strategies").click()
    assert page.locator("#part-1-strategies tbody tr").count() == 40


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_short_and_light_before_anything_is_opened(opened, path, width):
    assert path.stat().st_size < 1_000_000
    page = opened(path, width)
    assert page.evaluate("document.documentElement.scrollHeight") < 5_000
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_of_a_chart_lies_on_another_and_none_is_small(opened, path, width):
    page = opened(path, width)
    page.evaluate(OPEN)
    page.wait_for_selector(".conversation .controls")
    assert page.evaluate(COLLISIONS) == []
    assert page.evaluate(SMALL) == []


# Texts of drawings of fewer than ten pixels; a hundredth is let.
SMALL = """() => [...document.querySelectorAll("svg text")].flatMap((text) => {
  const box = text.getBoundingClientRect();
  if (!box.width || !text.textContent.trim()) return [];
  const size = parseFloat(getComputedStyle(text).fontSize);
  const scale = text.getScreenCTM();
  const pixels = size * Math.hypot(scale.a, scale.b);
  return pixels < 9.99 ? [`${text.textContent}: ${pixels}`] : [];
})"""

# Of the main chart: lines to names that cross a text, and dots that another name is nearer to.
ASTRAY = """() => {
  const found = [];
  const drawing = [...document.querySelectorAll("figure.pareto svg")].find(
    (each) => each.getBoundingClientRect().width);
  const box = (each) => each.getBoundingClientRect();
  const boxes = (name) => [...drawing.querySelectorAll(name)].map(box);
  const [names, dots] = [boxes("g.name"), boxes("g.dot")];
  const leads = [...drawing.querySelectorAll("g.lead path")].map((path) => {
    const there = (at) => path.getPointAtLength(at).matrixTransform(path.getScreenCTM());
    const length = path.getTotalLength();
    return Array.from({ length: 60 }, (_, n) => there((length * n) / 59)).reverse(); // from its dot
  });
  const texts = boxes("text");
  for (const lead of leads) {
    for (const { x, y } of lead) {
      const within = (t) => x > t.left + 1 && x < t.right - 1 && y > t.top + 2 && y < t.bottom - 2;
      const on = texts.some(within);
      if (on) { found.push("a line through a text"); break; }
    }
  }
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const far = (box, [x, y]) => Math.hypot(
    Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const led = new Set(leads.map((lead) => {
    const from = ([x, y]) => Math.hypot(lead[0].x - x, lead[0].y - y);
    const nearest = dots.map((dot, n) => [from(middle(dot)), n]);
    return nearest.sort((a, b) => a[0] - b[0])[0][1];
  }));
  let direct = 0;
  for (const name of names) {
    // A name that no line leads to is next to its dot, and to no other one.
    const end = leads.some((lead) => far(name, [lead.at(-1).x, lead.at(-1).y]) < 6);
    if (end) continue;
    direct += 1;
    const order = dots.map((dot, n) => [far(name, middle(dot)), n]).sort((a, b) => a[0] - b[0]);
    if (order[0][0] > 16) found.push("a name without a dot");
    if (names.some((other) => other !== name
      && far(other, middle(dots[order[0][1]])) < order[0][0] && !led.has(order[0][1]))) {
      found.push("another name is nearer");
    }
  }
  return [found, names.length, direct];
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_the_main_chart_are_taken_for_those_of_their_dots(opened, path, width):
    found, names, direct = opened(path, width).evaluate(ASTRAY)
    assert found == []
    assert names >= 3
    assert direct >= 1


def test_a_mark_tells_its_name_and_figures_to_the_pointer_and_to_keys(page):
    bubble = page.locator(".bubble")
    assert not bubble.is_visible()
    page.locator(".front figure > svg .tip").nth(7).hover(force=True)
    told = bubble.inner_text()
    assert "USD" in told
    assert "recall: " in told
    page.mouse.move(2, 2)
    assert not bubble.is_visible()
    page.locator(".front figure > svg").focus()
    page.keyboard.press("ArrowRight")
    first = bubble.inner_text()
    page.keyboard.press("ArrowRight")
    assert bubble.inner_text() != first
    page.keyboard.press("Escape")
    assert not bubble.is_visible()


def test_every_chart_tells_something_to_the_pointer(page):
    page.evaluate(OPEN)
    silent = """found => found.filter((each) => !each.querySelector(".tip"))
      .map((each) => each.getAttribute("aria-label"))"""
    assert page.eval_on_selector_all("figure > svg[aria-label]:not(.bill)", silent) == []
    assert page.locator("figure > svg .tip").count() > 100


def test_a_conversation_is_named_by_its_first_prompt_and_its_id_is_a_detail(page):
    page.locator("summary", has_text="One conversation").click()
    place = page.locator(".conversation")
    chosen = place.locator(".chosen").last
    title = "Please mend the parser of part 0 & its tests"
    assert chosen.locator("strong").inner_text() == title
    assert "talk-0 (claude-code)" in chosen.inner_text()
    assert place.locator("option").count() == 10


# Words whose contrast with what is behind them is too low.
FAINT = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = new Set();
  const chosen = "h1, h2, h3, h4, p, li, td, th, dt, dd, summary, figcaption, button, label, "
    + "figure > svg text";
  for (const element of document.querySelectorAll(chosen)) {
    if (!element.getBoundingClientRect().width || !element.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const colour = element.localName === "text" ? style.fill : style.color;
    const [a, b] = [light(colour), light(behind(element.closest("svg")?.parentElement ?? element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const words = element.textContent.slice(0, 30);
    if (ratio < 4.5) found.add(`${element.localName} ${words}: ${ratio}`);
  }
  return [...found];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(opened, path, scheme):
    page = opened(path, color_scheme=scheme)
    page.evaluate(OPEN)
    assert page.evaluate(FAINT) == []


def test_on_paper_no_head_stands_alone_and_nothing_is_torn(page):
    page.emulate_media(media="print")
    page.evaluate(OPEN)
    rule = "(found, name) => [...new Set(found.map((each) => getComputedStyle(each)[name]))]"
    heads = "h2, h3, h4, details.part > summary"
    assert page.eval_on_selector_all(heads, rule, "breakAfter") == ["avoid"]
    whole = "figure:not(:has(.panels)), .figures tbody tr, .verdict p"
    assert page.eval_on_selector_all(whole, rule, "breakInside") == ["avoid"]
    assert page.eval_on_selector_all("thead", rule, "display") == ["table-header-group"]


def test_on_paper_what_is_closed_is_left_out(page):
    short = page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n")
    assert short <= 2
    page.evaluate(OPEN)
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") > 10
