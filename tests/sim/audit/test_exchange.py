"""What the log says of the time between two counted calls."""

import msgspec
import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.replay.recording import Exchange, exchanges
from tests.sim.audit.client import START, Client


def read(client: Client) -> list[Exchange]:
    return [*exchanges(client.log())]


def ids(exchange: Exchange) -> list[str]:
    return [message.id for message in exchange.context]


def test_a_call_starts_with_its_newest_message():
    first, second, third = read(Client().turn(2).wait(60).turn(1))
    assert [each.time - START for each in (first, second, third)] == [0, 6, 72]
    assert [ids(first), ids(second)] == [["m1"], ["m1", "m2", "m3"]]
    assert [[m.id for m in each.arrived] for each in (first, second, third)] == [
        ["m1"],
        ["m3"],
        ["m5"],
    ]


def test_whether_it_opens_a_turn_and_ends_one():
    found = read(Client().turn(3).turn(1))
    assert [each.opens_turn for each in found] == [True, False, False, True]
    assert [each.ends_turn for each in found] == [False, False, True, True]


def test_time_does_not_go_back():
    client = Client().turn(2).turn(2)
    client.events = [
        msgspec.structs.replace(event, time=START - 1_000 * index)  # type: ignore[type-var]
        for index, event in enumerate(client.events)
    ]
    times = [each.time for each in read(client)]
    assert times == sorted(times)


def test_a_compaction_is_a_request_with_all_that_there_was():
    found = read(Client().turn(2).compact(keep=1).turn(1))
    assert [each.compacted is None for each in found] == [True, True, False]
    assert found[2].compacted
    assert [m.id for m in found[2].compacted.context] == ["m1", "m2", "m3", "m4"]
    assert ids(found[2]) == ["m5", "m4", "m6"]


def test_a_rewind_is_told_once():
    found = read(Client().turn(2).rewind("m1").turn(2))
    assert [each.rewound for each in found] == [False, False, True, False]
    assert ids(found[2]) == ["m1", "m5"]


def test_what_was_broken_off_was_sent_nonetheless():
    found = read(Client().turn(1).say().break_off().say().ask())
    assert [len(each.uncounted) for each in found] == [0, 1]
    [broken] = found[1].uncounted
    assert [m.id for m in broken.context] == ["m1", "m2", "m3"]


def test_a_call_without_usage_was_sent_too():
    client = Client().turn(2)
    for index, usage in ((1, None), (3, Usage())):
        event = client.events[index]
        call = msgspec.structs.replace(event.call, usage=usage)  # type: ignore[union-attr]
        client.events[index] = msgspec.structs.replace(event, call=call)  # type: ignore[type-var]
    assert read(client) == []
    [found] = read(client.turn(1))
    assert [len(broken.context) for broken in found.uncounted] == [1, 3]


def test_what_is_cached_ends_at_the_last_mark():
    def cached(ttl: str, **tokens: int) -> int:
        client = Client().turn(1)
        event = client.events[1]
        call = msgspec.structs.replace(event.call, usage=Usage(**tokens), ttl=ttl)  # type: ignore[union-attr]
        client.events[1] = msgspec.structs.replace(event, call=call)  # type: ignore[type-var]
        [found] = read(client)
        return found.cached

    assert cached("5m", uncached=3, cache_read=100, cache_write_5m=20) == 120
    assert cached("", uncached=3, cache_read=100, cache_write_5m=20) == 120
    assert cached("5m", uncached=3, cache_read=100) == 100
    assert cached("", uncached=3, cache_read=100) == 103  # nobody marks: all of it is stored
    assert cached("5m", uncached=900) == 900  # too short to be stored


def test_what_was_said_need_not_be_kept():
    client = Client().turn(2).compact().say().break_off().turn(1)
    for mine, bare in ((each, each.bare()) for each in read(client)):
        assert not bare.context
        assert (mine.cached, mine.opens_turn, mine.ends_turn, mine.key) == (
            (bare.cached, bare.opens_turn, bare.ends_turn, bare.key)
        )
        assert (mine.compacted is None) == (bare.compacted is None)


@pytest.mark.slow
def test_calls_that_nobody_has_counted_are_read_once():
    # What took the square of their number would not come to its end within an hour.
    said = (verbatim("m", "text", "x"),)
    messages = [
        Message(
            f"{n}", "assistant" if n % 2 else "user", said, float(n), call=Call() if n % 2 else None
        )
        for n in range(300_000)
    ]
    assert [*exchanges(Conversation("long", "native", tuple(messages)))] == []
