"""LoCoMo: which evidence the last tokens and a search keep, by hand, naively, and as recorded."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import validate_locomo as locomo
from inline_snapshot import snapshot

from compactlab import Conversation, read
from compactlab.sim.core.notes import ranked
from compactlab.sim.core.tokens import encoding
from tests.lines import lines_with

# Six turns of five tokens each; the caption makes the last one longer.
TURNS = {
    "D1:1": "The red fox runs home",
    "D1:2": "The blue dog sleeps here",
    "D2:1": "We went to the beach",
    "D2:2": "My sister plays the piano",
    "D3:1": "I like old green tea",
    "D3:2": "See you on the train",
}
CAPTION = "a fast boat"
Talk = dict[str, Any]


def asked(question: str, category: int, *evidence: str) -> dict[str, Any]:
    return {"question": question, "category": category, "evidence": evidence, "answer": "so"}


def talk(turns: dict[str, str], questions: list[dict[str, Any]], caption: str = "") -> Talk:
    """A talk of two who take turns; a turn's id says its session."""
    sessions: Talk = {"speaker_a": "Ana", "speaker_b": "Ben"}
    for index, (id, text) in enumerate(turns.items()):
        day = id[1:].partition(":")[0]
        session = f"session_{day}"
        sessions[f"{session}_date_time"] = f"1:00 pm on {day} May, 2024"
        speaker = ("Ana", "Ben")[index % 2]
        said = {"dia_id": id, "speaker": speaker, "text": text}
        sessions.setdefault(session, []).append(said)
    if caption:
        said["blip_caption"] = caption
    return {"sample_id": "t", "conversation": sessions, "qa": questions}


def planted() -> Talk:
    questions = [
        asked("What colour is the fox?", 4, "D1:1"),
        asked("Which instrument does the sister play: the piano?", 4, "D2:2"),
        asked("Does the dog like the boat?", 1, "D1:2", "D3:2"),
        asked("How old is the tea?", 2, "D3:1", "D9:9"),
        asked("Who is the fox?", 5, "D1:1"),
        asked("Why?", 4),
    ]
    return talk(TURNS, questions, CAPTION)


def folder(tmp_path: Path, *talks: Talk) -> Path:
    file = tmp_path / "locomo" / "locomo10.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(talks), encoding="utf-8")
    return tmp_path


def conversations(tmp_path: Path, *talks: Talk) -> list[Conversation]:
    return list(read(folder(tmp_path, *talks) / "locomo" / "locomo10.json"))


def test_the_last_tokens_keep_what_is_counted_on_paper(tmp_path):
    count = encoding("cl100k_base").count
    assert [count(text) for text in TURNS.values()] == [5] * 6
    last = count(f"{TURNS['D3:2']} [image: {CAPTION}]")
    budgets = {last - 1: (0,), last: (0,), last + 9: (0,), last + 10: (0,), last + 20: (0,)}
    found = locomo.figures(conversations(tmp_path, planted()), budgets | {last + 25: (0,)}, {})
    # Not even the last turn; it alone; with tea; with the piano; with the dog; with the fox.
    assert [each.whole.total() for each in found] == [0, 0, 1, 2, 3, 4]
    assert [float(sum(each.shares.values())) for each in found] == [0, 0.5, 1.5, 2.5, 3, 4]
    assert {each.asked.total() for each in found} == {4}  # the others cannot be answered
    assert found[2].whole == Counter({"temporal": 1})
    assert found[2].percent(False) == 25
    assert found[2].percent(True, ["multi-hop"]) == 50


def test_a_search_keeps_the_turns_that_share_words(tmp_path):
    one, all_of_them = locomo.figures(conversations(tmp_path, planted()), {}, {1: 0, 6: 0})
    # Best for "dog ... boat" is one of its two turns; all others find theirs at once.
    assert (one.whole.total(), one.shares["multi-hop"]) == (3, 0.5)
    assert all_of_them.judged == 100


def test_any_talk_comes_out_as_a_naive_count_has_it(tmp_path):
    draw = random.Random(5)
    vocabulary = [f"{a}{b}" for a in ("ba", "ko", "tu") for b in ("lim", "sor", "wex", "dan")]
    turns = {
        f"D{1 + n // 8}:{n}": " ".join(draw.choices(vocabulary, k=draw.randint(1, 9)))
        for n in range(40)
    }
    questions = []
    for _ in range(60):
        evidence = draw.sample([*turns], draw.randint(1, 3))
        words = " ".join(draw.choices(vocabulary, k=3))
        questions.append(asked(words, draw.randint(1, 4), *evidence))
    tails, tops = {60: (0,), 150: (0,), 400: (0,)}, {3: 0, 10: 0, 40: 0}
    found = locomo.figures(conversations(tmp_path, talk(turns, questions)), tails, tops)
    texts = [each["question"] for each in questions]
    contexts = [[_last(turns, budget)] * len(questions) for budget in tails]
    contexts += [[_best(turns, text, top) for text in texts] for top in tops]
    for figure, kept in zip(found, contexts, strict=True):
        wholes, shares = 0, 0.0
        for each, context in zip(questions, kept, strict=True):
            there = [id in context for id in each["evidence"]]
            wholes += all(there)
            shares += sum(there) / len(there)
        assert figure.whole.total() == wholes
        assert float(sum(figure.shares.values())) == pytest.approx(shares)


