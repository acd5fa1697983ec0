"""LangChain's own trim_messages and middleware, as programs of compactlab's protocol.

Usage: with_langchain.py trim MAX_TOKENS | summarization TRIGGER KEEP | editing TRIGGER
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from pieces import Piece, edits, ids, pieces, says_summary, text_of

from compactlab_program import Host, serve  # isort: skip


def langchain(
    piece: Piece, usage: dict[str, int] | None = None, *, anthropic: bool = True
) -> AnyMessage:
    """A piece as ChatAnthropic would have it, in blocks unless it is text alone; or ChatOpenAI."""
    texts = [text_of(part) for part in piece.parts if part["type"] in ("text", "tool_result")]
    content: Any = piece.text
    if piece.images or len(texts) > 1:
        shown = [{"type": "image"}] * piece.images
        content = [*({"type": "text", "text": text} for text in texts), *shown]
    if piece.role == "user":
        return HumanMessage(id=piece.key, content=content)
    if piece.role == "tool":
        result = piece.result
        return ToolMessage(
            id=piece.key,
            content=content,
            tool_call_id=result.get("call_id", ""),
            name=result.get("name") or None,
            status="error" if result.get("is_error") else "success",
        )
    calls = [{**call, "type": "tool_call"} for call in piece.calls]
    found = blocks(piece)
    counted = None
    if usage is not None:
        prompt = usage["uncached"] + usage["cache_read"]
        prompt += usage["cache_write_5m"] + usage["cache_write_1h"]
        output = usage["output"]
        counted = {"input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    return AIMessage(
        id=piece.key,
        content=found if anthropic and (calls or len(found) != 1) else piece.text,
        tool_calls=calls,
        usage_metadata=counted,
        response_metadata={"model_provider": "anthropic"},
    )


def blocks(piece: Piece) -> list[dict[str, Any]]:
    """What an answer of Anthropic's holds; signatures of thinking are in no view."""
    found: list[dict[str, Any]] = []
    for part in piece.parts:
        if part["type"] == "thinking" and part["text"]:
            found.append({"type": "thinking", "thinking": part["text"], "signature": ""})
        elif part["type"] == "text":
            found.append({"type": "text", "text": part["text"]})
    uses = [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
        for call in piece.calls
    ]
    return [*found, *uses]


def history(view: dict[str, Any], host: Host) -> tuple[list[Piece], list[AnyMessage]]:
    """The pieces of a view, and its messages; each answer has the provider's report of it."""
    known = list(pieces(view["messages"]))
    reported = vars(host).setdefault("reported", {})
    last = next((p for p in reversed(known) if p.role == "assistant"), None)
    if last is not None and view["usage"] is not None:
        reported.setdefault(last.key, view["usage"])
    anthropic = host.begin["model"].startswith("claude")
    return known, [langchain(p, reported.get(p.key), anthropic=anthropic) for p in known]


def kept(messages: Sequence[BaseMessage], before: Sequence[BaseMessage]) -> list[Any]:
    """Pieces by key; those whose text is another, with it."""
    texts = {message.id: message.text for message in before}
    return [m.id if texts[m.id] == m.text else (m.id, m.text) for m in messages]


def trimming(max_tokens: int) -> Any:
    """trim_messages, counting by its own approximation."""

    def compact(view: dict[str, Any], host: Host) -> list[Any]:
        known, messages = history(view, host)
        left = trim_messages(messages, max_tokens=max_tokens, token_counter="approximate")  # noqa: S106
        return edits(kept(left, messages), known)

    return compact


def editing(trigger: int) -> Any:
    """ContextEditingMiddleware with its one edit."""
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=trigger)])

    def compact(view: dict[str, Any], host: Host) -> list[Any]:
        known, messages = history(view, host)
        request = ModelRequest(
            model=None, messages=messages, tools=[], tool_choice=None, response_format=None,
            system_prompt=None, state={"messages": messages}, runtime=None,
        )  # fmt: skip
        sent: list[BaseMessage] = []
        middleware.wrap_model_call(request, lambda asked: sent.extend(asked.messages))
        return edits(kept(sent, messages), known)

    return compact


class Asked(BaseChatModel):
    """The model that is to summarise: compactlab's summariser is asked in its place."""

    middleware: Any = None
    parts: Any = ()

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"

    def _get_ls_params(self, stop: Any = None, **more: Any) -> dict[str, str]:
        return {"ls_provider": "anthropic"}

    def _generate(self, messages: Any, *args: Any, **more: Any) -> ChatResult:
        middleware = self.middleware
        known = {message["id"]: message for message in middleware.view["messages"]}
        given = ids(message.id for message in middleware.given)
        before = [id for id in given if says_summary(known[id])]
        self.parts = middleware.host.summarize(
            [id for id in given if id not in before],
            middleware.host.begin["max_output"] or 4096,
            previous=before,
            transcript=messages[0].content,
        )
        text = "\n".join(part["text"] for part in self.parts)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])


class Noting(SummarizationMiddleware):
    """The middleware itself, which notes what it gives to the model."""

    given: Sequence[AnyMessage] = ()

    def _trim_messages_for_summary(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        self.given = super()._trim_messages_for_summary(messages)
        return self.given


def summarization(trigger: float, keep: int) -> Any:
    """SummarizationMiddleware; the trigger is a share of the window up to 1, else tokens."""

    def compact(view: dict[str, Any], host: Host) -> list[Any] | None:
        known, messages = history(view, host)
        model = Asked(profile={"max_input_tokens": view["window"]})
        kind = "fraction" if trigger <= 1 else "tokens"
        middleware = Noting(
            model,
            trigger=(kind, trigger if trigger <= 1 else int(trigger)),
            keep=("messages", keep),
        )
        model.middleware, middleware.host, middleware.view = middleware, host, view
        changed = middleware.before_model({"messages": messages}, None)
        if changed is None:
            return None
        removal, summary, *rest = changed["messages"]
        assert isinstance(removal, RemoveMessage)
        lead, _, text = summary.content.partition("\n\n")
        parts = model.parts or [{"text": text}]
        new = {"role": "user", "parts": [{"text": f"{lead}\n\n"}, *parts]}
        return edits([new, *kept(rest, messages)], known)

    return compact


if __name__ == "__main__":
    mode, *settings = sys.argv[1:]
    numbers = [float(each) for each in settings]
    version = "1.5.2"
    if mode == "trim":
        serve(trimming(int(numbers[0])), "langchain trim_messages", version, lifetime="request")
    elif mode == "editing":
        name = "langchain ContextEditingMiddleware"
        serve(editing(int(numbers[0])), name, version, lifetime="request", does=["clear"])
    else:
        name = "langchain SummarizationMiddleware"
        serve(summarization(numbers[0], int(numbers[1])), name, version, does=["summarise"])
