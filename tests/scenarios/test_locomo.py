"""LoCoMo: two persons talk for weeks, and are asked about it at the end."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Source


def passed_over(conversation: Conversation) -> int:
    """How much of a file was not understood."""
    return sum(one.count for one in conversation.passed_over)


def turn(id: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": id, "speaker": speaker, "text": text, **more}


def asked(category: int, *evidence: str, answer: Any = "Bread") -> dict[str, Any]:
    return {"question": "What?", "category": category, "evidence": [*evidence], "answer": answer}


def sample(*questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [turn("D10:1", "Ben", "Still baking?")],
        "session_2_date_time": "12:30 pm on 29 February, 2024",
        "session_2": [
            turn("D2:1", "Ana", "I bake now.", blip_caption="a loaf of rye"),
            turn("D2:2", "Ben", "", blip_caption="a cat"),
            turn("D2:3", "Ben", "Mine."),
        ],
        "session_11_date_time": "1:00 pm on 2 March, 2024",  # a session that was never held
    }
    return {"conversation": talk | more, "qa": [*questions], "sample_id": "ana-ben"}


def read(tmp_path: Path, value: Any, strict: bool = False) -> list[Conversation]:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(value))
    conversations = list(transcripts.read(path, strict=strict))
    assert {conversation.format for conversation in conversations} == {"locomo"}
    return conversations


def test_what_is_said_by_whom_and_when(tmp_path: Path) -> None:
    (talk,) = read(tmp_path, [sample()])
    baked, cat, mine, still, closing = talk.messages
    assert [m.id for m in talk.messages] == ["D2:1", "D2:2", "D2:3", "D10:1", "closing"]
    assert [m.role for m in talk.messages] == ["user", *["assistant"] * 4]
    assert baked.text == "I bake now. [image: a loaf of rye]"
    assert cat.text == "[image: a cat]"
    assert talk.calls == (cat, mine, still, closing)
    noon = datetime(2024, 2, 29, 12, 30, tzinfo=UTC).timestamp()
    night = datetime(2024, 3, 1, 0, 5, tzinfo=UTC).timestamp()
    times = [noon, noon + 60, noon + 120, night, night + 60]
    assert [m.time for m in talk.messages] == times
    assert (talk.id, closing.parts[0].kind) == ("talks/ana-ben", "opaque")


def test_a_question_is_a_fact_that_all_its_evidence_states_together(tmp_path: Path) -> None:
    (talk,) = read(tmp_path, [sample(asked(1, "D2:3", "D2:1", "D2:3"), asked(3, "D10:1"))])
    hops, guess = talk.facts
    assert (hops.id, hops.kind, hops.value) == ("multi-hop-1", "entity", "Bread")
    assert hops.origin == (Source("D2:3"), Source("D2:1"))
    assert (guess.id, guess.kind) == ("inference-2", "preference")
    assert hops.whole
    assert guess.whole
    assert [(n.fact, n.at, n.how) for n in talk.needs] == [
        ("multi-hop-1", "closing", "What?"),
        ("inference-2", "closing", "What?"),
    ]


def test_what_cannot_be_answered_is_left_out(tmp_path: Path) -> None:
    unanswerable = {"question": "?", "category": 5, "evidence": ["D2:1"]}
    questions = [unanswerable, asked(4), asked(2, "D2:1", answer=2024)]
    (talk,) = read(tmp_path, [sample(*questions)])
    assert [(fact.id, fact.value) for fact in talk.facts] == [("temporal-3", "2024")]


def test_evidence_that_leads_nowhere_is_counted(tmp_path: Path) -> None:
    questions = [asked(4, "D2:1", "D"), asked(1, "D2:1; D2:3"), asked(4, "D10:1")]
    (talk,) = read(tmp_path, [sample(*questions)])
    assert [fact.id for fact in talk.facts] == ["single-hop-1", "single-hop-3"]
    assert talk.facts[0].origin == (Source("D2:1"),)
    assert passed_over(talk) == 2


def test_one_alone_is_read_too(tmp_path: Path) -> None:
    nameless = {**sample(), "sample_id": ""}
    assert [talk.id for talk in read(tmp_path, nameless)] == ["talks/1"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"session_2": [turn("D2:1", "Cy", "Hi")]}, "'Cy' in session_2 is none of the two"),
        ({"session_2_date_time": "yesterday"}, "'yesterday' is no time"),
        ({"session_2_date_time": "1:00 pm on 31 June, 2023"}, "day"),
        ({"session_2": [{"speaker": "Ana"}]}, "not as expected"),
    ],
)
def test_what_is_wrong_is_said_or_counted(tmp_path: Path, more: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(tmp_path, [sample(), sample(**more)], strict=True)
    passed = [passed_over(talk) for talk in read(tmp_path, [sample(**more), sample()])]
    assert sum(passed) == 1


def test_a_question_of_no_known_category_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="6 is no category"):
        read(tmp_path, [sample(asked(6, "D2:1"))], strict=True)
    with pytest.raises(InputError, match="6 is no category"):
        read(tmp_path, [sample(asked(6, "D2:1"))])


def test_the_figures_are_those_of_the_source(recorded: Path) -> None:
    talks = list(transcripts.read(recorded / "locomo" / "locomo10.json"))
    assert len(talks) == 10
    assert sum(m.id != "closing" for talk in talks for m in talk.messages) == 5_882
    assert sum(passed_over(talk) for talk in talks) == 9
    # Of 1,540 questions that can be answered, 4 have no evidence, and 5 none that leads anywhere.
    categories = Counter(f.id.rpartition("-")[0] for talk in talks for f in talk.facts)
    stated = {"multi-hop": 282, "temporal": 321, "inference": 96, "single-hop": 841}
    assert stated.keys() == categories.keys()
    assert {c: stated[c] - categories[c] for c in stated} == {
        "multi-hop": 1,
        "temporal": 1,
        "inference": 7,
        "single-hop": 0,
    }
    assert {need.at for talk in talks for need in talk.needs} == {"closing"}
    assert all(talk.calls[-1].id == "closing" for talk in talks)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"session_x": [turn("D9:1", "Ana", "Hi")]}, "'session_x' is no session of a talk"),
        ({"session_2": [{"speaker": "Ana", "dia_id": "D1:1", "words": "Hi"}]}, "not as expected"),
        ({"session_2": [turn("D1:1", "Ana", "Hi", caption_text="a cat")]}, "'caption_text'"),
    ],
)
def test_what_is_told_under_unknown_names_is_an_error(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        read(tmp_path, [sample(**change)], strict=True)
