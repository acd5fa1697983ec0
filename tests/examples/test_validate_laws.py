"""The laws of forgetting hold over made-up scenarios, and each is missed where it is broken."""

from typing import Any

import pytest
import validate_laws as laws

from compactlab import Conversation
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts import States

SCENARIOS = ("coding_agent", "support_chat", "revised_decisions", "rewinds")


def made(name: str, seed: int = 0) -> Conversation:
    script: Conversation = laws.find_scenario(f"{name}(tokens=20000)").conversation(seed)
    return script


def asked(law: str, case: Any) -> Any:
    docket = laws.Docket()
    getattr(laws, law)(case, docket)
    return docket


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_laws_hold(name):
    case, docket = laws.Case(made(name)), laws.Docket()
    for law in laws.LAWS:
        law(case, docket)
    assert not docket.broken
    assert len(docket.seen) == 12
    assert min(docket.told[each] for each in ("needs", "older", "decoys", "compactions")) > 0
    assert docket.told["oracle"] == 1
    assert docket.told["values that were not renamed"] == 0


def broken(law: str, swapped: dict[str, str]) -> set[str]:
    """Which laws are broken where replays of one strategy are given out as another's."""
    case = laws.Case(made("revised_decisions"))
    honest = {name: laws.Case.again(case, other) for name, other in swapped.items()}
    case.known.update({(name, None): reading for name, reading in honest.items()})
    return set(asked(law, case).broken)


def test_who_forgets_is_no_keep_all():
    assert "keep_all: figures of amnesia and of errors are 0" in broken(
        "keep_all", {"keep_all": "sliding_window(keep=10)"}
    )


def test_recovery_is_noticed():
    case, closed = laws.Case(made("revised_decisions")), laws.ClosedLoop()
    for loop in (closed, closed.best):
        case.known["keep_all", loop] = case.again("keep_none", loop)
    found = asked("keep_all", case).broken
    assert set(found) == {
        "keep_all: figures of recovery are 0",
        "keep_all: the closed loop costs what the open one does",
        "keep_all: no call is recovery",
    }


def test_who_knows_what_was_said_before_the_turn_is_no_keep_none():
    law = "keep_none: older facts are found as often as decoys"
    assert broken("keep_none", {"keep_none": "sliding_window(keep=40)"}) == {law}


def test_a_fact_that_is_lost_in_a_larger_context_is_noticed():
    case = laws.Case(made("revised_decisions"))
    # Nothing stays in sight of the one that holds all: its contexts are right, its states are not.
    everything = case.under("keep_all")
    blind = [States() for _ in everything.states]
    vars(everything)["_followed"] = (blind, everything.memory)
    found = asked("more_is_never_less", case).broken
    assert set(found) == {"keep_all forgets nothing that random_keep knows"}


def test_a_context_that_does_not_hold_more_is_left_out():
    case = laws.Case(made("revised_decisions"))
    swapped = case.again("sliding_window(keep=2)")
    case.known["sliding_window(keep=40)", None] = swapped
    docket = asked("more_is_never_less", case)
    assert not docket.broken
    assert sum(n for name, n in docket.told.items() if name.startswith("not more: ")) > 0


def test_another_replay_is_not_the_same_again():
    found = broken("the_same_again", {"random_keep": "random_keep(share=0.4)"})
    assert found == {"a second replay gives the same bytes"}


def test_too_few_compactions_are_told():
    assert broken("often_enough", {"keep_none": "keep_all"}) == {"five compactions or more"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_renamed_values_are_others_of_equal_length(name):
    script, count = made(name), Tokenizer().text
    other, kept = laws.renamed(script, count)
    assert kept == []
    for old, new in zip(script.facts, other.facts, strict=True):
        assert old.value != new.value
        assert len(old.value) == len(new.value)
        for fact, talk in ((old, script), (new, other)):
            by_id = {message.id: message for message in talk.messages}
            for origin in fact.origin:
                said = by_id[origin.id].parts[origin.part].text
                assert fact.value in said[origin.start : None if origin.end < 0 else origin.end]
    for before, after in zip(script.messages, other.messages, strict=True):
        for one, two in zip(before.parts, after.parts, strict=True):
            assert (len(one.text), count(one.text)) == (len(two.text), count(two.text))
    assert not any(f.value in p.text for f in script.facts for m in other.messages for p in m.parts)


def test_what_was_done_otherwise_is_named():
    scripts = ["coding_agent(turns=2, tokens=3000)", "support_chat(tokens=3000)"]
    one, same, other = (
        laws.run(scripts, "keep_none", window=window) for window in (8_000, 8_000, 7_000)
    )
    assert laws.digest(one) == laws.digest(same) != laws.digest(other)
    assert list(laws.differences(one, same)) == []
    assert len(list(laws.differences(one, other))) == 2


@pytest.mark.slow
def test_no_law_is_broken_anywhere(capsys):
    code = laws.main([])
    assert code == 0, capsys.readouterr().out
