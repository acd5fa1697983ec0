"""The explorer beside replays: what is right is met, and what changes nothing is missed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from inline_snapshot import snapshot

from tests.lines import lines_with
from tests.recordings import CALM, claude_code


@pytest.fixture(scope="module")
def script(root: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(root / "examples"))
    import validate_explorer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(validate_explorer, "STRATEGIES", ("keep_all", "sliding_window(keep=12)"))
        patched.setattr(validate_explorer, "SCENARIOS", ("support_chat(turns=4, tokens=12000)",))
        patched.setattr(validate_explorer, "SHARES", (0.2,))
        yield validate_explorer
    sys.path.remove(str(root / "examples"))


def test_what_is_computed_is_what_is_replayed(script, capsys):
    assert script.main([]) == 0
    out = capsys.readouterr().out
    assert lines_with(out, "lifetime x 0.2: worst") == snapshot("""\
met     scenarios, lifetime x 0.2: worst strategy keep_all() +0.00%
met     scenarios, compacted, lifetime x 0.2: worst strategy keep_all() +0.00%\
""")
    assert "scenarios, prices: input 0.00%, cache_read 0.00%" in out


def test_a_bill_that_never_changes_misses_the_bars(script, capsys, monkeypatch):
    def unchanged(runs: list[SimpleNamespace], catalogue: object) -> SimpleNamespace:
        return SimpleNamespace(cost=lambda lifetime, prices: runs[0].metrics["cost_usd"])

    monkeypatch.setattr(script, "priced", unchanged)
    assert script.main([]) == 1
    out = capsys.readouterr().out
    assert lines_with(out, "MISSED") == snapshot("""\
MISSED  scenarios, lifetime x 0.2: worst strategy keep_all() -7.35%
MISSED  scenarios: median 7.35%, nine of ten 7.35%
MISSED  scenarios: error over that of no change 1.00
MISSED  scenarios, prices: input 0.00%, cache_read 0.83%, cache_write 20.79%, output
56.38%
MISSED  scenarios, compacted, lifetime x 0.2: worst strategy keep_all() -7.35%
MISSED  scenarios, compacted: median 7.35%, nine of ten 7.35%
MISSED  scenarios, compacted: error over that of no change 1.00
MISSED  scenarios, compacted, prices: input 0.00%, cache_read 0.83%, cache_write 20.79%,
output 56.38%\
""")
    assert "MISSED  scenarios, prices" in out


def test_recordings_without_usage_or_of_no_format_are_passed_over(script, tmp_path):
    (tmp_path / "notes.jsonl").write_text("no JSON\n", encoding="utf-8")
    good = claude_code(tmp_path / "talk.jsonl", CALM)
    assert script.usable(tmp_path, 5) == [str(good)]
    assert script.usable(tmp_path, 0) == []
