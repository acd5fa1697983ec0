"""What the Signet specification (section 6.4) demands of a flush, and who meets it: the table."""

import pytest

from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.scenarios.made import made

ALL = "lossy(first=1, mutated=0, stale=0, audible=0)"
LOUD = "lossy(audible=1)"
NEW, FULL, OLD = "full, 2026.9.6", "full, 2026.3.13", "full, 2026.1.29"
PROFILES = {
    NEW: "version='2026.9.6'",
    FULL: "version='2026.3.13'",
    OLD: "version='2026.1.29'",
    "hook": "profile='hook'",
    "internal": "profile='internal'",
}
CHAT, WORK = "personal_assistant", "coding_agent"
# Of the rows: whose flush, who writes, in which session.
ROWS = [
    (NEW, ALL, CHAT),
    (NEW, "lossy", CHAT),
    (NEW, LOUD, CHAT),
    (FULL, ALL, CHAT),
    (FULL, "oracle", CHAT),
    (FULL, "lossy", CHAT),
    (FULL, "lexrank", CHAT),
    (FULL, "random", CHAT),
    (FULL, "checklist", CHAT),
    (FULL, "empty", CHAT),
    (FULL, LOUD, CHAT),
    (OLD, LOUD, CHAT),
    ("hook", ALL, CHAT),
    ("internal", ALL, CHAT),
    (FULL, ALL, WORK),
    (NEW, ALL, WORK),
]


def cells(profile: str, writer: str, session: str) -> list[str]:
    """One row: a flush before each compaction, silence, and what of four topics is in memory."""
    told = made(session, 60_000, 1)
    flush = f"memory_flush({PROFILES[profile]}, soft_threshold_tokens=4000)"
    # What each version has behind its flush; both take the reserve from the same rule.
    compact = "auto_compact(reserve_tokens=20000, keep_recent_tokens=8000)"
    if profile == NEW:
        compact = "distilled_summary(keep_recent_tokens=8000)"
    options = Options("claude-sonnet-4-5", find_summarizer(writer), window=48_000)
    data = RunData(record(told, find_strategy(f"{flush} + {compact}"), options), told)
    trigger, heard, *content = (
        METRICS[f"flush{name}"].compute(data)
        for name in ("ed_compactions", "_heard", "_decisions", "_user", "_progress", "_actions")
    )
    return [
        profile,
        f"`{writer}`",
        f"`{session}`",
        "not seen" if trigger is None else "met" if trigger == 1 else f"missed ({trigger:.0%})",
        "no flush" if heard is None else f"missed ({heard:.0f} tokens)" if heard else "met",
        *("no flush" if share is None else f"{share:.0%}" for share in content),
    ]


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_table_of_what_is_demanded_is_in_the_docs(row, root):
    page = (root / "docs" / "flush.md").read_text("utf-8")
    assert f"| {' | '.join(cells(*row))} |" in page


def test_a_writer_that_notes_all_lacks_only_what_the_user_said_after_the_flush():
    *demands, decisions, user, progress, actions = cells(FULL, ALL, CHAT)[3:]
    assert demands == ["met", "met"]
    assert (decisions, progress) == ("100%", "100%")
    assert all(0.9 < int(share.rstrip("%")) / 100 < 1 for share in (user, actions))


def test_a_reminder_in_the_request_for_a_summary_is_no_flush():
    assert cells("hook", ALL, CHAT)[3] == "missed (0%)"


def test_the_older_client_hides_more_of_an_answer_that_is_not_silent():
    newer, older = (int(cells(p, LOUD, CHAT)[4].split()[1].strip("(")) for p in (FULL, OLD))
    assert 0 < older < newer


def test_who_writes_nothing_leaves_nothing_in_memory():
    assert set(cells(FULL, "empty", CHAT)[5:]) == {"0%"}
