"""A program that keeps the protocol: how it answers is its first argument."""

import json
import sys

HOW = sys.argv[1] if len(sys.argv) > 1 else "nothing"
HELLO = {
    "idle": {"phases": ["on_idle"], "idle_after": 60},
    "request": {"lifetime": "request"},
    "openai clear": {"lifetime": "request"},
}
known, begun = {}, 0


def send(line):
    print(json.dumps(line), flush=True)


def ask(**line):
    send(line)
    return json.loads(sys.stdin.readline())


def plain(message, shape):
    """A message in the shape of a provider; several results of Anthropic's are not joined."""
    parts = message["parts"]
    text = "\n".join(p["text"] for p in parts if p["type"] in ("text", "tool_result") and p["text"])
    blocks = [{"type": "text", "text": text}]
    blocks += [{"type": "image"} for p in parts if p["type"] == "image"]
    calls = [p for p in parts if p["type"] == "tool_call"]
    result = next((p for p in parts if p["type"] == "tool_result"), None)
    one = {"role": message["role"], "content": blocks}
    if shape == "anthropic":
        if result:
            block = {"type": "tool_result", "tool_use_id": result["call_id"], "content": blocks}
            return {"role": "user", "content": [block]}
        uses = ({"id": p["call_id"], "name": p["name"], "text": p["text"]} for p in calls)
        blocks += [
            {"type": "tool_use", "input": json.loads(use.pop("text")), **use} for use in uses
        ]
        return one
    if result:
        one["tool_call_id"] = result["call_id"]
    if calls:
        one["tool_calls"] = [
            {"id": p["call_id"], "function": {"name": p["name"], "arguments": p["text"]}}
            for p in calls
        ]
    return one


def answer(view):  # noqa: PLR0911, PLR0912
    ids, messages = view["ids"], [known[id] for id in view["ids"]]
    if HOW == "ids":
        return {"messages": ids}
    if HOW == "parts":
        whole = [{"id": m["id"], "parts": list(range(len(m["parts"])))} for m in messages]
        return {"messages": whole, "system": list(range(len(view["system"])))}
    if HOW in ("openai", "anthropic"):
        return {HOW: [plain(message, HOW) for message in messages]}
    if HOW == "last":
        return {"messages": ids[-int(sys.argv[2]) :]}
    if HOW == "openai last":
        return {"openai": [plain(m, "openai") for m in messages[-int(sys.argv[2]) :]]}
    if HOW == "request":
        return {"messages": [cleared(m) for m in messages]}
    if HOW == "openai clear":
        plains = [plain(m, "openai") for m in messages]
        for message in plains:
            if message["role"] == "tool":
                message["content"] = "[cleared]"
        return {"openai": plains}
    if HOW == "summary" and len(ids) > 6:
        more = dict(zip(("rides", "transcript"), sys.argv[2:], strict=False))
        parts = ask(type="summarize", messages=ids[:-2], max_tokens=100, **more)["parts"]
        summary = [{"role": "user", "parts": [{"text": "So far:"}, *parts]}] if parts else []
        return {"messages": [*summary, *ids[-2:]]}
    if HOW == "carry" and len(ids) > 6:
        before = [m["id"] for m in messages if any(p.get("kind") == "summary" for p in m["parts"])]
        old = [id for id in ids[:-2] if id not in before]
        parts = ask(type="summarize", messages=old, max_tokens=100, previous=before)["parts"]
        return {"messages": [{"role": "user", "parts": parts}, *ids[-2:]]}
    if HOW == "own" and view["id"] == 5:
        own = {"role": "user", "parts": [{"text": "Before:"}, {"text": "go", "sources": ids[:1]}]}
        parts = ask(type="summarize", messages=[own, *ids[:-2]], max_tokens=100)["parts"]
        return {"messages": [{"role": "user", "parts": parts}, *ids[-2:]]}
    if HOW == "detached" and view["id"] == 2:
        asked = {"prompt": "Write down what matters.", "purpose": "flush", "waits": False}
        return {"messages": ask(type="turn", detached=True, **asked)["ids"]}
    if HOW == "notes":
        return {"notes": {"asked": view["notes"].get("asked", 0) + 1}}
    if HOW == "mark":
        return {"mark": len(ids)}
    if HOW == "turn" and view["id"] == 2:
        view["ids"] = ask(type="turn", prompt="Write down what matters.", purpose="flush")["ids"]
        return {"messages": view["ids"]}
    if HOW == "files":
        before = ask(type="read", path="a/b.txt")["text"]
        ask(type="write", path="a/b.txt", text=(before or "") + "x")
        parts = [{"part": 0, "text": f"[{before}]", "handle": "a/b.txt"}]
        return {"messages": [*ids[:-1], {"id": ids[-1], "parts": parts}]}
    if HOW == "count":
        tokens = ask(type="count", text="one two three")["tokens"]
        parts = [{"part": 0, "text": f"{tokens}"}]
        return {"messages": [*ids[:-1], {"id": ids[-1], "parts": parts}]}
    if HOW == "carries over" and begun % 2:
        return {"messages": ids[-1:]}
    if HOW == "given":
        return json.loads(sys.argv[2])
    return {}


def cleared(message):
    if message["role"] != "tool":
        return message["id"]
    return {"id": message["id"], "parts": [{"part": 0, "text": "[cleared]"}]}


for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "hello":
        about = {"protocol": 1, "name": "obedient", "version": "1", **HELLO.get(HOW, {})}
        send({"type": "hello", **about})
    elif line["type"] == "begin":
        known, begun, system = {}, begun + 1, []
    else:
        known.update((message["id"], message) for message in line["new"])
        system = line.get("system", system)
        reply = answer({**line, "system": system})
        send({"type": "answer", "id": line["id"], **reply})
