"""Old outputs give way to stubs."""

import pytest

from compactlab.strategies.mechanisms.stub import older_outputs, prunable, with_erased


@pytest.fixture
def places(moment):
    """Which messages are to be erased, of outputs of 100 tokens each."""

    def of(script, *, sizes=None, **more):
        rule = {"protect": 100, "minimum": 0, **more}
        return prunable(moment(script, size=400, sizes=sizes or {}).messages, **rule)

    return of


def test_the_newest_turns_and_the_newest_outputs_are_passed_over(places):
    assert places("ucra ucra ucra ucra") == [2]
    assert places("ucra ucra ucra ucra", turns=1) == [6, 2]
    assert places("ucra ucra ucra ucra", protect=0) == [6, 2]


def test_what_comes_to_no_more_than_the_minimum_stays(places):
    assert places("ucra ucra ucra ucra ucra", minimum=199) == [6, 2]
    assert places("ucra ucra ucra ucra ucra", minimum=200) == []


def test_outputs_of_exempt_tools_count_for_nothing(places):
    assert places("ucra ucra ucra ucra", exempt=["read"]) == []


def test_it_stops_at_what_is_erased_already(moment):
    messages = moment("ucra ucra ucra ucra ucra", size=400).messages
    once = with_erased(messages, {6})
    assert prunable(once, protect=0, minimum=0) == [10]


def test_a_stub_keeps_its_call(moment):
    messages = moment("ucra", size=400).messages
    after = with_erased(messages, {2})
    (part,) = after[2].parts
    assert (part.kind, part.call_id, part.sources) == (
        "stub",
        messages[2].parts[0].call_id,
        messages[2].parts[0].sources,
    )
    assert after.shared(messages) == 2
    assert with_erased(messages, ()) is messages


def test_older_outputs_are_all_but_the_newest_few(moment):
    messages = moment("ucrcrcra").messages
    assert older_outputs(messages, 1) == [4, 2]
    assert older_outputs(with_erased(messages, {2}), 1) == [4]
    assert older_outputs(messages, 9) == []
