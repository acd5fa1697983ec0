"""Where Gemini CLI cuts; the vectors say the same of the real one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, verbatim
from compactlab.strategies.gemini_cli import estimate_text, json_chars, split_point, within_budget


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_message_is_as_long_as_its_json(text):
    message = Message("u", "user", (verbatim("u", "text", text),))
    written = {"role": "user", "parts": [{"text": text}]}
    as_json = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    assert json_chars(message) == len(as_json.encode("utf-16-le")) // 2


def test_half_of_a_pair_is_written_as_an_escape():
    def length(text: str) -> int:
        return json_chars(Message("u", "user", (verbatim("u", "text", text),)))

    assert length("\ud83d") - length("") == len(r"\ud83d")


def test_it_cuts_at_the_first_words_of_a_user_behind_the_share(moment):
    messages = moment("ucra uaua", size=100).messages
    assert split_point(messages, 0.3) == 4
    assert split_point(messages, 0.6) == 6


def test_everything_may_go_if_the_model_spoke_last(moment):
    assert split_point(moment("ua", size=100).messages, 0.7) == 2
    assert split_point(moment("ucr", size=100).messages, 0.7) == 0
    assert split_point(moment("").messages, 0.7) == 0


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5])
def test_a_fraction_is_one(fraction, moment):
    with pytest.raises(ValueError, match="between 0 and 1"):
        split_point(moment("ua").messages, fraction)


def test_estimates_tell_ascii_from_the_rest():
    assert estimate_text("a" * 8) == 2
    assert estimate_text("aaaaé") == 2.5
    assert estimate_text("é" * 100_001) == 100_001 / 4


def test_the_newest_outputs_stay_whole_and_older_long_ones_go_to_files(moment):
    now = moment("ucrcrcr", sizes={"r3": 50_000, "r5": 41_000, "r7": 4000})
    after = within_budget(now.messages, now.host, 12_000)
    assert [m.id for m in after if m.parts[0].kind == "truncated"] == ["r3"]
    assert now.host.files == {"tool-outputs/r3-0.txt": now.messages[2].parts[0].text}
    cut = after[2].parts[0]
    assert cut.handle == "tool-outputs/r3-0.txt"
    assert len(cut.text) < 40_200
    assert within_budget(after, now.host, 0)[2] is after[2]
    assert within_budget(now.messages, now.host, 100_000) is now.messages
