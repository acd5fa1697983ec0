"""Threads of Anthropic's Messages API: bodies of requests that hold only what is new.

Since 2026-11-02 a body may have a ``thread``. The one that creates it holds the whole conversation;
one that continues it names the answer that it follows, and holds what was said since. The answers
are no part of any body, so both have to be in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from compactlab.scenarios.readers.anthropic import Counts, priced, tier_of, ttl_of, usage_of
from compactlab.scenarios.readers.script import Draft, Script
from compactlab.sim.core.errors import RefusedError
from compactlab.sim.core.message import Call

_LACKING = (
    "this is a continued thread of Anthropic's Messages API; its beginning is not in this file"
)


def is_of_thread(value: Any) -> bool:
    """Whether a value is the body of a request that creates or continues a thread."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return isinstance(value.get("thread"), dict)


class MessageThreads:
    """The threads of a file, which takes bodies and their answers in order.

    Parameters
    ----------
    begin
        Reads a body that holds a whole conversation.
    add
        Adds a message, of a model, to a conversation.
    """

    def __init__(
        self, begin: Callable[[Any], Script], add: Callable[[Script, Any, str], None]
    ) -> None:
        self.scripts: list[Script] = []
        self._begin, self._add = begin, add
        self._asked: tuple[Script, str] | None = None  # what the next answer is to
        self._after: dict[str, tuple[Script, Draft | None]] = {}

    def take(self, value: Any) -> bool:
        """Take a value if it is of a thread."""
        if is_of_thread(value):
            self._request(value, str(value.get("model") or ""))
            return True
        if self._asked and isinstance(value, dict) and value.get("role") == "assistant":
            self._answer(value, *self._asked)
            return True
        return False

    def _request(self, body: dict[str, Any], model: str) -> None:
        if body["thread"].get("type") == "create":
            script = self._begin(body)
            self.scripts.append(script)
        else:
            found = self._after.get(body["thread"].get("previous_message_id"))
            if found is None:
                raise RefusedError(_LACKING)
            script, last = found
            if script.last is not last:
                script.rewind(last)
            for message in body["messages"]:
                self._add(script, message, model)
        self._asked = script, model

    def _answer(self, message: dict[str, Any], script: Script, model: str) -> None:
        self._asked = None
        self._add(script, message, model)
        draft, id = script.last, message.get("id")
        if draft is None or not isinstance(id, str):
            return
        self._after[id] = script, draft
        if message.get("usage"):
            counts = msgspec.convert(message["usage"], Counts)
            usage = usage_of(counts)
            name = priced((draft.call or Call()).model, counts)
            draft.call = Call(name, usage, ttl_of(usage), tier=tier_of(counts), id=id)
