"""OpenHands: events of its first kind, and those of its SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Usage

Record = dict[str, Any]


def read(tmp_path: Path, value: Any) -> Conversation:
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(value))
    (conversation,) = transcripts.read(path, strict=True)
    assert conversation.format == "openhands"
    return conversation


def totals(*counts: int) -> Record:
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
    usage = dict(zip(names, counts, strict=False))
    return {"llm_metrics": {"accumulated_token_usage": {"model": "claude-sonnet-4-5", **usage}}}


def acted(id: int, command: str, **more: Any) -> Record:
    return {"id": id, "source": "agent", "action": "run", "args": {"command": command}, **more}


def seen(id: int, text: str, cause: int) -> Record:
    return {"id": id, "source": "agent", "observation": "run", "content": text, "cause": cause}


ASKED = {"id": 1, "source": "user", "action": "message", "args": {"content": "Sort."}}


def test_a_call_is_what_the_totals_grew_by(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        [
            ASKED,
            acted(2, "ls", **totals(1_000, 30, 0, 900)),
            seen(3, "a", 2),
            acted(4, "sort a", **totals(2_100, 40, 900, 950)),
        ],
    )
    assert [c.call.usage for c in session.calls if c.call] == [
        Usage(100, 0, 900, output=30),
        Usage(150, 900, 50, output=10),
    ]
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "assistant"]


def test_the_providers_answer_is_known_by_its_id_and_holds_its_calls(tmp_path: Path) -> None:
    def called(id: str) -> Record:
        calls = [
            {"id": each, "function": {"name": "bash", "arguments": json.dumps({"at": each})}}
            for each in ("c1", "c2")
        ]
        message = {"content": "Both.", "tool_calls": calls}
        usage = {"prompt_tokens": 9, "completion_tokens": 2}
        response = {"id": "r", "model": "x", "usage": usage, "choices": [{"message": message}]}
        return {"tool_call_metadata": {"tool_call_id": id, "model_response": response}}

    session = read(
        tmp_path,
        [ASKED, acted(2, "a", **called("c1")), seen(3, "x", 2), acted(4, "b", **called("c2"))],
    )
    (answer,) = session.calls
    assert [part.text for part in answer.parts] == ["Both.", '{"at": "c1"}', '{"at": "c2"}']
    assert answer.call
    assert (answer.call.usage, answer.call.id) == (Usage(9, output=2), "r")


def test_a_condensation_keeps_what_it_does_not_forget(tmp_path: Path) -> None:
    forget = {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3, "summary": "Looked."}
    response = {"id": "r", "usage": {"prompt_tokens": 50, "completion_tokens": 2}}
    session = read(
        tmp_path,
        [
            ASKED,
            acted(2, "ls", **totals(100, 10)),
            seen(3, "a", 2),
            acted(4, "pwd", **totals(200, 20)),
            {"id": 5, "source": "agent", "action": "condensation", "args": forget},
            acted(6, "end", **totals(1_250, 52), tool_call_metadata={"model_response": response}),
        ],
    )
    (compaction,) = session.compactions
    assert [m.text for m in compaction.inserted] == ["Sort.", "Looked."]
    kept = next(m for m in session.messages if m.id == compaction.kept_from)
    assert kept.text == '{"command":"pwd"}'
    assert compaction.call
    assert compaction.call.usage == Usage(1_000, output=30)


def test_events_of_the_sdk_are_billed_by_the_ids_of_answers(tmp_path: Path) -> None:
    def text(words: str) -> list[Record]:
        return [{"type": "text", "text": words}]

    def event(kind: str, id: str, source: str = "agent", **more: Any) -> Record:
        return {"kind": kind, "id": id, "source": source, **more}

    def usages(*told: tuple[str, int]) -> list[Record]:
        return [{"model": "x", "response_id": id, "prompt_tokens": n} for id, n in told]

    metrics = {
        "agent": {"token_usages": usages(("r1", 100), ("r3", 300))},
        "condenser": {"token_usages": usages(("r2", 70), ("r9", 9))},
    }
    call = {"id": "c1", "name": "bash", "arguments": '{"command":"ls"}'}
    session = read(
        tmp_path,
        [
            event("SystemPromptEvent", "e0", system_prompt={"type": "text", "text": "You code."}),
            event("MessageEvent", "e1", "user",
                  llm_message={"role": "user", "content": text("Go.")}),
            event("ActionEvent", "e2", thought=text("I look."), tool_name="bash", tool_call=call,
                  tool_call_id="c1", llm_response_id="r1"),
            event("ObservationEvent", "e3", "environment", tool_name="bash", tool_call_id="c1",
                  observation={"content": text("a")}),
            event("Condensation", "e4", "environment", forgotten_event_ids=["e2", "e3"],
                  summary="Looked.", llm_response_id="r2"),
            event("MessageEvent", "e5", llm_message={"role": "assistant", "content": text("Done.")},
                  llm_response_id="r3"),
            event("ConversationStateUpdateEvent", "e6", "environment",
                  value={"usage_to_metrics": metrics}),
        ],
    )  # fmt: skip
    assert [part.text for part in session.system] == ["You code."]
    assert [(c.call.id, c.call.usage) for c in session.calls if c.call] == [
        ("r1", Usage(100)),
        ("r3", Usage(300)),
    ]
    (compaction,) = session.compactions
    assert compaction.call
    assert (compaction.call.id, compaction.call.usage) == ("r2", Usage(70))
    assert [(b.purpose, b.call.usage) for b in session.side_requests] == [
        ("not in the events", Usage(9))
    ]


def test_outputs_of_evaluations_hold_events_and_metrics(tmp_path: Path) -> None:
    row = {"instance_id": "i-1", "history": [ASKED, acted(2, "ls", **totals(9, 2))], "metrics": {}}
    session = read(tmp_path, row)
    assert (session.id, len(session.calls)) == ("trajectory/i-1", 1)
