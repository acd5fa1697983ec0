"""Every story is read as it says; `make snapshots TESTS=tests/corpus` writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.stories import FOLDER, stories_of, write_stories

STORIES = {path.stem: stories_of(path.stem) for path in sorted(FOLDER.glob("*.txt"))}
RENEWED = "COMPACTLAB_UPDATE_GOLDEN" in os.environ


@pytest.mark.parametrize(
    ("subject", "title"), [(subject, title) for subject in STORIES for title in STORIES[subject]]
)
def test_a_story_is_read_as_it_says(subject: str, title: str, tmp_path: Path) -> None:
    story = STORIES[subject][title]
    told = story.told(tmp_path)
    if RENEWED:
        STORIES[subject][title] = told
        write_stories(subject, list(STORIES[subject].values()))
    else:
        assert (told.read, told.strict) == (story.read, story.strict)
