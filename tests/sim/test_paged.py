"""A paged cache: it agrees with a dictionary of 16-token pages, and several sessions share it."""

from collections import OrderedDict
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache import Lookup, Paged
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, SETTINGS, Client, Request, sized
from tests.sim.reference_cache import sent_under, sizes_of

Page = tuple[object, ...]
SIZES = st.lists(st.sampled_from([1, 7, 16, 16, 32, 50, 112]), min_size=1, max_size=4)
DEEDS = st.sampled_from(["append", "append", "append", "cut", "edit", "back"])
STEP = st.tuples(st.integers(0, 2), DEEDS, st.sampled_from("abc"), SIZES, SETTINGS)
CAPACITIES = [0, 15, 16, 48, 160, 500, 10_000]


@dataclass
class ReferencePages:
    """Pages by their tokens and all before them, the one that was used longest ago first."""

    capacity: int
    pages: OrderedDict[Page, None] = field(default_factory=OrderedDict)

    def request(self, request: Request) -> int:
        mine = pages_of(request)
        tokens = sum(sizes_of(request.view, QUICK))
        read = 0
        while read < len(mine) and mine[read] in self.pages and 16 * (read + 1) < tokens:
            read += 1
        for page in reversed(mine):  # freed from the end, so that the deepest go first
            self.pages.pop(page, None)
            self.pages[page] = None
        while len(self.pages) > self.capacity // 16:
            self.pages.popitem(last=False)
        return 16 * read


def pages_of(request: Request) -> list[Page]:
    """The full pages of a prompt: what a page is, and which one stands before it."""
    tokens = [
        (block, place)
        for block, size in zip(
            sent_under(request.view, request.settings),
            sizes_of(request.view, QUICK),
            strict=True,
        )
        for place in range(size)
    ]
    pages: list[Page] = []
    for end in range(16, len(tokens) + 1, 16):
        name = hash((pages[-1] if pages else None, *tokens[end - 16 : end]))
        pages.append((name,))
    return pages


def changed(view: View, past: list[View], deed: str, id: str, sizes: list[int]) -> View:
    """The next view of a session."""
    old, new = view.messages, sized(id, *sizes)
    if deed == "cut":
        return view.with_messages(old[len(sizes) :])
    if deed == "edit":
        at = max(len(old) - len(sizes), 0)
        return view.with_messages([*old[:at], new, *old[at + 1 :]])
    if deed == "back":
        return past[-len(sizes)] if len(past) >= len(sizes) else view
    return view.append(new)


@given(st.sampled_from(CAPACITIES), st.lists(STEP, max_size=20))
@settings(max_examples=200)
def test_it_agrees_with_a_dictionary_of_pages_however_many_sessions_share_it(capacity, steps):
    cache, naive = Paged(capacity).open(), ReferencePages(capacity)
    clients, past = [Client(cache) for _ in range(3)], [[View()] for _ in range(3)]
    for lane, deed, id, sizes, under in steps:
        view = changed(past[lane][-1], past[lane], deed, id, sizes)
        past[lane].append(view)
        request = Request(view, settings=under)  # type: ignore[arg-type]
        lookup = clients[lane].send(request)
        assert lookup.read == naive.request(request)
        assert lookup.write_5m == lookup.write_1h == 0
        assert all(cause in ("eviction", "grid") for cause, _ in lookup.missed)


@given(st.sampled_from(CAPACITIES), st.lists(STEP, max_size=15))
def test_more_room_never_reads_less(capacity, steps):
    """A request's deepest pages go first, so the least recently used are a part of those."""
    small, large = Client(Paged(capacity).open()), Client(Paged(2 * capacity + 16).open())
    past = [View()]
    for _, deed, id, sizes, _ in steps:
        past.append(changed(past[-1], past, deed, id, sizes))
        assert small.send(Request(past[-1])).read <= large.send(Request(past[-1])).read


SYSTEM = View().append(sized("system", 1600))


def test_only_full_pages_are_read_and_the_last_token_never():
    client = Client(Paged().open())
    for size, read in [(15, 0), (16, 0), (17, 16), (32, 16), (33, 32)]:
        view = View().append(sized(f"m{size}", size))
        client.send(Request(view))
        assert client.send(Request(view)) == Lookup(read, missed=(("grid", size),))


def test_sessions_that_take_turns_share_what_they_begin_with():
    cache = Paged().open()
    one, other = Client(cache), Client(cache)
    assert one.send(Request(SYSTEM.append(sized("a", 160)))).read == 0
    assert other.send(Request(SYSTEM.append(sized("b", 160)))).read == 1600
    assert one.send(Request(SYSTEM.append(sized("a", 160), sized("c", 1)))).read == 1760


def test_a_page_over_the_end_of_what_is_shared_is_not_shared():
    cache = Paged().open()
    one, other = Client(cache), Client(cache)
    system = View().append(sized("system", 1610))
    one.send(Request(system.append(sized("a", 160))))
    lookup = other.send(Request(system.append(sized("b", 160))))
    assert lookup == Lookup(1600, missed=(("grid", 1610),))


def test_what_another_session_drove_out_is_gone_from_its_end():
    cache = Paged(capacity=3200).open()
    one, other = Client(cache), Client(cache)
    long, short = SYSTEM.append(sized("a", 1600)), View().append(sized("b", 80))
    one.send(Request(long))
    other.send(Request(short))
    lookup = one.send(Request(long.append(sized("c", 1))))
    assert lookup == Lookup(3120, missed=(("eviction", 3200),))


def test_who_waits_loses_nothing_and_who_is_crowded_out_loses_all():
    cache = Paged(capacity=1600).open()
    one, other = Client(cache), Client(cache)
    one.send(Request(SYSTEM))
    assert one.send(Request(SYSTEM, after=1e9)).read == 1584
    other.send(Request(View().append(sized("other", 1600))))
    assert one.send(Request(SYSTEM)) == Lookup(missed=(("eviction", 1584), ("grid", 1600)))


def test_a_prompt_larger_than_the_cache_keeps_its_first_pages():
    client, view = Client(Paged(capacity=800).open()), SYSTEM.append(sized("a", 1600))
    client.send(Request(view))
    lookup = client.send(Request(view.append(sized("b", 16))))
    assert lookup == Lookup(800, missed=(("eviction", 3200),))


def test_a_prompt_whose_answer_has_not_begun_is_not_read():
    client = Client(Paged().open())
    client.send(Request(SYSTEM, latency=5.0))
    cold = client.send(Request(SYSTEM, after=1.0, latency=1.0))
    assert cold == Lookup(missed=(("concurrent_cold", 1584), ("grid", 1600)))
    assert client.send(Request(SYSTEM, after=1.0)).read == 1584


def test_what_is_read_begins_with_the_earliest_answer():
    client, longer = Client(Paged().open()), SYSTEM.append(sized("a", 160))
    client.send(Request(SYSTEM, latency=5.0))
    client.send(Request(longer, after=3.0, latency=5.0))
    assert client.send(Request(longer, after=2.0)).read == 1600
