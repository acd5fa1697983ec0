"""Every page of the docs is on the site, once in its navigation, and its links lead somewhere."""

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import click
import pytest

from compactlab import __all__ as public
from compactlab.cli.group import cli

LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site(root: Path) -> dict[str, Any]:
    return run_path(str(root / "examples" / "site_pages.py"))


def pages(root: Path) -> set[str]:
    docs = root / "docs"
    found = [*docs.rglob("*.md"), *docs.glob("notebooks/*.py")]
    return {file.relative_to(docs).as_posix() for file in found if docs / "dev" not in file.parents}


def navigation(root: Path) -> list[str]:
    text = (root / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    return re.findall(r": (\S+\.(?:md|py))$", text, re.MULTILINE)


def test_each_page_stands_in_the_navigation_once(root, site):
    made = {*site["COPIED"].values(), site["COMMANDS"]}
    assert sorted(navigation(root)) == sorted(pages(root) | made)


def test_links_in_the_checkout_lead_to_files(root):
    for file in (*root.glob("*.md"), *(root / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", file.read_text("utf-8"), flags=re.DOTALL)
        for target in LINK.findall(text):
            place, _, anchor = target.partition("#")
            if ":" in place:
                continue
            page = file.parent / place if place else file
            assert page.exists(), f"{file.name}: {target}"
            if anchor:
                assert anchor in anchors(page), f"{file.name}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as repositories and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    members = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    return members | {
        re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads
    }


@pytest.mark.parametrize(
    ("place", "text", "shown"),
    [
        ("index.md", "[a](docs/gate.md#rules)", "[a](gate.md#rules)"),
        ("index.md", "![a](docs/picture.svg)", "![a](picture.svg)"),
        ("how-to/audit-my-bill.md", "[a](../store.md)", "[a](../store.md)"),
        ("how-to/audit-my-bill.md", "[a](../../README.md#b)", "[a](../index.md#b)"),
        ("gate.md", "[a `b`](../examples/agent_repository)", "a `b`"),
        ("gate.md", "[a](dev/design.md#b)", "a"),
        ("gate.md", "[a](#b) [c](https://example.org)", "[a](#b) [c](https://example.org)"),
        ("gate.md", "```\n[a](../x)\n```", "```\n[a](../x)\n```"),
    ],
)
def test_links_of_a_page_are_those_of_the_site(site, place, text, shown):
    assert site["relinked"](text, place) == shown


def test_the_page_of_commands_has_the_help_of_each(site):
    page = site["commands"]()
    for name in cli.list_commands(click.Context(cli)):
        assert f"## compactlab {name}\n" in page
    assert "Usage: compactlab run [OPTIONS]" in page


def test_all_that_is_public_is_in_the_reference(root):
    page = (root / "docs" / "reference" / "python.md").read_text("utf-8")
    shown = re.findall(r"^::: compactlab\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(set(public) - {"__version__"})


def test_the_results_page_is_what_is_stored(root):
    results = run_path(str(root / "examples" / "results_page.py"))
    page = (root / "docs" / "results.md").read_text("utf-8")
    for path, text in results["pages"](page).items():
        assert path.read_text("utf-8") == text, f"{path.name}: make docs"
    for edition in results["editions"]():
        raw = root / "docs" / "results" / f"{edition}.parquet"
        assert raw.stat().st_size < 1_000_000


def test_the_notebook_runs(root, monkeypatch):
    held = run_path(str(root / "docs" / "notebooks" / "ask_with_pandas.py"))
    assert len(held["frame"]) == 12
    assert held["costs"].notna().all(axis=None)
