"""OpenAI before GPT-5.6: reads on a grid of 128, nothing to pay for writes, idle prefixes die."""

import pytest

from compactlab.sim.cache import Lookup, OpenaiGrid, Settings
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, part, sized, text

START = View().append(sized("start", 2000))


def client(**figures: float) -> Client:
    return Client(OpenaiGrid(**figures).open())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "read"), [(1024, 0), (1025, 1024), (1152, 1024), (1153, 1152), (2000, 1920)]
)
def test_reads_are_multiples_of_128_and_the_last_token_is_none(size, read):
    one = client()
    view = View().append(sized("a", size))
    assert one.send(Request(view)) == Lookup()
    assert one.send(Request(view)) == Lookup(read, missed=(("grid", size),))


def test_what_lies_between_the_grid_and_what_is_new_has_a_cause():
    one = client()
    one.send(Request(START))
    assert one.send(Request(START.append(sized("more", 300)))) == Lookup(
        1920, missed=(("grid", 2000),)
    )


def test_a_short_prefix_is_not_read_though_the_prompt_is_long():
    one = client()
    short = View().append(sized("short", 1000))
    one.send(Request(short))
    lookup = one.send(Request(short.append(sized("long", 9000))))
    assert lookup == Lookup(missed=(("below_minimum", 1000),))


def test_a_rewind_finds_whatever_prefix_was_ever_sent():
    """Unlike where entries end at marks: any common prefix counts."""
    one = client()
    one.send(Request(START.append(sized("a", 500), sized("b", 500))))
    assert one.send(Request(START.append(sized("a", 500), sized("c", 500)))).read == 2432


def test_a_prefix_is_alive_to_the_second_and_dead_after():
    for wait, read in [(1800.0, 1920), (1800.001, 0)]:
        one = client()
        one.send(Request(START))
        assert one.send(Request(START, after=wait)).read == read


def test_a_dead_prefix_is_the_cause_as_far_as_it_would_have_been_read():
    one = client()
    one.send(Request(START))
    late = one.send(Request(START.append(sized("new", 50)), after=1801))
    assert late == Lookup(missed=(("ttl_expired", 1920), ("grid", 2000)))


def test_whatever_is_used_is_kept_with_all_that_leads_to_it_and_no_more():
    one, longer = client(), START.append(sized("more", 2000))
    one.send(Request(longer))
    one.send(Request(START, after=1000))
    lookup = one.send(Request(longer, after=1000))
    assert lookup == Lookup(1920, missed=(("ttl_expired", 3968), ("grid", 4000)))


def test_the_lifetime_that_a_client_asks_for_is_not_heard():
    one = client()
    one.send(Request(START, ttl="1h"))
    assert one.send(Request(START, after=1801, ttl="1h")).read == 0


def test_retention_in_memory_is_a_shorter_lifetime():
    one = client(idle=300)
    one.send(Request(START))
    assert one.send(Request(START, after=301)).read == 0


def test_a_request_that_goes_elsewhere_finds_nothing_and_is_stored():
    one = client()
    one.send(Request(START))
    lost = one.send(Request(START, after=1000, lost=True))
    assert lost == Lookup(missed=(("eviction", 1920), ("grid", 2000)))
    assert one.send(Request(START, after=1000)).read == 1920


def test_parallel_calls_find_nothing_of_each_other():
    one = client()
    one.send(Request(START, latency=10))
    assert one.send(Request(START, after=9)).missed[0] == ("concurrent_cold", 1920)
    assert one.send(Request(START, after=1)).read == 1920


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        (Settings("tools"), 0),
        (Settings("", "version"), 1024),
        (Settings("", "", "effort"), 2048),
        (Settings(), 4096),
    ],
)
def test_a_changed_setting_misses_all_behind_its_level(settings, read):
    one, view = client(), View((text("", size=1100, name="tools"), text("", size=1000)))
    view = view.append(sized("start", 2000))
    one.send(Request(view))
    assert one.send(Request(view, settings=settings)).read == read


def test_an_image_is_a_part_of_the_prompt_and_no_setting():
    one = client()
    one.send(Request(START))
    picture = Message("picture", "user", (part("image", "", size=1200),))
    assert one.send(Request(START.append(picture))).read == 1920
