"""How long it takes to make up a session of each kind, and to summarise texts without an end.

Aims, of processor time on the machine of ``docs/dev/performance.md``: 0.3 s for a session of
100,000 tokens, 3 s for a line of a megabyte and for 10,000 messages. Run by ``make bench``.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.scenarios.catalogue import SCENARIOS
from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.extractive import Lexrank

LINES = {
    "one word": "x" * 10**6,
    "words": "word " * 200_000,
    "names": "a.b/c_d" * 150_000,
    "blanks": " " * 10**6,
    "sentences": "A. " * 300_000,
}


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_making_up_a_hundred_thousand_tokens(benchmark: BenchmarkFixture, name: str) -> None:
    scenario = SCENARIOS[name](tokens=100_000)
    made = benchmark.pedantic(scenario.conversation, (0,), rounds=3, warmup_rounds=1)
    texts = [part.text for message in made.messages for part in message.parts]
    benchmark.extra_info["counters"] = {
        "messages": len(made.messages),
        "characters": sum(map(len, texts)),
    }


def summed_up(messages: tuple[Message, ...], budget: int) -> tuple[Part, ...]:
    request = SummaryRequest(messages, budget)
    return Lexrank().summarize(request, Tokenizer().text)


def summarising(benchmark: BenchmarkFixture, messages: tuple[Message, ...], budget: int) -> None:
    # Once: the second time, what was counted is remembered.
    parts = benchmark.pedantic(summed_up, (messages, budget), rounds=1)
    benchmark.extra_info["counters"] = {"characters": sum(len(part.text) for part in parts)}


@pytest.mark.parametrize("line", LINES)
def test_one_giant_line(benchmark: BenchmarkFixture, line: str) -> None:
    part = verbatim("m1", "text", LINES[line])
    summarising(benchmark, (Message("m1", "user", (part,)),), 200)


def test_ten_thousand_messages(benchmark: BenchmarkFixture) -> None:
    log = []
    for n in range(10_000):
        said = "\n".join(f"step {n}.{k} of job_{n * k % 97} is done" for k in range(10))
        log.append(Message(f"m{n}", "user", (verbatim(f"m{n}", "text", said),)))
    summarising(benchmark, tuple(log), 2_000)
