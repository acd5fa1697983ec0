"""Sessions that have tools and system prompt in common read them from one another."""

import msgspec

from compactlab.sim.cache import Cache
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, Part, verbatim
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import Step
from compactlab.strategies.catalogue import find_strategy

MODEL = "claude-opus-4-6"
SYSTEM = Part("text", "", "opaque", (), "tools and system prompt", size=20_000)


def session(id: str, start: float, system: Part = SYSTEM) -> Conversation:
    asked = Message("u", "user", (verbatim("u", "text", f"{id}: hello"),), start)
    answer = Message("a", "assistant", (verbatim("a", "text", "hi"),), start + 5, call=Call())
    return Conversation(id, "toy", (asked, answer), (system,))


def first_call(conversation: Conversation, caches: dict[str, Cache]) -> Step:
    return record(conversation, find_strategy("keep_all"), Options(MODEL, caches=caches)).steps[0]


def test_the_second_of_two_sessions_reads_what_the_first_has_written():
    caches: dict[str, Cache] = {}
    first = first_call(session("one", 1000.0), caches)
    second = first_call(session("two", 1200.0), caches)
    assert first.usage.cache_read == 0
    assert second.usage.cache_read == second.usage.prompt - sum(second.causes.values()) > 20_000


def test_five_minutes_later_there_is_nothing_left_to_read():
    caches: dict[str, Cache] = {}
    first_call(session("one", 1000.0), caches)
    assert first_call(session("two", 1301.0), caches).usage.cache_read == 0


def test_another_system_prompt_shares_nothing():
    caches: dict[str, Cache] = {}
    first_call(session("one", 1000.0), caches)
    other = msgspec.structs.replace(SYSTEM, size=20_001)
    assert first_call(session("two", 1200.0, other), caches).usage.cache_read == 0


def test_sessions_know_nothing_of_each_other_unless_told():
    first_call(session("one", 1000.0), {})
    assert first_call(session("two", 1200.0), {}).usage.cache_read == 0
