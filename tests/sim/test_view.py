"""Messages and views, against plain lists."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from compactlab.sim.core.message import Message
from compactlab.sim.core.view import Messages, View
from tests.sim.drawn import sized, text

Pair = tuple[Messages, list[Message]]

# Content repeats, so that equal messages are not always the same one.
POOL = [sized(f"m{number % 4}", number % 3) for number in range(8)]
MESSAGE = st.sampled_from(POOL)
PLACE = st.integers(-4, 4) | st.none()
WEIGHT = st.integers(-1, 8)


def weigh(message: Message) -> int:
    return message.parts[0].size


def same(one: object, other: list[Message]) -> bool:
    """Whether they are the same objects, in the same order."""
    return [*map(id, one)] == [*map(id, other)]  # type: ignore[call-overload]


class Lists(RuleBasedStateMachine):
    """Each sequence is kept beside a list that was treated the same way."""

    pairs = Bundle("pairs")

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Pair] = []

    def keep(self, messages: Messages, items: list[Message]) -> Pair:
        self.known.append((messages, items))
        return messages, items

    @initialize(target=pairs, items=st.lists(MESSAGE, max_size=4))
    def begin(self, items: list[Message]) -> Pair:
        return self.keep(Messages(iter(items)), list(items))

    @rule(target=pairs, pair=pairs, new=st.lists(MESSAGE, max_size=2))
    def append(self, pair: Pair, new: list[Message]) -> Pair:
        return self.keep(pair[0].append(*new), [*pair[1], *new])

    @rule(target=pairs, pair=pairs, start=PLACE, stop=PLACE)
    def slice(self, pair: Pair, start: int | None, stop: int | None) -> Pair:
        return self.keep(pair[0][start:stop], pair[1][start:stop])

    @rule(target=pairs, pair=pairs, index=st.integers(0, 4), new=st.lists(MESSAGE, max_size=3))
    def branch(self, pair: Pair, index: int, new: list[Message]) -> Pair:
        index = min(index, len(pair[0]))
        pair[0].total(weigh)
        return self.keep(pair[0].branch(index, new), [*pair[1][:index], *new])

    @rule(target=pairs, pair=pairs, start=PLACE, new=st.dictionaries(st.integers(0, 3), MESSAGE))
    def replace(self, pair: Pair, start: int | None, new: dict[int, Message]) -> Pair:
        pair[0][:start].total(weigh)
        items = [new.get(index, message) for index, message in enumerate(pair[1])]
        new = {index: message for index, message in new.items() if index < len(items)}
        return self.keep(pair[0].replace(new), items)

    @rule(pair=pairs, other=pairs)
    def edit(self, pair: Pair, other: Pair) -> None:
        (mine, items), (its, others) = pair, other
        before, gone, come = mine.edit(its)
        assert before <= gone <= len(items)
        behind = come + len(items) - gone
        assert before <= come <= behind <= len(others)
        assert same(items[:before], others[:before])
        assert same(items[gone:], others[come:behind])

    @rule(pair=pairs, other=pairs)
    def compare(self, pair: Pair, other: Pair) -> None:
        (mine, items), (its, others) = pair, other
        shared = [a is b for a, b in zip(items, others, strict=False)]
        assert mine.shared(its) == its.shared(mine) == [*shared, False].index(False)
        assert (mine == its) == (items == others)
        assert mine != its or hash(mine) == hash(its)

    @rule(pair=pairs, other=pairs)
    def differ(self, pair: Pair, other: Pair) -> None:
        gone, come = (sorted(map(id, part)) for part in pair[0].difference(other[0]))
        counts = [[*map(id, items)] for items in (pair[1], other[1])]
        if all(len(set(ids)) == len(ids) for ids in counts):
            assert gone == sorted(set(counts[0]) - set(counts[1]))
            assert come == sorted(set(counts[1]) - set(counts[0]))

    @rule(pair=pairs, budget=WEIGHT)
    def weigh_tails(self, pair: Pair, budget: int) -> None:
        messages, items = pair
        tails = [sum(map(weigh, items[start:])) for start in range(len(items) + 1)]
        assert messages.total(weigh) == tails[0]
        light = [start for start, tail in enumerate(tails) if tail <= budget]
        assert messages.tail_from(weigh, budget) == (light[0] if light else len(items))
        heavy = [start for start, tail in enumerate(tails[:-1]) if tail >= budget]
        assert messages.last_holding(weigh, budget) == (heavy[-1] if heavy else None)

    @rule(pair=pairs, place=st.integers(-5, 5))
    def pick(self, pair: Pair, place: int) -> None:
        messages, items = pair
        if -len(items) <= place < len(items):
            assert messages[place] is items[place]
        else:
            with pytest.raises(IndexError):
                messages[place]

    @invariant()
    def nobody_was_disturbed(self) -> None:
        for messages, items in self.known:
            assert same(messages, items)
            assert same(reversed(messages), items[::-1])
            assert len(messages) == len(items)


TestMessages = Lists.TestCase
TestMessages.settings = settings(max_examples=60, stateful_step_count=25)


def test_two_who_go_on_from_the_same_place_do_not_meet():
    base = Messages(POOL[:2])
    one, other = base.append(POOL[2]), base.append(POOL[3])
    assert same(base, POOL[:2])
    assert same(one.append(POOL[4]), [*POOL[:3], POOL[4]])
    assert same(other.append(POOL[4]), [*POOL[:2], POOL[3], POOL[4]])


def test_who_goes_on_the_same_way_shares_the_storage():
    base = Messages(POOL[:2])
    one, other = base.append(POOL[2], POOL[3]), base.append(POOL[2])
    assert one.stored_with(other)
    assert not one.stored_with(base.append(POOL[5]))
    assert same(other.append(POOL[3], POOL[4]), POOL[:5])
    assert same(one, POOL[:4])


def test_a_branch_knows_what_it_has_in_common_with_what_it_was_made_from():
    weighed: list[str] = []

    def weight(message: Message) -> int:
        weighed.append(message.id)
        return 1

    base = Messages(POOL[:6])
    assert base.total(weight) == 6
    branch = base[1:].branch(3, [POOL[7]])
    assert same(branch, [*POOL[1:4], POOL[7]])
    assert (branch.total(weight), len(weighed)) == (4, 7)
    assert branch.shared(base[1:]) == base[1:].shared(branch) == 3
    with pytest.raises(IndexError):
        base.branch(7, [])


def test_the_list_that_it_was_made_from_may_change_afterwards():
    items = POOL[:2]
    messages = Messages(items)
    items.clear()
    assert same(messages, POOL[:2])


@given(st.tuples(PLACE, PLACE), st.tuples(PLACE, PLACE), st.booleans())
def test_the_difference_is_what_must_go_and_what_must_come(mine, its, apart):
    messages = Messages(POOL)
    here, there = messages[slice(*mine)], messages[slice(*its)]
    gone, come = here.difference(Messages(there) if apart else there)
    ids = set(map(id, here)), set(map(id, there))
    assert same(gone, [message for message in here if id(message) not in ids[1]])
    assert same(come, [message for message in there if id(message) not in ids[0]])


@given(
    st.lists(st.integers(0, 7), unique=True),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 3),
)
def test_an_edit_in_one_place_is_told_from_what_moved(order, start, stop, new):
    items = [POOL[index] for index in order]
    start, stop = min(start, len(items)), min(max(start, stop), len(items))
    come = [sized("come", 9) for _ in range(new)]
    after = Messages([*items[:start], *come, *items[stop:], sized("new", 1)])
    edit = Messages(items).edit(after)
    if stop < len(items) and (come or start < stop):
        assert edit == (start, stop, start + new)


def test_only_messages_that_are_there_are_replaced():
    messages = Messages(POOL[:3])
    assert messages.replace({}) is messages
    for place in (-1, 3):
        with pytest.raises(IndexError):
            messages.replace({place: POOL[0]})


def test_what_is_replaced_holds_the_new_and_not_the_old():
    messages = Messages(POOL[:3]).replace({1: POOL[5]})
    assert [messages.holds(message) for message in POOL[:6]] == [1, 0, 1, 0, 0, 1]


def test_messages_are_immutable():
    messages = Messages(POOL[:2])
    with pytest.raises(TypeError):
        messages[0] = POOL[1]  # type: ignore[index]
    with pytest.raises(AttributeError):
        messages.extra = 1  # type: ignore[attr-defined]


def test_messages_travel_alone():
    """Not with all that was ever stored beside them."""
    sent = pickle.dumps(Messages(POOL)[1:2])
    assert pickle.loads(sent) == Messages(POOL[1:2])
    assert len(sent) < len(pickle.dumps(POOL))


def test_messages_are_sliced_in_order():
    with pytest.raises(ValueError, match="in order"):
        Messages(POOL)[::-1]
    assert same(Messages(POOL)[2:100][1:][:-1], POOL[3:-1])


def test_messages_are_no_list():
    assert Messages(POOL) != POOL
    assert repr(Messages(POOL[:2])) == "Messages(['m0', 'm1'])"


def test_each_message_is_weighed_once_however_a_session_grows():
    weighed: list[str] = []

    def weight(message: Message) -> int:
        weighed.append(message.id)
        return 1

    messages = Messages()
    for number in range(50):
        messages = messages.append(sized(f"m{number}", 1))
        assert messages.total(weight) == number + 1
        assert messages[-5:].tail_from(weight, 3) == max(0, min(number + 1, 5) - 3)
    assert weighed == [f"m{number}" for number in range(50)]


@given(st.lists(MESSAGE, max_size=4), st.lists(MESSAGE, max_size=4))
def test_a_view_with_the_same_messages_is_that_very_view(items, others):
    view = View((text("system"),), Messages(items))
    changed = view.with_messages(others)
    assert same(changed.messages, others)
    assert (changed is view) == same(items, others)
    assert view.with_messages(view.messages[:]) is view
    assert same(view.messages, items)


def test_a_view_that_is_appended_to_stays_as_it_was():
    view = View((text("system"),)).append(POOL[0])
    longer = view.append(POOL[1])
    assert (len(view.messages), len(longer.messages)) == (1, 2)
    assert longer.system is view.system


def test_other_system_blocks_leave_the_messages():
    view = View((text("old"),)).append(POOL[0])
    changed = view.with_system(text("new"), text("er"))
    assert [part.text for part in changed.system] == ["new", "er"]
    assert changed.messages is view.messages
    assert [part.text for part in view.system] == ["old"]


def test_a_view_cannot_be_changed():
    with pytest.raises(AttributeError):
        View().system = ()  # type: ignore[misc]


def test_views_are_equal_by_content():
    view = View((text("system"),)).append(POOL[0])
    assert view == View((text("system"),), Messages([POOL[0]]))
    assert view != View((text("system"),))
