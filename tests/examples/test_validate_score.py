"""Graded answers that are simulated on LoCoMo, and what ``score`` says of the same contexts."""

from pathlib import Path
from typing import Any

import pytest
import validate_score as validate

# Contexts in which what is found in foreign text is found by chance, but for a half of ``asked``;
# and those with a summary that holds something.
BY_CHANCE = ("truncated", "moved on", "asked", "of another")
HELD = ("observations 0.8", "sessions", "one text")


@pytest.fixture(scope="module")
def rows(shared: Path) -> Any:
    """The contexts of a conversation on which nothing was chosen, with the shorter tail."""
    path = shared / "recorded" / validate.FILE
    if not path.is_file():
        pytest.skip("LoCoMo is not among the recordings")
    talk, other = validate.talks(path)[1:3]
    made = validate.contexts(talk, other, [2_000])
    kinds = (*BY_CHANCE, *HELD)
    return validate.together([validate.graded(talk, (c for c in made if c.kind in kinds))])


@pytest.mark.parametrize("errors", ["few errors", "many errors"])
def test_score_agrees_with_answers_at_least_as_well_as_provenance(rows, errors):
    figures = {m: validate.mcc(rows[m, errors, "all"]) for m in validate.METHODS}
    assert figures["score"] >= figures["provenance"] > figures["grep"] > 0


def test_where_summaries_are_of_little_use_they_cost_little(rows):
    figures = {m: validate.mcc(rows[m, "poor summaries", "all"]) for m in validate.METHODS}
    assert figures["score"] > figures["provenance"] - validate.LITTLE


@pytest.mark.parametrize("kind", BY_CHANCE)
def test_what_is_found_by_chance_costs_next_to_nothing(rows, kind):
    score, provenance = (validate.mcc(rows[m, "few errors", kind]) for m in ("score", "provenance"))
    assert score > provenance - 0.05


@pytest.mark.parametrize("kind", HELD)
def test_what_a_summary_holds_is_seen(rows, kind):
    score, provenance = (validate.mcc(rows[m, "few errors", kind]) for m in ("score", "provenance"))
    assert score > provenance + 0.02


def test_the_correlation_is_that_of_the_textbook():
    pairs = [(True, True)] * 6 + [(True, False)] * 1 + [(False, True)] * 2 + [(False, False)] * 3
    assert validate.mcc(pairs) == pytest.approx((6 * 3 - 1 * 2) / (7 * 8 * 4 * 5) ** 0.5)
    assert validate.mcc([(True, True)]) == 0


def test_a_file_that_is_none_is_refused(tmp_path, capsys):
    (tmp_path / "locomo").mkdir()
    (tmp_path / validate.FILE).write_text("[]")
    assert validate.main([str(tmp_path)]) == 2
    assert "error: " in capsys.readouterr().err
