"""Real summaries beside summarisers: what is judged, and on which half."""

from pathlib import Path

import validate_summaries as summaries
from inline_snapshot import snapshot

from compactlab.scenarios.readers.native import write
from tests.lines import fitting, lines_with
from tests.summarizers.recorded import session

# No two share a word: what is composed of what was said since is not needed.
NAMES = [
    "quarry_lamp",
    "tidal_fork",
    "amber_gate",
    "copper_reed",
    "violet_dune",
    "frost_anvil",
    "cedar_plume",
    "marble_hook",
    "saffron_tile",
    "granite_bell",
    "willow_cask",
    "indigo_rope",
]


def logs(folder: Path, count: int) -> Path:
    for n in range(count):
        kept, lost = NAMES[n : n + 4], NAMES[:n] + NAMES[n + 4 :]
        file = folder / "repository" / f"s{n}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        write(session(f"s{n}", kept, lost), file)
    return folder


def test_a_single_session_is_skipped(tmp_path, capsys):
    assert summaries.main([str(logs(tmp_path / "one", 1))]) == 0
    assert fitting(capsys.readouterr().out) == snapshot(
        "skipped: a single session in one has such summaries"
    )


def test_each_session_is_foretold_by_the_others(tmp_path, monkeypatch):
    pairs = summaries.recorded([logs(tmp_path, 3)])
    models = summaries.models(pairs)
    assert {id: model.sessions for id, model in models.items()} == {"s0": 2, "s1": 2, "s2": 2}
    monkeypatch.setattr(summaries, "DRAWS", 3)
    copies = summaries.copied("calibrated", pairs, models)
    assert copies.kept.shape == (3, 36)
    assert len(copies.tokens) == 9


def test_all_is_told_and_judged(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(summaries, "DRAWS", 2)
    code = summaries.main([str(logs(tmp_path, 3))])
    out = capsys.readouterr().out
    assert code in (0, 1)
    assert lines_with(out, "3 summaries", "too few") == snapshot("""\
3 summaries of claude_code in 3 sessions
too few to leave one repository out\
""")
    for name in ("calibrated", "lexrank", "lossy"):
        assert f"  {name:12} AUC " in out
    assert out.count(" met ") + out.count(" MISSED ") == 3
    assert lines_with(out, "too few") == snapshot("too few to leave one repository out")


def test_a_summariser_that_copies_the_real_one_is_at_no_distance(tmp_path):
    pairs = summaries.recorded([logs(tmp_path, 2)])
    facts = [fact for _, found in pairs for each in found for fact in each.facts]
    exact = summaries.np.array([[float(fact.kept) for fact in facts]])
    assert summaries.distance(facts, summaries.Copies(exact, [])) == 0
    assert summaries.distance(facts, summaries.Copies(1 - exact, [])) > 10