def _last(turns: dict[str, str], budget: int) -> set[str]:
    kept: set[str] = set()
    for id, text in reversed(turns.items()):
        budget -= encoding("cl100k_base").count(text)
        if budget < 0:
            break
        kept.add(id)
    return kept


def _best(turns: dict[str, str], question: str, top: int) -> set[str]:
    return {[*turns][index] for index in ranked(question, [*turns.values()])[:top]}


def test_what_is_far_off_or_in_another_order_is_told(tmp_path, capsys):
    assert locomo.main([str(folder(tmp_path, planted()))]) == 1
    said = capsys.readouterr().out
    assert lines_with(said, "LoCoMo:", "MISSED  last 4,000", "not below") == snapshot("""\
LoCoMo: 4 questions with evidence in 1 conversations; 1 pieces of evidence lead to no turn
MISSED  last 4,000 tokens: 100.0 %, reference 18.4 %: +81.6 points of 8
MISSED  order of 27 pairs that the reference has more than 2 points apart; last 4,000
tokens is not below last 8,000 tokens; last 4,000 tokens is not below last 12,000 tokens;
last 4,000 tokens is not below last 16,000 tokens; last 4,000 tokens is not below BM25,
top 5; last 4,000 tokens is not below BM25, top 10; last 4,000 tokens is not below BM25,
top 25; last 4,000 tokens is not below BM25, top 50; last 8,000 tokens is not below last
12,000 tokens; last 8,000 tokens is not below last 16,000 tokens; last 8,000 tokens is not
below BM25, top 5; last 8,000 tokens is not below BM25, top 10; last 8,000 tokens is not
below BM25, top 25; last 8,000 tokens is not below BM25, top 50; last 12,000 tokens is not
below last 16,000 tokens; BM25, top 5 is not below last 12,000 tokens; last 12,000 tokens
is not below BM25, top 25; last 12,000 tokens is not below BM25, top 50; BM25, top 5 is
not below last 16,000 tokens; BM25, top 10 is not below last 16,000 tokens; BM25, top 25
is not below last 16,000 tokens; BM25, top 50 is not below last 16,000 tokens; BM25, top 5
is not below BM25, top 10; BM25, top 5 is not below BM25, top 25; BM25, top 5 is not below
BM25, top 50; BM25, top 10 is not below BM25, top 25; BM25, top 10 is not below BM25, top
50; BM25, top 25 is not below BM25, top 50
order of 27 pairs that the reference has more than 2 points apart; last 4,000 tokens is
not below last 8,000 tokens; last 4,000 tokens is not below last 12,000 tokens; last 4,000
tokens is not below last 16,000 tokens; last 4,000 tokens is not below BM25, top 5; last
4,000 tokens is not below BM25, top 10; last 4,000 tokens is not below BM25, top 25; last
4,000 tokens is not below BM25, top 50; last 8,000 tokens is not below last 12,000 tokens;
last 8,000 tokens is not below last 16,000 tokens; last 8,000 tokens is not below BM25,
top 5; last 8,000 tokens is not below BM25, top 10; last 8,000 tokens is not below BM25,
top 25; last 8,000 tokens is not below BM25, top 50; last 12,000 tokens is not below last
16,000 tokens; BM25, top 5 is not below last 12,000 tokens; last 12,000 tokens is not
below BM25, top 25; last 12,000 tokens is not below BM25, top 50; BM25, top 5 is not below
last 16,000 tokens; BM25, top 10 is not below last 16,000 tokens; BM25, top 25 is not
below last 16,000 tokens; BM25, top 50 is not below last 16,000 tokens; BM25, top 5 is not
below BM25, top 10; BM25, top 5 is not below BM25, top 25; BM25, top 5 is not below BM25,
top 50; BM25, top 10 is not below BM25, top 25; BM25, top 10 is not below BM25, top 50;
BM25, top 25 is not below BM25, top 50\
""")
    # BM25 over a handful of turns finds everything: all eight figures and the order are wrong.
    assert "missed: 9" in said


def test_without_questions_it_says_so(tmp_path, capsys):
    assert locomo.main([str(folder(tmp_path, talk(TURNS, [])))]) == 2
    assert lines_with(capsys.readouterr().err, "no question") == snapshot(
        "error: locomo/locomo10.json: no question of LoCoMo in it has evidence"
    )


@pytest.mark.slow
def test_no_bar_is_missed_on_the_recorded_talks(shared, capsys):
    code = locomo.main([str(shared / "recorded")])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("  met     ") == 9
