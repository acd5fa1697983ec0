"""What Anthropic's pages say of its cache (copies of 2026-08-21), fact by fact, as short stories.

Other facts stand where they belong: prices in test_pricing.py, other providers beside their
policies, what a client may mark in test_marks.py.
"""

import pytest

from compactlab.sim.cache import Anthropic, Lookup, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from compactlab.sim.models.model import catalogue, find_model
from compactlab.sim.replay.meter import Meter
from tests.sim.drawn import Client, Request, model_under, part, sized, text

TOOL = text("", size=3000, name=TOOLS)
SYSTEM = text("", size=2000)
START = View((TOOL, SYSTEM)).append(sized("ask", 1000))
ALL = ("tools", "system", "last")


def client(**figures: object) -> Client:
    return Client(Anthropic(**{"minimum": 0, **figures}).open())  # type: ignore[arg-type]


def blocks(id: str, count: int) -> Message:
    return sized(id, *[100] * count)


def test_10_blocks_hit_15_hit_35_miss():
    """The example of the documentation, with one mark that moves."""
    one, ten = client(marks=("last",)), View().append(blocks("ten", 10))
    fifteen = ten.append(blocks("five", 5))
    assert one.send(Request(ten)).read == 0
    assert one.send(Request(fifteen)).read == 1000
    far = one.send(Request(fifteen.append(blocks("twenty", 20))))
    assert far == Lookup(0, 3500, missed=(("lookback_miss", 1500),))


@pytest.mark.parametrize(("runs_are_one", "read"), [(True, 6000), (False, 5000)])
def test_30_calls_of_tools_and_their_results_are_two_positions(runs_are_one, read):
    """So the course text of 2026-10 has it; counted block by block they are 60."""
    one = client(runs_are_one=runs_are_one)
    one.send(Request(START))
    calls = Message("calls", "assistant", (part("tool_call", "ls", size=20),) * 30)
    results = Message("results", "tool", (part("tool_result", "a b", size=20),) * 30)
    assert one.send(Request(START.append(calls, results))).read == read


def test_a_stream_of_four_minutes_leaves_one():
    """The clock starts with the request, not with the end of its answer."""
    stream, later = 240.0, START.append(sized("answer", 10))
    for pause, read in [(59.0, 6000), (60.0, 6000), (61.0, 0)]:
        one = client()
        one.send(Request(START))
        assert one.send(Request(later, stream + pause)).read == read


def test_what_cold_requests_write_at_once_each_of_them_pays():
    one = client()
    sent = [one.send(Request(START, latency=2.0)) for _ in range(5)]
    assert [told.write_5m for told in sent] == [6000] * 5
    assert [told.missed for told in sent[1:]] == [(("concurrent_cold", 6000),)] * 4


def test_who_waits_for_the_first_answer_to_begin_pays_once():
    one = client()
    first = one.send(Request(START, latency=2.0))
    others = [one.send(Request(START, after, latency=2.0)) for after in (2.0, 0.0, 0.0, 0.0)]
    assert [told.write_5m for told in [first, *others]] == [6000, 0, 0, 0, 0]


def test_who_waits_a_little_less_pays_too_and_makes_nobody_else_wait_longer():
    one = client()
    one.send(Request(START, latency=2.0))
    assert one.send(Request(START, 1.9, latency=2.0)).write_5m == 6000
    assert one.send(Request(START, 0.1, latency=2.0)).read == 6000


def test_a_request_that_went_elsewhere_pays_and_the_next_finds_both():
    one = client()
    one.send(Request(START))
    lost = one.send(Request(START, 200.0, lost=True))
    assert lost == Lookup(0, 6000, missed=(("eviction", 6000),))
    assert one.send(Request(START, 299.0)).read == 6000


def test_what_was_not_found_is_not_refreshed():
    """Only what is written anew lives longer: the ends at its marks, and not START's own."""
    one = client()
    one.send(Request(START))
    one.send(Request(START.append(sized("more", 10)), 200.0, lost=True))
    assert one.send(Request(START, 101.0)).read == 5000


def test_an_hour_is_paid_up_to_the_last_mark_of_an_hour_and_five_minutes_for_the_rest():
    one = client(marks=("tools:1h", "system:1h", "last:5m"))
    assert one.send(Request(START)) == Lookup(0, 1000, 5000)
    assert one.send(Request(START.append(sized("more", 10)))) == Lookup(6000, 10, 0)


def test_after_five_minutes_the_front_is_still_there():
    one = client(marks=("system:1h", "last:5m"))
    one.send(Request(START))
    assert one.send(Request(START, 301.0)) == Lookup(5000, 1000, 0, (("ttl_expired", 6000),))
    assert one.send(Request(START, 3601.0)).write_1h == 5000


def test_nobody_pays_an_hour_for_what_was_found():
    """So it lives on for the five minutes that were paid for, though an hour is asked for now."""
    one = client(marks=("last",))
    one.send(Request(START, ttl="5m"))
    assert one.send(Request(START, 299.0, "1h")) == Lookup(6000)
    assert one.send(Request(START, 301.0, "1h")) == Lookup(0, 0, 6000, (("ttl_expired", 6000),))
    assert one.send(Request(START, 3600.0, "5m")) == Lookup(6000)


# Marks, and the one that the provider sets


def test_four_marks_are_four_entries():
    """What the client adds behind the system prompt may be marked, and outlives the messages."""
    context = text("", size=700, name=CLIENT_CONTEXT)
    front = View((text("", size=4000, name=TOOLS), text("", size=2000), context))
    one = client(marks=("tools", "system", "context", "last"))
    one.send(Request(front.append(sized("start", 100))))
    assert one.send(Request(front.append(sized("another", 100)))).read == 6700


