"""Edit and trim of Inspect AI."""

from typing import Any

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.inspect_ai import InspectCompaction, edited, trimmed
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import changed, chats
from tests.conformance.vectors import Case


def chat(case: Case) -> Messages:
    return Messages(message(str(n), said) for n, said in enumerate(case.input["chat"]))


def message(id: str, said: dict[str, Any]) -> Message:
    if said["role"] == "tool":
        return Message(id, "tool", (verbatim(id, "tool_result", said["text"], call_id=said["id"]),))
    calls = [
        verbatim(id, "tool_call", "{}", name=call["tool"], call_id=call["id"])
        for call in said.get("calls", ())
    ]
    thought = [verbatim(id, "thinking", "hm")] * bool(said.get("thought"))
    return Message(id, said["role"], (*thought, verbatim(id, "text", said["text"]), *calls))


def told(messages: Messages) -> list[Any]:
    return [_told(each) for each in messages]


def _told(message: Message) -> list[Any]:
    first = message.parts[0]
    if message.role == "tool":
        return [first.call_id, first.kind != "stub"]
    text = next((part.text for part in message.parts if part.type == "text"), "")
    if message.role == "user":
        return [text]
    calls = [part.call_id for part in message.parts if part.type == "tool_call"]
    return [text, any(part.type == "thinking" for part in message.parts), calls]


def edit(case: Case) -> Any:
    rule = dict(case.input["rule"])
    exclude = tuple(rule.pop("exclude_tools", ()))
    return told(edited(chat(case), InspectCompaction(kind="edit", exclude_tools=exclude, **rule)))


def trim(case: Case) -> Any:
    return told(trimmed(chat(case), case.input["rule"]))


def shared(case: Case) -> Any:
    """The vectors beside the checkout: in LangChain's words, system messages among them."""
    system = [said for said in case.input["messages"] if said["role"] == "system"]
    said = [said for said in case.input["messages"] if said["role"] != "system"]
    rule = {name: value for name, value in case.input["params"].items() if name != "memory"}
    messages = chats(said)
    if case.input["strategy"] == "CompactionTrim":
        left = trimmed(messages, rule["preserve"])
    else:
        left = edited(messages, InspectCompaction(kind="edit", **rule))
    given = {message.id: message for message in messages}
    rows = [_row(each, said[int(each.id)], same=not changed(each, given)) for each in left]
    return {"messages": [*map(_plain, system), *rows], "appended": None}


def _plain(said: Any) -> dict[str, Any]:
    return {"id": said["id"], "role": said["role"], "content": said["content"]}


def _row(message: Message, said: Any, *, same: bool) -> dict[str, Any]:
    calls = {call["id"]: call for call in said.get("tool_calls", ())}
    left = [calls[part.call_id] for part in message.parts if part.type == "tool_call"]
    texts = [_words(part) for part in message.parts if part.type in ("text", "tool_result")]
    row = _plain(said) | ({} if same else {"id": None, "content": "\n".join(texts)})
    return row | ({"tool_calls": left} if left else {})


def _words(part: Part) -> str:
    """What is removed, in the words of the original."""
    if part.kind != "stub":
        return part.text
    if part.type == "tool_result":
        return "(Tool result removed)"
    return f"[Tool call: {part.name} (parameters and results removed from history)]"


ANSWERS = [
    Answer(
        "inspect_ai.model.Compaction{Trim,Edit}.compact",
        shared,
        (edited,),
        under("inspect_compaction(kind='edit', trigger=6000, keep_tool_inputs=False)"),
    ),
    Answer(
        "inspect_ai.CompactionEdit.compact",
        edit,
        (edited,),
        under("inspect_compaction(kind='edit', trigger=6000)"),
    ),
    Answer(
        "inspect_ai.trim_messages",
        trim,
        (trimmed,),
        under("inspect_compaction(kind='trim', trigger=6000)"),
    ),
]
