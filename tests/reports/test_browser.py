"""The page in a browser: it opens without a sound, and does what a reader asks of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from compactlab.reports.page.page import write
from compactlab.scenarios.readers import native
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.cli.conftest import called
from tests.hostile import HOSTILE, conversation
from tests.reports.conftest import CUT, KEPT, SUMMED, make, store
from tests.reports.test_views import held

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--renderer-process-limit=1",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine")

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests: it takes longer to start than any of them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        yield browser
        browser.close()


def session() -> Results:
    """Twenty conversations of three sizes under six strategies; some runs compact."""
    runs: list[Run] = []
    for number in range(20):
        name = f"talk-{number:02}"
        grown = [(read, written + 10 * number) for read, written in KEPT]
        runs += [
            make("keep_all()", grown, name),
            make("keep_none()", CUT, name, cut=[1, 2, 3], need=0.3),
            make("sliding_window(keep=20)", CUT, name, cut=[2, 3], need=0.6),
            make("auto_compact(reserve_tokens=1)", SUMMED, name, cut=[2], side=0.0005, need=0.9),
            make("no_needs()", SUMMED, name, cut=[2], need=None),
            make("recency_buffer()", [(0, 200), (200, 90)], name, cut=[1], need=0.8),
        ]
    seen = [run for run in runs if run.conversation in ("talk-18", "talk-19")]
    for run in seen:
        if run.strategy in ("keep_none()", "sliding_window(keep=20)"):
            viewed = held(make, run.strategy, run.conversation, 3, 2, 1).rows
            run.rows |= {name: viewed[name] for name in ("views", "messages")}
    return store(*runs)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(session(), path)
    return path


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open a page, and see at the end that it said, fetched and asked nothing."""
    heard: list[str] = []
    contexts = []

    def open_it(path: Path, width: int = 1280, **how: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        page.on("request", lambda request: heard.append(request.url))
        page.goto(path.as_uri())
        assert heard == [path.as_uri()]
        heard.clear()
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert heard == []


OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture
def page(opened: Open, path: Path) -> Page:
    """A page of which all parts are open."""
    page = opened(path)
    page.get_by_role("button", name="Open all parts").click()
    page.wait_for_selector(".conversation .controls")
    return page


def rows(page: Page, table: str) -> list[str]:
    """The names in the first column of a table, from top to bottom."""
    found: list[str] = page.eval_on_selector_all(
        f"{table} tbody th", "found => found.map((each) => each.dataset.name)"
    )
    return found


MAIN = "#part-1-strategies .wide table"
SORTED = "(head) => head.closest('th').getAttribute('aria-sort')"


def test_tables_are_sorted_by_a_click_the_best_first_and_then_the_worst(page):
    before = rows(page, MAIN)
    head = page.locator(f"{MAIN} thead button", has_text="recall")
    head.click()
    assert head.evaluate(SORTED) == "descending"
    names = rows(page, MAIN)
    assert names[0] == "keep_all"
    assert names[-1] == "no_needs"  # what has no figure is last, whichever way
    head.click()
    assert head.evaluate(SORTED) == "ascending"
    assert rows(page, MAIN) == [*reversed(names[:-1]), "no_needs"]
    page.locator(f"{MAIN} thead button", has_text="cost").first.click()
    # As they stood, but for bounds, which stood behind the strategies.
    bounds = ("keep_all", "keep_none")
    again = rows(page, MAIN)
    assert sorted(again) == sorted(before)
    assert [name for name in again if name not in bounds] == before[: -len(bounds)]
    assert page.locator(f"{MAIN} [aria-sort]").count() == 1


def test_tables_are_sorted_with_the_keyboard(page):
    button = page.locator(f"{MAIN} thead button").first
    button.focus()
    page.keyboard.press("Enter")
    assert rows(page, MAIN) == sorted(rows(page, MAIN))
    page.keyboard.press("Space")
    assert rows(page, MAIN) == sorted(rows(page, MAIN), reverse=True)


def test_another_conversation_has_other_panels_and_figures(page):
    place = page.locator(".conversation")
    first = place.locator(".chosen").last.inner_text()
    assert first.startswith("talk-19")
    area = place.locator(".panel .area").first.get_attribute("d")
    figures = place.locator("table:visible td").all_inner_texts()
    place.locator("select").select_option(label="talk-03 (claude-code)")
    assert place.locator(".chosen").last.inner_text().startswith("talk-03")
    assert place.locator(".panel .area").first.get_attribute("d") != area
    assert place.locator("table:visible td").all_inner_texts() != figures
    place.get_by_role("button", name="Next").click()
    assert place.locator(".chosen").last.inner_text().startswith("talk-02")
    place.get_by_role("button", name="Previous").click()
    assert place.locator("select").input_value() == "16"


def test_a_conversation_is_found_by_a_part_of_its_name(page):
    place = page.locator(".conversation")
    place.locator("input[type=search]").fill("k-07")
    assert place.locator("select option").all_inner_texts() == ["talk-07 (claude-code)"]
    assert place.locator(".chosen").last.inner_text().startswith("talk-07")


def test_strategies_can_be_left_out(page):
    place = page.locator(".conversation")
    assert place.locator(".panel").count() == 6
    place.locator("summary").click()
    place.get_by_role("checkbox", name="keep_none").uncheck()
    assert place.locator(".panel").count() == 5
    assert place.locator(".line").count() == 5
    assert "keep_none" not in place.locator(".panel .name").all_inner_texts()
    place.get_by_role("button", name="None", exact=True).click()
    assert place.locator(".panel").count() == 0
    place.get_by_role("button", name="All", exact=True).click()
    assert place.locator(".panel").count() == 6


def test_the_order_of_a_table_stays_when_something_else_is_chosen(page):
    place = page.locator(".conversation")
    table = ".conversation > :last-child table"
    head = place.locator("thead button:visible", has_text="recall")
    head.click()
    head.click()
    before = rows(page, table)
    assert before[0] == "keep_none"
    place.get_by_role("button", name="None", exact=True).click()
    assert rows(page, table) == before
    place.get_by_role("button", name="Next").click()
    assert rows(page, table) == before
    assert place.locator("[aria-sort]:visible").get_attribute("aria-sort") == "ascending"


def test_a_name_that_nothing_has_is_answered(page):
    place = page.locator(".conversation")
    place.locator("input[type=search]").fill("nobody")
    assert place.locator("select option").all_inner_texts() == ["no match"]
    place.locator("input[type=search]").fill("")
    assert place.locator("select option").count() == 20
    assert place.locator("select option:checked").inner_text() == "talk-19 (claude-code)"


def test_who_never_compacted_is_told_of_the_chosen_conversation(page):
    idle = page.locator("[data-idle]")
    assert idle.inner_text().startswith("Never compacted talk-19 (claude-code): ")
    for name, visible in (("talk-18", False), ("talk-19", True)):
        page.locator(".conversation select").select_option(label=f"{name} (claude-code)")
        assert idle.is_visible() == visible


def test_compactions_are_those_of_the_chosen_conversation(page):
    place = page.locator("#part-1 .compactions")
    for name, count in (("talk-18", 2), ("talk-19", 2), ("talk-03", 0), ("talk-18", 2)):
        page.locator(".conversation select").select_option(label=f"{name} (claude-code)")
        own = place.locator("optgroup[label='This conversation'] option").all_inner_texts()
        assert len(own) == count
        assert all(f"on {name} " in each for each in own)
        assert place.locator(".none").is_visible() == (count == 0)
        assert place.locator("option").count() == 4
        assert place.locator(".view:visible").count() == 1


def test_one_compaction_is_open_at_a_time_and_each_has_an_address(page):
    place = page.locator("#part-1 .compactions")
    seen = []
    for _ in range(4):
        assert place.locator("details[open]").count() == place.locator(".view:visible").count() == 1
        seen.append(place.locator(".view:visible").get_attribute("id"))
        place.get_by_role("button", name="Next").click()
    assert sorted(seen) == [f"part-1-compaction-{n}" for n in (1, 2, 3, 4)]
    place.locator("select").select_option(index=2)
    assert place.locator(".view:visible").get_attribute("id") == seen[2]
    page.evaluate("location.hash = '#part-1-compaction-2'")
    place.locator("#part-1-compaction-2[open]").wait_for()
    assert place.locator(".view:visible").get_attribute("id") == "part-1-compaction-2"


def test_a_panel_tells_the_call_that_is_pointed_at(page):
    panel = page.locator(".panel").first
    caption = panel.locator(".caption")
    whole = caption.inner_text()
    panel.locator("svg").hover()
    assert "prompt tokens" in caption.inner_text()
    assert "prompt tokens" in page.locator(".panel .caption").nth(1).inner_text()
    page.mouse.move(0, 0)
    assert caption.inner_text() == whole
    panel.focus()
    assert caption.inner_text().startswith("call 2: 290 prompt tokens, 90 missed the cache; 0.00")
    page.keyboard.press("ArrowLeft")
    assert caption.inner_text().startswith("call 1: 200 prompt tokens, 200 missed the cache; ")


@pytest.mark.parametrize("system", ["dark", "light"])
def test_colours_follow_the_system_and_the_switch(opened, path, system):
    page = opened(path, color_scheme=system)
    colour = "() => getComputedStyle(document.body).backgroundColor"
    shades = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    assert page.evaluate(colour) == shades.pop(system)
    page.locator(".theme").click()
    assert page.evaluate(colour) == shades.popitem()[1]
    assert page.locator(".theme").inner_text() == f"{system} colours".capitalize()


@pytest.mark.parametrize("width", [1280, 800])
def test_nothing_overlaps_or_is_cut_off(opened, path, width):
    page = opened(path, width)
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(COLLISIONS) == []


@pytest.mark.parametrize(("media", "width"), [("print", 1038), ("print", 720), ("screen", 390)])
def test_with_all_details_open_nothing_is_wider_than_the_paper(opened, path, media, width):
    page = opened(path, width)
    page.emulate_media(media=media)  # type: ignore[arg-type]
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# Texts of a drawing that lie on each other or outside of it; a pixel is let.
COLLISIONS = """() => {
  const found = [];
  for (const drawing of document.querySelectorAll("figure svg")) {
    const frame = drawing.getBoundingClientRect();
    if (!frame.width) continue;
    const texts = [...drawing.querySelectorAll("text")]
      .map((each) => [each.textContent, each.getBoundingClientRect()])
      .filter(([words, box]) => words.trim() && box.width);
    texts.forEach(([words, a], n) => {
      const out = a.left < frame.left - 1 || a.right > frame.right + 1
        || a.top < frame.top - 1 || a.bottom > frame.bottom + 1;
      if (out) found.push(`outside: ${words}`);
      for (const [other, b] of texts.slice(n + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 3) found.push(`${words} on ${other}`);
      }
    });
  }
  return found;
}"""


def test_a_long_name_does_not_widen_a_small_screen(opened, tmp_path):
    runs = [make("keep_all()", conversation=f"{'very-' * 12}long-{n}") for n in range(14)]
    write(store(*runs), tmp_path / "report.html")
    page = opened(tmp_path / "report.html", 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages on a session in which messages and tools have names of 10,000 characters."""
    folder: Path = tmp_path_factory.mktemp("long") / "sessions"
    folder.mkdir()
    native.write(conversation("n" * 10_000, 1), folder / "talk.jsonl")
    names = ("--strategies", "keep_all", "--strategies", "sliding_window(keep=4)")
    for command in (
        ("audit", folder, "--html", folder / "audit.html"),
        (
            "run",
            "--conversations",
            folder / "talk.jsonl",
            *names,
            "--jobs",
            1,
            "--out",
            folder / "out",
        ),
    ):
        assert called(*command).code == 0
    return folder


@pytest.mark.parametrize("page", ["audit.html", "out/report.html"])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_10_000_characters_widen_no_page(opened, long_names, page, width):
    shown = opened(long_names / page, width)
    shown.evaluate(OPEN)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_every_name_has_its_colour_beside_it(page):
    page.emulate_media(media="print")
    outside = """found => found.filter((each) => {
      const [a, b] = [each.getBoundingClientRect(), each.closest("th").getBoundingClientRect()];
      const across = a.left >= b.left && a.right <= b.right;
      const inside = across && a.top >= b.top && a.bottom <= b.bottom;
      return a.width && !(inside && getComputedStyle(each).printColorAdjust === "exact");
    }).length"""
    assert page.eval_on_selector_all("th .swatch", "found => found.length") > 20
    assert page.eval_on_selector_all("th .swatch", outside) == 0


def test_a_head_on_paper_can_stand_on_every_sheet(page):
    """Chromium repeats no head that holds a box of a button."""
    page.emulate_media(media="print")
    display = "found => [...new Set(found.map((each) => getComputedStyle(each).display))]"
    assert page.eval_on_selector_all(".sort", display) == ["contents"]
    assert page.locator(f"{MAIN} thead").inner_text().startswith("strategy")


def test_it_goes_on_paper_with_its_charts(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not any(each.is_visible() for each in page.locator(".controls").all())
    assert page.locator(".panel svg").first.is_visible()
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 3
    assert b"/Subtype /Image" not in printed  # lines stay lines, so the file stays small


def test_without_a_script_the_largest_conversation_is_there(opened, path):
    page = opened(path, java_script_enabled=False)
    page.locator("summary", has_text="One conversation, call by call").click()
    still = page.locator(".conversation .still")
    assert still.locator(".chosen").inner_text().startswith("talk-19")
    assert still.locator("svg").first.is_visible()
    assert still.locator("tbody tr").count() == 6
    assert page.locator("button").count() == 0


def test_a_name_is_text_and_nothing_else(opened, tmp_path):
    runs = [
        made
        for number, text in enumerate(HOSTILE.values())
        for made in (
            make("keep_all()", conversation=text),
            make(f"{text}{number}", SUMMED, text, cut=[2], need=0.5),
        )
    ]
    runs += [make("keep_all()", conversation=name, model="another") for name in ("one", "two")]
    labels = {run.strategy: run.strategy for run in runs}
    write(store(*runs, strategies=labels), tmp_path / "report.html")
    page = opened(tmp_path / "report.html")
    page.get_by_role("button", name="Open all parts").click()
    page.locator(".conversation .controls").nth(1).wait_for()
    place, other = page.locator(".conversation").all()
    place.get_by_role("button", name="All", exact=True).click()
    for number in range(place.locator("select option").count()):
        place.locator("select").select_option(value=str(number))
    assert other.locator(".chosen").last.inner_text().startswith("one")  # has its own choice
    page.mouse.move(300, 300)
    made = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))]"
    )
    assert not {"img", "iframe", "form", "object"} & set(made)
    assert page.locator("script:not([type='application/json'])").count() == 1
    assert page.locator("[onload], [onerror], [onmouseover], [onfocus]").count() == 0
    assert page.locator("a:not([href^='#'])").count() == 0


CLIP = ("clipboard-read", "clipboard-write")
PASTED = "navigator.clipboard.readText()"


def test_a_chart_is_copied_as_svg_and_its_figures_as_csv(opened, path):
    page = opened(path, color_scheme="dark", permissions=CLIP)
    page.get_by_role("button", name="Open all parts").click()
    chart = page.locator("#part-1-classes")
    assert chart.locator("a.link").get_attribute("href") == "#part-1-classes"
    chart.get_by_role("button", name="Copy SVG").click()
    chart.get_by_role("button", name="Copied").wait_for()
    drawn = ElementTree.fromstring(page.evaluate(PASTED))
    assert "keep_none" in "".join(drawn.itertext())
    text = ElementTree.tostring(drawn, encoding="unicode")
    assert "var(" not in text  # colours are what they stand for, on white paper
    assert 'class="' not in text
    assert 'fill="white"' in text
    chart.get_by_role("button", name="Copy CSV").click()
    assert page.evaluate(PASTED).startswith("strategy,")
    panels = page.locator("figure", has=page.locator(".panels"))
    panels.get_by_role("button", name="Copy CSV").click()
    head, *lines = page.evaluate(PASTED).split("\n")
    heads = 'strategy,first call,last call,"largest prompt, tokens","largest cache miss, tokens"'
    assert head == heads
    assert "recency_buffer,1,1,200,200" in lines
    panels.get_by_role("button", name="Copy SVG").click()
    panels.get_by_role("button", name="Copied").wait_for()
    grid = ElementTree.fromstring(page.evaluate(PASTED))
    assert len(grid.findall("{*}svg")) == page.locator(".panel").count()


def test_without_a_clipboard_a_copy_is_shown_to_be_taken(opened, path):
    page = opened(path)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    chart = page.locator(".front figure")
    chart.get_by_role("button", name="Copy CSV").click()
    chart.locator("textarea").wait_for()
    assert chart.locator("textarea").input_value().startswith("strategy,drawn as,")


@pytest.mark.parametrize("touch", [False, True])
def test_a_head_says_what_it_means_to_keys_and_to_a_touch(opened, path, *, touch):
    page = opened(path, has_touch=touch)
    page.locator("#part-1-strategies").evaluate("(part) => { part.parentNode.open = true; }")
    head = page.locator(f"{MAIN} thead button", has_text="cost").first
    if touch:
        head.tap()
    else:
        head.focus()
    bubble = page.locator(".bubble")
    bubble.wait_for()
    assert "Cost of all requests" in bubble.inner_text()
    assert "cost_usd in CSV and JSON" in bubble.inner_text()
    page.keyboard.press("Escape")
    assert bubble.is_hidden()


def test_on_a_phone_no_column_is_empty_and_no_button_lies_on_the_title(opened, path):
    page = opened(path, 390)
    page.get_by_role("button", name="Open all parts").click()
    cells = page.locator(".view:visible .sides td:visible")
    boxes = [each.bounding_box() for each in cells.all()]
    assert boxes
    assert all(box and box["width"] > 300 for box in boxes)  # each as wide as the screen
    title = page.locator("h1").bounding_box()
    for button in page.locator(".theme, .all").all():
        box = button.bounding_box()
        assert title
        assert box
        assert box["y"] + box["height"] <= title["y"]


def test_a_page_of_nineteen_strategies_opened_entirely_is_fifteen_thousand_pixels_high(
    opened, tmp_path
):
    """As many as the default, over one conversation; the built-in one is measured by hand."""
    runs = [make("keep_all()", KEPT)]
    for n in range(19):
        run = held(make, f"a_strategy_{n}()", "one", 3, 2, 1)
        run.metrics |= {"amnesia_goal": 0.2, "forward_need": 0.5, "cost_with_recovery_usd": 1.0 + n}
        runs.append(run)
    write(store(*runs), tmp_path / "report.html")
    page = opened(tmp_path / "report.html")
    page.get_by_role("button", name="Open all parts").click()
    page.wait_for_selector(".conversation .controls")
    assert page.evaluate("document.documentElement.scrollHeight") <= 15_000
    assert page.locator(".view:visible").count() == 1
