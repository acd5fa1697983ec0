"""The program's side of docs/protocol.md: copy this file, it needs nothing but Python.

    from compactlab_program import serve

    def compact(view, host):
        return view["ids"][-20:]          # ids keep messages; see docs/protocol.md for edits

    serve(compact, name="keep_last", version="1")

``view`` is the host's line, with ``messages`` and ``system`` filled in. ``compact`` returns None to
leave it alone, a list of edits, or a whole answer (``{"openai": [...], "notes": {...}}``).
"""

import json
import sys


class Host:
    """What the program may ask of the host while it is asked."""

    def __init__(self):
        self.begin, self.system, self._known = {}, [], {}

    def ask(self, type, **fields):
        """Send a request, and wait for what the host says."""
        send({"type": type, **fields})
        return json.loads(sys.stdin.readline())

    def count(self, text):
        """How many tokens a text has."""
        return self.ask("count", text=text)["tokens"]

    def summarize(self, ids, max_tokens, **more):
        """Have messages summarised; the parts of the summary, none if there is nothing to say."""
        return self.ask("summarize", messages=ids, max_tokens=max_tokens, **more)["parts"]

    def turn(self, prompt, **more):
        """Have the agent take an extra turn; the ids of the view after it."""
        turned = self.ask("turn", prompt=prompt, **more)
        self.learn(turned)
        return turned["ids"]

    def read(self, path):
        """The text of a file; None if it was never written."""
        return self.ask("read", path=path)["text"]

    def write(self, path, text):
        """Write a file."""
        self.ask("write", path=path, text=text)

    def learn(self, line):
        """Remember new messages; those of the view, oldest first."""
        self._known.update((message["id"], message) for message in line["new"])
        return [self._known[id] for id in line["ids"]]


def send(line):
    """Write a line. Print nothing else to standard output: notes go to standard error."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def serve(compact, name, version, **hello):
    """Say hello, and answer every view by ``compact(view, host)`` until the host is gone."""
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogatepass")
    host = Host()
    while text := sys.stdin.readline():
        line = json.loads(text)
        if line["type"] == "hello":
            send({"type": "hello", "protocol": 1, "name": name, "version": version, **hello})
        elif line["type"] == "begin":
            host = Host()
            host.begin = line
        elif line["type"] == "view":
            host.system = line.get("system", host.system)
            view = {**line, "messages": host.learn(line), "system": host.system}
            answer = compact(view, host)
            if not isinstance(answer, dict):
                answer = {} if answer is None else {"messages": answer}
            send({"type": "answer", "id": line["id"], **answer})


def openai(messages):
    """Messages of a view in the shape of OpenAI's chat API."""
    return [_openai(message["role"], message["parts"]) for message in messages]


def _openai(role, parts):
    text = "\n".join(p["text"] for p in parts if p["type"] in ("text", "tool_result") and p["text"])
    images = [{"type": "image_url"} for p in parts if p["type"] == "image"]
    message = {"role": role, "content": [{"type": "text", "text": text}, *images]}
    ids = [p.get("call_id", "") for p in parts if p["type"] == "tool_result"]
    message |= {"tool_call_id": [*ids, ""][0]} if role == "tool" else {}
    for part in parts:
        if part["type"] == "tool_call":
            function = {"name": part.get("name", ""), "arguments": part["text"]}
            call = {"id": part.get("call_id", ""), "type": "function", "function": function}
            message.setdefault("tool_calls", []).append(call)
    return message
