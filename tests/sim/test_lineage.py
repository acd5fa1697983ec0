"""The tree of prompts, and writes that nobody reads, against whole prompts compared in pairs."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import Anthropic
from compactlab.sim.cache.prompt import Lineage, Place, Prompt
from compactlab.sim.core.view import View
from compactlab.sim.metrics.run_data import dead_writes
from compactlab.sim.replay.meter import Meter
from compactlab.sim.replay.trace import SideCall
from tests.sim.drawn import GAP, QUICK, Request, model_under, requests, sized, text, views
from tests.sim.reference_cache import blocks_of, shared_blocks, sizes_of

LIVELY = Anthropic(minimum=0)
MODELS = model_under(LIVELY), model_under(LIVELY, "other")
SYSTEM = View((text("", size=500),))


@dataclass(frozen=True)
class Sent:
    """A request that was made: its model, what was sent, and what the meter says of it."""

    model: str
    view: View
    call: SideCall


def sent(session: list[tuple[Request, bool, int]]) -> list[Sent]:
    """Make requests, each as a call of the script or as a side call, of one model or the other."""
    meter, now, made = Meter(), 0.0, []
    for request, aside, which in session:
        now += request.after
        model = MODELS[which]
        if aside:
            bill = meter.side(model, request.view, now, request.ttl, "extra_turn")
        else:
            meter.tokens(model, request.view)
            bill = meter.request(model, now, request.ttl, (), "history_edit")
        call = SideCall("x", model.name, now, bill.usage, bill.causes, place=bill.place)
        made.append(Sent(model.name, request.view, call))
    return made


@st.composite
def sessions(draw: st.DrawFn) -> list[tuple[Request, bool, int]]:
    """Requests; some are side calls, some go to another model."""
    which = st.sampled_from([0, 0, 0, 1])
    drawn = draw(requests(most=12))
    return [(request, draw(st.booleans()), draw(which)) for request in drawn]


def shared(one: Sent, other: Sent) -> int:
    """Tokens that two prompts have in common, block by block; none under different models."""
    if one.model != other.model:
        return 0
    same = shared_blocks(blocks_of(one.view), blocks_of(other.view))
    return sum(sizes_of(one.view, QUICK)[:same])


def dead_by_hand(made: list[Sent]) -> list[int]:
    """Of each request, what it wrote beyond all that any later one has read of the same prompt."""
    dead = []
    for number, one in enumerate(made):
        usage, live = one.call.usage, 0
        for later in made[number + 1 :]:
            live = max(live, min(later.call.usage.cache_read, shared(one, later)))
        end = usage.cache_read + usage.cache_write
        dead.append(max(0, end - max(live, usage.cache_read)))
    return dead


@given(sessions())
def test_a_prompt_goes_on_from_the_one_that_it_shares_most_with(session):
    made = sent(session)
    for number, one in enumerate(made):
        index = one.call.place
        assert index.number == number
        assert index.kept == max((shared(one, before) for before in made[:number]), default=0)
        if index.kept:
            assert shared(one, made[index.stem]) == index.kept


@given(sessions())
def test_dead_writes_are_those_of_whole_prompts_compared_in_pairs(session):
    made = sent(session)
    assert dead_writes([each.call for each in made]) == dead_by_hand(made)


@given(sessions())
def test_no_more_is_dead_than_was_written(session):
    calls = [each.call for each in sent(session)]
    for call, dead in zip(calls, dead_writes(calls), strict=True):
        assert 0 <= dead <= call.usage.cache_write


@given(views(), st.lists(GAP, min_size=10, max_size=10))
def test_a_session_that_goes_on_makes_nothing_dead_that_was_alive(session, gaps):
    made = sent([(Request(v, gap), False, 0) for v, gap in zip(session, gaps, strict=False)])
    calls = [each.call for each in made]
    for end in range(1, len(calls)):
        assert all(map(int.__ge__, dead_writes(calls[:end]), dead_writes(calls)))


def told(*views: View, gap: float = 1.0) -> list[int]:
    return dead_writes([each.call for each in sent([(Request(v, gap), False, 0) for v in views])])


OLD = SYSTEM.append(sized("a", 4000))


def test_only_the_last_write_of_a_session_that_grows_is_for_nothing():
    assert told(OLD, OLD.append(sized("b", 7)), OLD.append(sized("b", 7), sized("c", 5))) == [
        0,
        0,
        5,
    ]


def test_of_what_a_compaction_leaves_behind_the_last_part_was_never_read():
    grown = OLD.append(sized("b", 7))
    after = SYSTEM.append(sized("summary", 50))
    assert told(OLD, grown, after, after.append(sized("c", 5))) == [0, 7, 0, 5]


def test_a_cut_at_every_call_writes_for_nobody():
    cut = [SYSTEM.append(*(sized(f"m{n}", 10) for n in range(i, i + 3))) for i in range(3)]
    assert told(*cut) == [30, 30, 30]


def test_who_goes_back_reads_an_older_branch_and_that_was_not_for_nothing():
    away = SYSTEM.append(sized("other", 300))
    assert told(OLD, away, OLD.append(sized("b", 7))) == [0, 300, 7]


def test_a_side_call_that_rides_reads_what_the_script_wrote():
    ride = OLD.append(sized("ask", 20))
    calls = sent([(Request(OLD), False, 0), (Request(ride), True, 0)])
    assert dead_writes([each.call for each in calls]) == [0, 20]


def test_what_was_written_again_after_it_had_expired_counts_as_read_if_it_is_read_then():
    calls = sent([(Request(OLD, gap), False, 0) for gap in (0.0, 400.0, 1.0)])
    assert [each.call.usage.cache_read for each in calls] == [0, 0, 4500]
    assert dead_writes([each.call for each in calls]) == [0, 0, 0]


def test_a_tree_that_lost_its_root_is_read_from_what_is_there():
    call = sent([(Request(OLD), False, 0), (Request(OLD), False, 0)])[1].call
    assert dead_writes([call]) == [0]


def test_the_same_blocks_stand_in_the_tree_once():
    tree, prompt = Lineage(), Prompt(QUICK)
    places = []
    for number, view in enumerate([OLD, SYSTEM, OLD, OLD.append(sized("b", 7)), OLD]):
        prompt.move(view)
        places.append(tree.place(number, prompt))
        prompt.mark_sent()
    assert places == [
        Place(0, -1, 0), Place(1, 0, 500), Place(2, 0, 4500), Place(3, 0, 4500), Place(4, 0, 4500)
    ]  # fmt: skip


def test_where_all_that_is_stored_expires_every_write_was_for_nothing():
    grown = [OLD.append(*(sized(f"m{n}", 9) for n in range(count))) for count in range(4)]
    assert told(*grown) == [0, 0, 0, 9]
    assert told(*grown, gap=301.0) == [4500, 4509, 4518, 4527]
