"""``compactlab compare`` pairs what can be paired, and refuses the rest with a reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import TINY, Outcome

Call = Callable[..., Outcome]


@pytest.fixture
def store(tmp_path: Path, compactlab: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One conversation under two strategies."""
    monkeypatch.chdir(tmp_path)
    strategies = ("--strategies", "keep_all", "--strategies", "sliding_window(keep=5)")
    done = compactlab(
        "run", "--conversations", TINY, *strategies, "--jobs", 1, "--loop", "open", "--out", "one"
    )
    assert done.code == 0
    return tmp_path / "one"


def test_strategies_inside_a_store_and_stores_are_compared(store, compactlab):
    done = compactlab("compare", "one", "keep_all", "sliding_window")
    assert done.code == 0
    assert "sliding_window(keep=5) costs " in done.out
    said = compactlab("compare", "one", "keep_all", "sliding*", "--format", "json").out
    (match,) = json.loads(said)["matches"]
    assert match["reference"] == "keep_all()"
    assert {each["metric"] for each in match["contrasts"]} >= {"cost_usd", "calls"}
    done = compactlab("compare", "one", "one")
    assert done.code == 0
    assert "keep_all in one (2)" in done.out
    assert done.out.count("the same in every conversation") >= 2
    assert "determined" not in done.out


def test_what_cannot_be_compared_is_said(store, compactlab):
    other = store.parent / "folder" / "one"
    shutil.copytree(store, other)
    manifest = json.loads((other / "manifest.json").read_text("utf-8"))
    # Without the digest: by it, a change would be taken for damage.
    changed = {**manifest, "prices": "others 2", "digest": ""}
    (other / "manifest.json").write_text(json.dumps(changed))
    for said, arguments in {
        "keep_some": ("keep_some", "sliding_window"),
        "keep_all is not a store": (other, "keep_all"),
        "need several stores": ("keep_all", "sliding_window", "--strategies", "x"),
        "unknown entry of a manifest 'price'": (other, "--despite", "price"),
        "differ in price list": (other,),
    }.items():
        done = compactlab("compare", "one", *arguments)
        assert done.code == 2
        assert said in done.err
    done = compactlab("compare", "one", other, "--despite", "prices")
    assert done.code == 0
    assert "The stores differ in the price list" in done.out