def test_automatic_mode_adds_nothing_to_a_mark_on_the_last_block():
    one, other = client(marks=("last",)), client(marks=("last", "auto"))
    for view in (START, START.append(sized("more", 10))):
        assert one.send(Request(view)) == other.send(Request(view))


def test_automatic_mode_moves_back_from_what_cannot_be_marked():
    one = client(marks=("auto",))
    thought = START.append(Message("t", "assistant", (part("thinking", "", size=50),)))
    assert one.send(Request(thought)) == Lookup(0, 6000)
    # What is not marked is part of the prefix all the same, and read with it.
    longer = thought.append(sized("more", 10))
    assert one.send(Request(longer)) == Lookup(6000, 60, 0, (("no_cache", 6050),))
    assert one.send(Request(longer)) == Lookup(6060)


# The shortest prefix

MINIMUMS = {
    512: "fable-5 fable-5-1 opus-5 opus-5-5 sonnet-5-5 haiku-5-5",
    1024: "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5 sonnet-4 opus-4-1",
    2048: "opus-4-7",
    4096: "opus-4-6 opus-4-5 haiku-4-5",
}


@pytest.mark.parametrize(
    ("name", "least"), [(name, least) for least in MINIMUMS for name in MINIMUMS[least].split()]
)
def test_a_prefix_one_token_short_is_silently_not_cached(name, least):
    policy = find_model(f"claude-{name}").policy
    assert isinstance(policy, Anthropic)
    for tokens, written in [(least - 1, 0), (least, least)]:
        one, view = Client(policy.open()), View().append(sized("m", tokens))
        assert one.send(Request(view)).write_5m == written
        assert one.send(Request(view)).read == written


def test_every_model_of_anthropic_has_a_minimum_of_the_documentation():
    ours = [model for model in catalogue().values() if model.provider == "anthropic"]
    assert ours
    for model in ours:
        assert isinstance(model.policy, Anthropic)
        assert model.policy.minimum in MINIMUMS


# What a change invalidates

PLAIN, PICTURE = Settings(), Message("p", "user", (part("image", "", size=1500),))
MORE = START.append(sized("more", 10))
CHANGES: dict[str, tuple[View, Settings, int]] = {
    "nothing": (MORE, PLAIN, 6000),
    "a tool's text": (MORE.with_system(text("", size=3001, name=TOOLS), SYSTEM), PLAIN, 0),
    "the set of tools": (MORE, Settings(tools="without search"), 0),
    "the system prompt": (MORE.with_system(TOOL, text("", size=2001)), PLAIN, 3000),
    "web search": (MORE, Settings(system="search"), 3000),
    "citations": (MORE, Settings(system="citations"), 3000),
    "speed": (MORE, Settings(system="fast"), 3000),
    "tool choice": (MORE, Settings(messages="tool_choice=any"), 5000),
    "thinking mode": (MORE, Settings(messages="thinking=8000"), 5000),
    "the first image": (START.append(PICTURE), PLAIN, 6000),
    "a message in between": (MORE.append(sized("told in between", 5)), PLAIN, 6000),
    "a result cleared": (START.with_messages([sized("ask", 10)]), PLAIN, 5000),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_felt_from_its_level_on(change):
    view, settings, read = CHANGES[change]
    one = client(marks=ALL)
    one.send(Request(START))
    assert one.send(Request(view, settings=settings)).read == read


@pytest.mark.parametrize("change", [name for name, (_, s, _) in CHANGES.items() if any(s)])
def test_who_changes_back_finds_what_was_there(change):
    one = client(marks=ALL)
    one.send(Request(START))
    one.send(Request(START, settings=CHANGES[change][1]))
    assert one.send(Request(START)).read == 6000


def test_images_change_no_key_of_what_stands_before_them():
    """Measured otherwise than Anthropic's page says: docs/validation.md."""
    one, seen = client(), START.append(PICTURE)
    one.send(Request(seen))
    assert one.send(Request(seen.append(PICTURE))).read == 7500
    one.send(Request(START))
    assert one.send(Request(START.append(PICTURE))).read == 7500


@pytest.mark.parametrize(("strips", "read"), [(True, 5000), (False, 6060)])
def test_older_models_drop_old_thinking_when_a_person_speaks(strips, read):
    one = Client(Anthropic(minimum=0).open(), strips=strips)
    thoughts = part("thinking", "", size=50), text("", size=10)
    answered = START.append(Message("answer", "assistant", thoughts))
    one.send(Request(answered))
    assert one.send(Request(answered.append(sized("asked again", 30)))).read == read


def test_another_model_has_a_cache_of_its_own():
    meter, told = Meter(), []
    for name in ("one", "other", "one"):
        model = model_under(Anthropic(minimum=0), name)
        meter.tokens(model, START)
        told.append(meter.request(model, 0.0, "", (), "model_switch").usage.cache_read)
    assert told == [0, 0, 6000]


@pytest.mark.parametrize(
    ("their_system", "read"), [(START.system, 5000), ((TOOL, text("", size=9)), 3000)]
)
def test_sessions_share_what_they_have_in_front(their_system, read):
    opened = Anthropic(minimum=0, marks=ALL).open()
    mine, theirs = Client(opened), Client(opened)
    mine.send(Request(START))
    view = START.with_system(*their_system).with_messages([sized("another question", 800)])  # type: ignore[arg-type]
    assert theirs.send(Request(view)).read == read


def test_each_session_keeps_the_others_front_alive():
    opened = Anthropic(minimum=0).open()
    mine, theirs = Client(opened), Client(opened)
    other = START.with_messages([sized("another question", 800)])
    mine.send(Request(START))
    for _ in range(3):
        theirs.send(Request(other, 250.0))
    assert mine.send(Request(START, 800.0)) == Lookup(5000, 1000, 0, (("ttl_expired", 6000),))
