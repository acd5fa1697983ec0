"""The page of thirty strategies over a hundred conversations: made in 20 s, open in 2 s."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compactlab.reports.page.page import page
from tests.reports.test_browser import CHROMIUM, QUIETLY
from tests.reports.test_page import large

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(large()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    if not shutil.which(CHROMIUM):
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        yield browser
        browser.close()


def test_a_page_is_made(benchmark: Any) -> None:
    results = large()
    started = time.process_time()
    text = benchmark.pedantic(page, args=(results,), rounds=1)
    spent = time.process_time() - started
    benchmark.extra_info["megabytes"] = len(text.encode()) / 1e6
    benchmark.extra_info["cpu_seconds"] = spent
    assert spent < 20


def test_a_page_opens(benchmark: Any, browser: Browser, written: Path) -> None:
    tab = browser.new_page()

    def opened() -> float:
        tab.goto(written.as_uri())
        ended: float = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        return ended

    milliseconds = benchmark.pedantic(opened, rounds=3)
    benchmark.extra_info["load_milliseconds"] = milliseconds
    assert milliseconds < 2_000
