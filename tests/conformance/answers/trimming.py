"""Trimming to a budget: LangChain's trim_messages."""

from typing import Any

from compactlab.sim.core.message import Message, forget_weights
from compactlab.strategies.langchain import TrimMessages, trimmed
from compactlab.strategies.mechanisms.estimate import approximate, approximated
from compactlab.strategies.mechanisms.text import one
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import chats, unchats
from tests.conformance.vectors import Case


def words_plus_3(message: Message) -> int:
    """The counter that the vectors were made with; it looks at the content alone."""
    said = [part.text for part in message.parts if part.type != "tool_call"]
    return len("".join(said).split()) + 3


COUNTERS = {"len": one, "words_plus_3": words_plus_3, "approximate": approximate}


def trim(case: Case) -> Any:
    originals, params = case.input["messages"], dict(case.input["params"])
    history, weight = chats(originals), COUNTERS[params.pop("token_counter")]
    try:
        budget = params.pop("max_tokens")
        kept = trimmed(history, TrimMessages(**params), weight, budget)
    except ValueError as error:
        return {"error": "ValueError", "message": str(error)}
    return {"messages": unchats(kept, history, originals)}


def count(case: Case) -> Any:
    params = case.input["params"]
    chars, extra = params.get("chars_per_token", 4.0), params.get("extra_tokens_per_message", 3.0)
    history = chats(case.input["messages"])
    return {"tokens": sum(approximated(message, chars, extra) for message in history)}


def counted_anew() -> None:
    """What each message weighs is remembered, from the tests before as well."""
    forget_weights()
    under("trim_messages(max_tokens=3000)")()


ANSWERS = [
    Answer(
        "langchain_core.messages.utils.count_tokens_approximately",
        count,
        (approximated,),
        counted_anew,
    ),
    Answer(
        "langchain_core.messages.trim_messages",
        trim,
        (trimmed, approximate),
        under("trim_messages(max_tokens=3000, allow_partial=True)"),
    ),
]
