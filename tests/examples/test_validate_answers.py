"""What is seen in summaries, compared with graded answers."""

import json
from pathlib import Path
from typing import Any

import pytest
import validate_answers as validate
from inline_snapshot import snapshot

from tests.lines import lines_with

HERE = Path(__file__).parents[2].parent / "shared" / "answers"

STATES = {"3": "DONE", "8": "DONE", "9": "QUEUED"}
SUMMARY = """\
## Boats of harbour 5
- Seats: `boat-5-3=oak-11aa22bb33`
- 8 -> elm-44cc55dd66
- boat-5-9: ash

## Trips of harbour 5
DONE: 3, 8; QUEUED: 9
"""


def fixture(id: str, messages: str) -> dict[str, Any]:
    """A history of boats and trips in the form of the published ones, and questions about it."""
    seats = {"3": "oak-11aa22bb33", "8": "elm-44cc55dd66", "9": "ash-77ee88ff99"}
    told = [f"boat-5-{n}={value}" for n, value in seats.items()]
    told += [f"trip-5-{n}={state}" for n, state in STATES.items()]
    asked = [
        (f"What is the exact value of boat-5-{n}?", "exact_recall", value)
        for n, value in seats.items()
    ]
    asked += [
        (f"What is the current state of trip-5-{n}?", "task_continuation", state)
        for n, state in STATES.items()
    ]
    said = [{"type": "message", "role": "user", "content": [{"text": line}]} for line in told]
    questions = [
        {"id": f"{id}-{index}", "question": question, "category": category, "expected": expected}
        for index, (question, category, expected) in enumerate(asked)
    ]
    return {"id": id, messages: said, "questions": questions}


def scores(id: str, right: str) -> dict[str, Any]:
    """A grade for each question: R for right."""
    graded = [
        {"questionId": f"{id}-{index}", "correct": grade == "R"}
        for index, grade in enumerate(right)
    ]
    return {"scores": graded}


def folder(path: Path, right: str) -> Path:
    """A folder of the published form: on one fixture rules may be made, on the other not."""
    text, product = path / validate.TEXT, path / validate.PRODUCT
    made, left = "fixture-01", "fixture-02"
    texts = [
        {
            "fixtureId": id,
            "textSummary": {"text": SUMMARY},
            "evaluations": {"text_summary": scores(id, right)},
        }
        for id in (made, left)
    ]
    dense = [
        {"fixtureId": id, "summary": {"text": SUMMARY}, "evaluation": scores(id, right)}
        for id in (made, left)
    ]
    pi = [
        {
            "fixtureId": "product-s303-d1",
            # The states of trips are retained; of boats, only this is left.
            "piDefault": {"summary": "There are boats.", "summarizedMessageCount": 3},
            "evaluations": {"pi_default": scores("product-s303-d1", "---RRR")},
        }
    ]
    for where, fixtures, files in (
        (
            text,
            [fixture(made, "history"), fixture(left, "history")],
            {"trials.jsonl": texts, "dense-text-trials.jsonl": dense},
        ),
        (product, [fixture("product-s303-d1", "messages")], {"trials.jsonl": pi}),
    ):
        where.mkdir(parents=True)
        (where / "fixtures.json").write_text(json.dumps(fixtures))
        for name, rows in files.items():
            (where / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_what_is_kept_is_seen_and_what_is_not_is_not(tmp_path, capsys):
    assert validate.main([str(folder(tmp_path / "answers", "RR-RRR"))]) == 0
    out = capsys.readouterr().out
    assert out.count("100.0%, at least 85%") == 6
    assert out.endswith("missed: 0\n")


def test_a_bar_is_missed_where_models_answer_what_is_not_seen(tmp_path, capsys):
    # The boat of which the summary has half a value is answered, and one that stands there is not.
    folder(tmp_path / "answers", "R-RRRR")
    assert validate.main([str(tmp_path / "recorded")]) == 1  # the folder beside it is taken
    out = capsys.readouterr().out
    assert lines_with(out, "MISSED") == snapshot("""\
MISSED  text, by value: answered, seen as kept 4 of 5, 80.0%, at least 85%
MISSED  text, by value: not answered, seen 1 of 1, 100.0%, at most 8%
MISSED  text, with keys: answered, seen as kept 4 of 5, 80.0%, at least 85%
MISSED  text, with keys: not answered, seen 1 of 1, 100.0%, at most 8%
MISSED  dense text, by value: answered, seen as kept 4 of 5, 80.0%, at least 85%
MISSED  dense text, by value: not answered, seen 1 of 1, 100.0%, at most 8%
MISSED  dense text, with keys: answered, seen as kept 4 of 5, 80.0%, at least 85%
MISSED  dense text, with keys: not answered, seen 1 of 1, 100.0%, at most 8%\
""")
    assert "with keys, answered, not seen: 2\n       2  the value is not there" in out


@pytest.mark.slow
@pytest.mark.skipif(not HERE.is_dir(), reason="the published answers are not at hand")
def test_real_answers(capsys):
    validate.main([str(HERE)])
    out = capsys.readouterr().out
    # A state by its value alone ("DONE") stands in any summary that has another one's.
    assert out.endswith(
        "missed: 1\n  text, by value: not answered, seen 6 of 26, 23.1%, at most 8%\n"
    )
