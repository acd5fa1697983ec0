"""maf-cachebench: replays a script turn by turn and says how much of each prompt could be reused.

Nobody is asked: a stub stands for the provider, as in its own dry runs, so that its prefix oracle
is what is timed. Its quickest ways are taken: its estimate of tokens by length, and each message
as one text (tool calls as parts take it two to three times as long). One text is one of its
groups, so its window has as many messages as ours.
"""

from __future__ import annotations

import asyncio

from agent_framework import Content, Message
from maf_cachebench import (
    CallOutcome,
    CellKey,
    StrategyOptions,
    Transcript,
    TranscriptTurn,
    build_strategy,
    build_tokenizer,
    run_cell,
    summarize_cell,
)
from stopwatch import best_of, given, tell


def message(role: str, text: str) -> Message:
    return Message(role=role, contents=[Content.from_text(text)])


def transcript(script: dict) -> Transcript:
    """The session as its turns: what comes before each answer, and the answer."""
    messages = [message(each["role"], each["content"]) for each in script["messages"]]
    starts = [0, *(end + 1 for end in script["calls"])]
    turns = [
        TranscriptTurn(tuple(messages[start:end]), (messages[end],))
        for start, end in zip(starts, script["calls"], strict=False)
    ]
    return Transcript("session", message("system", "You are an agent."), tuple(turns), 1)


async def nobody(messages: object) -> CallOutcome:
    return CallOutcome(latency_ms=0.0)


def measure(script: dict, name: str, strategy: str) -> dict[str, object]:
    tokenizer = build_tokenizer("estimator")
    options = StrategyOptions(
        tokenizer=tokenizer,
        max_context_window_tokens=200_000,
        max_output_tokens=512,
        keep_last_groups=script["keep"],
    )
    cell = CellKey("nobody", "none", "session", name, 1)

    def work(session: Transcript) -> int:
        records = asyncio.run(
            run_cell(
                cell=cell,
                transcript=session,
                strategy=build_strategy(name, options),
                tokenizer=tokenizer,
                caller=nobody,
            )
        )
        return summarize_cell(records, cell=cell, reports_cache_tokens=False).turns

    return {
        "strategy": strategy,
        "ran": f"run_cell({name}) and its summary, tokens estimated",
        **best_of(lambda: transcript(script), work),
    }


if __name__ == "__main__":
    _, script = given()
    tell([measure(script, "none", "keep_all"), measure(script, "sliding_window", "sliding_window")])
