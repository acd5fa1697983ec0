"""How long a cache takes for a call of a session that only grows; every policy, 10,000 messages.

Aim: under 10 microseconds a call, of :meth:`Cache.request` alone. Run by ``make bench``.
"""

from __future__ import annotations

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.sim.cache import POLICIES, Request
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.message import Message, Part, Role, Source
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View

MESSAGES = 10_000
ROLES: tuple[Role, ...] = ("user", "assistant", "tool")


def message(number: int) -> Message:
    """One to three parts of about 100 tokens."""
    source = (Source(f"m{number}"),)
    sizes = range(100, 101 + number % 3)
    parts = tuple(Part("text", "", "verbatim", source, size=size) for size in sizes)
    return Message(f"m{number}", ROLES[number % 3], parts)


SYSTEM = View((Part("text", "", "verbatim", (Source("system"),), size=5000),))


def session(policy: str, messages: list[Message]) -> tuple[float, int, int]:
    """Seconds that the cache takes for all calls, five seconds apart, one for each message.

    And the tokens of all prompts, and how many of them were fresh.
    """
    cache, prompt = POLICIES.find(policy)().open(), Prompt(Tokenizer("chars4"))
    view, taken = SYSTEM, 0.0
    tokens = cache_misses = 0
    for call, new in enumerate(messages):
        view = view.append(new)
        prompt.move(view)
        request = Request(prompt, call * 5.0)
        start = time.perf_counter()
        found = cache.request(request)
        taken += time.perf_counter() - start
        tokens += prompt.totals[-1]
        cache_misses += prompt.totals[-1] - found.read
        prompt.mark_sent()
    return taken, tokens, cache_misses


@pytest.mark.parametrize("policy", POLICIES)
def test_ten_thousand_messages(benchmark: BenchmarkFixture, policy: str) -> None:
    messages = [message(number) for number in range(MESSAGES)]
    done: list[tuple[float, int, int]] = []
    benchmark.pedantic(lambda: done.append(session(policy, messages)), rounds=5)
    micros = min(taken for taken, _, _ in done) / MESSAGES * 1e6
    _, tokens, cache_misses = done[0]
    counted = {"calls": MESSAGES, "prompt_tokens": tokens, "cache_miss_tokens": cache_misses}
    benchmark.extra_info["counters"] = counted
    benchmark.extra_info["microseconds_a_call"] = round(micros, 2)
    print(f"\n{policy}: {micros:.1f} microseconds a call")
