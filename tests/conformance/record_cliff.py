"""Write what cliffcompaction answers to drawn chats; it must be installed."""

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cliffcompaction.cliff import compact
from cliffcompaction.config import Config
from cliffcompaction.dialects.base import SUMMARY_HEADER
from cliffcompaction.dialects.openai_chat import DIALECT

CASES = 60
WORDS = ["port", "ledger", "parser", "note", "plan", "file", "test", "", "\n", "caf\u00e9"]
RULES = (
    {},
    {"keep_recent": 1},
    {"keep_recent": 0, "result_max_chars": 40, "human_max_chars": 30},
    {"keep_recent": 1, "thought_max_chars": 30, "keep_thinking": False},
    {"keep_recent": 2, "cmd_max_chars": 12, "thought_max_chars": 10},
)


def drawn(rng: random.Random) -> list[dict[str, Any]]:
    def text(most: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))

    chat: list[dict[str, Any]] = []
    for _ in range(rng.randint(0, 2)):
        chat.append({"role": "user", "content": text(12)})
    if rng.random() < 0.3:
        chat.append({"role": "user", "content": f"{SUMMARY_HEADER}\n\nuser: before"})
    for turn in range(rng.randint(0, 6)):
        answer: dict[str, Any] = {"role": "assistant", "content": text(15)}
        if rng.random() < 0.4:
            answer["reasoning_content"] = text(10)
        calls = [f"c{turn}/{n}" for n in range(rng.choice((0, 1, 1, 2)))]
        if calls:
            answer["tool_calls"] = [
                {"id": id, "function": {"name": "read", "arguments": json.dumps({"a": text(6)})}}
                for id in calls
            ]
        chat.append(answer)
        chat += ({"role": "tool", "tool_call_id": c, "content": text(90)} for c in calls)
        if rng.random() < 0.4:
            said = "<task-notification>done</task-notification>\n" * (rng.random() < 0.3)
            chat.append({"role": "user", "content": said + text(12)})
    return chat


def answered(chat: list[dict[str, Any]], rule: dict[str, Any]) -> Any:
    """The messages that are left, by number, and the digest without its first line."""
    result = compact(chat, DIALECT, Config(**rule))
    if result is None:
        return None
    digest = result.summary["content"].removeprefix(SUMMARY_HEADER).removeprefix("\n\n")
    places = [next((n for n, m in enumerate(chat) if m is o), None) for o in result.messages]
    return {"left": places, "digest": digest}


if __name__ == "__main__":
    rng = random.Random("cliff")
    cases = []
    for number in range(CASES):
        chat, rule = drawn(rng), RULES[number % len(RULES)]
        given = {"messages": chat, "rule": rule, "header": SUMMARY_HEADER}
        cases.append({"name": f"{number}", "input": given, "output": answered(chat, rule)})
    release = version("cliffcompaction")
    told = {"function": "cliffcompaction.cliff.compact", "package": "cliffcompaction"}
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = json.dumps(told | {"version": release})[:-1]
    place = Path(__file__).parent / "recorded" / f"cliff_compact_{release}.json"
    place.write_text(f'{head}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
