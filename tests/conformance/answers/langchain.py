"""LangChain's summarising middleware."""

from typing import Any

from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import View
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host, Services, State
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.langchain import RollingSummary, clauses, cutoff, reached, with_call
from compactlab.strategies.mechanisms.estimate import approximate
from tests.conformance.answers import Answer
from tests.conformance.busy import session
from tests.conformance.peers import chats, unchat
from tests.conformance.vectors import Case

# Not one of Anthropic's, whose tokens LangChain approximates in another way.
MODEL = "gpt-5"


def before_model(case: Case) -> Any:
    originals = case.named("conversations")
    history = chats(originals)
    summary = case.input.get("summary", "")

    def fake(host: Host, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        return (Part("text", summary, "summary", (Source("0"),)),)

    host = Host(find_model(MODEL), State(log=history), Services(summarize=fake))
    after = RollingSummary(**_arguments(case.input["params"])).compact(View((), history), host)
    if after.messages is history:
        return {"fired": False}
    kept = {message.id for message in after.messages}
    return {
        "fired": True,
        "remove_all_first": True,
        "messages": [_written(message, originals) for message in after.messages],
        "summarised_ids": [o["id"] for n, o in enumerate(originals) if str(n) not in kept],
    }


def _arguments(params: Any) -> dict[str, Any]:
    """The parameters as fields: a clause that is an object is several sizes here."""
    trigger = params.get("trigger") or ()
    if isinstance(trigger, dict) or (trigger and not isinstance(trigger[0], str)):
        several = [trigger] if isinstance(trigger, dict) else trigger
        trigger = [list(each.items()) if isinstance(each, dict) else each for each in several]
    named = {"trigger": trigger}
    if "keep" in params:
        named["keep"] = params["keep"]
    if "trim_tokens_to_summarize" in params:
        named["summary_input"] = params["trim_tokens_to_summarize"] or 0
    return named


def _written(message: Message, originals: Any) -> Any:
    if message.origin == "compactionSummary":
        text = "".join(part.text for part in message.parts)
        return {"role": message.role, "content": text, "id": None}
    return unchat(message, originals[int(message.id)], same=True)


def run() -> object:
    """A strategy that has to find its way back from results to their call."""
    messages = session().messages
    history = View((), type(chats(()))(messages))

    def fake(host: Host, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        return (Part("text", "told", "summary", (Source(messages[0].id),)),)

    host = Host(find_model(MODEL), State(log=history.messages), Services(summarize=fake))
    return [
        RollingSummary(("messages", 20), ("messages", keep)).compact(history, host)
        for keep in range(1, 9)
    ]


ANSWERS = [
    Answer(
        "langchain.agents.middleware.SummarizationMiddleware.before_model",
        before_model,
        (RollingSummary.compact, clauses, reached, cutoff, with_call, approximate),
        run,
    )
]
