"""A line for each message, kept in a file and shown under pressure."""

import pytest

from compactlab.strategies import SummarySidecar
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summary_sidecar import HEADER

SHOWN = SummarySidecar(threshold=0.0)


@pytest.fixture
def lines(tell, play):
    """The lines that each prompt shows."""

    def of(script: str, strategy=SHOWN, window=200_000, **more) -> list[list[str]]:
        steps = play(tell(script, **more), strategy, window=window).steps
        texts = [part.text for step in steps for part in step.system if part.kind == "summary"]
        return [text.splitlines() for text in texts]

    return of


def test_every_message_with_words_has_a_line(lines):
    assert lines("ucra ua")[-1] == [
        HEADER,
        "- User: u1 says: time work p",
        "- Assistant: a4 says: time work p",
        "- User: u5 says: time work p",
    ]


def test_the_block_says_which_messages_it_stands_for(tell, play):
    (part,) = play(tell("uaua"), SHOWN).steps[-1].system
    assert [source.id for source in part.sources] == ["u1", "a2", "u3"]


def test_without_pressure_nothing_is_shown(lines):
    assert lines("uaua", SummarySidecar()) == []


def test_it_is_shown_from_the_threshold_on(lines):
    # The prompts of six turns grow from 110 to 1210 tokens.
    half = SummarySidecar(threshold=0.5, item_chars=20)
    assert [len(shown) for shown in lines("ua" * 6, half, window=2000, size=400)] == [12]


def test_it_is_shown_once_the_history_is_trimmed(lines):
    trimmed = find_strategy("turn_slice(turns=2) + summary_sidecar")
    assert [len(shown) for shown in lines("ua" * 4, trimmed)] == [6, 8]


def test_the_newest_lines_that_fit_are_shown_oldest_first(lines):
    small = SummarySidecar(threshold=0.0, max_chars=75)
    assert lines("ua" * 3, small)[-1][1:] == ["- User: u5 says: time work p"]


def test_a_long_message_is_one_short_line(lines):
    (shown,) = lines("ua", SummarySidecar(0.0, item_chars=10), size=200)
    assert shown[1] == "- User: u1 says: \N{HORIZONTAL ELLIPSIS}"


def test_only_the_newest_lines_are_kept(lines):
    assert len(lines("ua" * 10, SummarySidecar(0.0, max_items=4))[-1]) == 5


def test_keeping_no_line_shows_none(lines):
    assert lines("ua" * 3, SummarySidecar(0.0, max_items=0)) == []


def test_it_changes_the_system_prompt_once_a_turn(tell, play):
    steps = play(tell("ucrcra" * 3, size=400, system=2000), SHOWN).steps
    assert ["system_changed" in step.causes for step in steps[1:]] == [
        False, False, True, False, False, True, False, False
    ]  # fmt: skip


def test_a_log_that_has_become_shorter_is_read_anew(lines):
    assert [line[:10] for line in lines("uauaua <2 ua")[-1][1:]] == [
        "- User: u1", "- Assistan", "- User: u7"
    ]  # fmt: skip


def test_a_rewind_that_leaves_the_log_no_shorter_leaves_lines_of_the_branch_given_up(lines):
    """As the file knows nothing of rewinds, and compares lengths alone."""
    assert [line.split(" says")[0] for line in lines("ua ua <2 ua")[-1][1:]] == [
        "- User: u1", "- Assistant: a2", "- User: u3"
    ]  # fmt: skip
