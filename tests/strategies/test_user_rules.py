"""Users' rules stand behind each summary: what they are, where they stand, what they cost."""

import json

import pytest

from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.replay.strategy import Pipeline
from compactlab.strategies.pi.compaction import AutoCompact
from compactlab.strategies.user_rules import LEAD, UserRules, lasting


@pytest.fixture
def answers(tmp_path):
    file = tmp_path / "rules.jsonl"
    rules = {"u1": ["u1 says", "Address me as a physician."], "u3": ["u1 says"]}
    lines = [json.dumps({"id": id, "rules": said}) for id, said in rules.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


def piped(**rules):
    size = {"reserve_tokens": 1000, "reserve_tokens_floor": 0, "keep_recent_tokens": 400}
    return Pipeline((AutoCompact(**size), UserRules(**rules)))


def text_of(message):
    return "".join(part.text for part in message.parts)


def test_the_list_stands_before_what_is_not_answered_and_is_put_anew(tell, play, shown, answers):
    trace = play(tell("ua" * 12, size=400), piped(answers=answers), window=2000)
    first, second, *_ = shown(trace).split(" | ")[1:]
    assert first.startswith("!summary-1 u7 a8 u9 a10 rules-summary-1 u11(rules) +1(rules)")
    assert second.startswith("!summary-2 u13 a14 u15 a16 rules-summary-2 u17(rules)")
    (block,) = (m for m in list(trace.prompts())[-1] if m.origin == "rules")
    assert text_of(block) == f"{LEAD}\n1. u1 says\n2. Address me as a physician."
    verbatim, told = (part for part in block.parts if part.sources)
    assert (verbatim.kind, told.kind) == ("recovered", "memory")


def test_without_answers_nothing_is_billed_and_words_decide(tell, play, shown):
    trace = play(tell("ua" * 12, size=400), piped(), window=2000)
    assert "rules" not in shown(trace)  # nobody says "always" in these stories


@pytest.mark.parametrize("said", ["Never push.", "Use tabs from now on", "Whenever it fails, ask!"])
def test_a_rule_is_a_sentence_with_its_place(said):
    text = f"Please fix it. {said}\nThanks"
    ((found, source),) = lasting(Message("m", "user", (verbatim("m", "text", text),)))
    assert found == text[source.start : source.end] == said
