"""A small server in the shape of OpenAI's chat completions and of Anthropic's messages.

It answers by what it is asked: the first words of every sentence, so that a summary of it holds
some facts and the same request has the same answer.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WORDS = 12


@dataclass
class Endpoint:
    """What the server was asked, and how it is to behave."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    refuse: list[int] = field(default_factory=list)  # codes of the next answers, one each
    says: str = ""  # what it answers, whatever it is asked
    blames: str = "no"  # what it says is wrong where it refuses
    body: object = None  # all that it sends, if that is not to be an answer


def answer_to(body: dict[str, Any]) -> str:
    """The first words of the sentences that it was given, as many as it may say."""
    text = "\n".join(message["content"] for message in body["messages"])
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text)
    words = [word for each in sentences for word in each.split()[:_WORDS]]
    most = body.get("max_tokens") or body["max_completion_tokens"]
    return " ".join(words[: max(1, most // 8)])


def tokens(text: str) -> int:
    return len(text) // 4 + 1


@contextmanager
def serving() -> Iterator[Endpoint]:
    """The server, at an address of this machine alone, while the block lasts."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
            state.asked.append({**body, "path": self.path})
            state.keys.append(self.headers.get("x-api-key") or bearer)
            if state.refuse:
                self._send(state.refuse.pop(0), {"error": {"message": state.blames}})
                return
            if state.body is not None:
                self._send(200, state.body)
                return
            said = state.says or answer_to(body)
            given = sum(tokens(message["content"]) for message in body["messages"])
            completion = self.path.endswith("/chat/completions")
            shaped = _completion if completion else _message
            self._send(200, shaped(body["model"], said, given))

        def _send(self, code: int, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *about: object) -> None:
            """Nothing: a test that fails shows what it was asked."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def _completion(model: str, said: str, given: int) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": f"{model}-served",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": said},
            }
        ],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": tokens(said),
            "total_tokens": given + tokens(said),
        },
    }


def _message(model: str, said: str, given: int) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": f"{model}-served",
        "content": [{"type": "text", "text": said}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": given, "output_tokens": tokens(said)},
    }
