"""Notes from memory are put before the user's words when they have to do with them."""

from dataclasses import dataclass, field, replace

import msgspec
import pytest

from compactlab.sim.core.message import Source, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies import KeepAll, MemoryRecall
from compactlab.strategies.openclaw.recovery import CLOSES, OPENS

PARSER = "the parser of the ledger is slow"
PORT = "the server listens on port 8080"
RELEASE = "release on Monday, not before"


@dataclass(frozen=True)
class Knows(Strategy):
    """Has some notes at its second turn, in this order, all from the first message."""

    notes: tuple[str, ...] = field(default=(PARSER, PORT, RELEASE))
    phases = frozenset({Phase.BEFORE_TURN})

    def compact(self, view, host):
        if not host.memory and len(host.log) > 1:
            source = Source(host.log[0].id)
            host.memory += [Remembered("decision", note, (source,)) for note in self.notes]
        return view


@pytest.fixture
def asking(tell):
    """A conversation in which the user says this and that."""

    def of(*words, between="a"):
        told = tell("".join(f"u{between}" for _ in words))
        asked = iter(words)
        events = [
            msgspec.structs.replace(m, parts=(verbatim(m.id, "text", next(asked)),))
            if m.role == "user"
            else m
            for m in told.events
        ]
        return replace(told, events=tuple(events))

    return of


@pytest.fixture
def recalled(asking, play):
    """The part before the user's words in each prompt; None if there is none."""

    def of(*words, notes=(PARSER, PORT, RELEASE), recall=None, **more):
        strategy = Pipeline((Knows(notes), recall or MemoryRecall()))
        prompts = play(asking(*words, **more), strategy).prompts()
        users = [next(m for m in reversed(p) if m.role == "user") for p in prompts]
        return [user.parts[0] if len(user.parts) > 1 else None for user in users]

    return of


def test_without_a_memory_nothing_happens(asking, sent, play):
    told = asking("hello", "the parser")
    assert play(told, MemoryRecall()).steps == play(told, KeepAll()).steps


def test_what_shares_a_word_with_the_prompt_is_put_before_it(recalled):
    none, part = recalled("hello", "which port was it?")
    assert none is None
    assert part.text == f"{OPENS}\n- [decision] {PORT}\n{CLOSES}\n\n"


def test_it_says_where_the_notes_come_from(recalled):
    _, part = recalled("hello", "which port was it?")
    assert (part.kind, part.sources) == ("memory", (Source("u1"),))


def test_what_shares_no_word_is_left_alone(recalled):
    assert recalled("hello", "good night") == [None, None]


def test_the_best_note_comes_first(recalled):
    _, part = recalled("hello", "is the parser of the ledger ready to release?")
    assert [line[13:] for line in part.text.splitlines()[1:3]] == [PARSER, RELEASE]


def test_only_so_many_are_shown(recalled):
    few = MemoryRecall(max_results=1)
    _, part = recalled("hello", "release the parser of the ledger", recall=few)
    assert part.text.count("- [decision]") == 1


def test_the_first_that_does_not_fit_is_cut_and_is_the_last(recalled):
    notes = ("port a" + "a" * 40, "port b" + "b" * 40, "port c" + "c" * 40)
    short = MemoryRecall(max_injected_chars=50)
    _, part = recalled("hello", "port", notes=notes, recall=short)
    assert part.text == f"{OPENS}\n- [decision] {notes[0]}\n- [decision] port\n{CLOSES}\n\n"


def test_zero_characters_are_no_limit(recalled):
    notes = ("port " + "a" * 9000, "port " + "b" * 9000)
    _, part = recalled("hello", "port", notes=notes, recall=MemoryRecall(max_injected_chars=0))
    assert len(part.text) > 18_000


def test_half_a_pair_of_code_units_is_not_sent(recalled):
    short = MemoryRecall(max_injected_chars=6)
    _, part = recalled("hello", "port", notes=("port \N{ROCKET}",), recall=short)
    assert part.text == f"{OPENS}\n- [decision] port \n{CLOSES}\n\n"


def test_the_notes_stay_in_the_transcript_and_the_prompt_is_never_rewritten(asking, play):
    told = asking("hello", "which port was it?", "thanks", between="cra")
    trace = play(told, Pipeline((Knows(), MemoryRecall())))
    *_, last = trace.prompts()
    assert [len(message.parts) for message in last if message.role == "user"] == [1, 2, 1]
    assert not any(step.rewrite for step in trace.steps)


def test_it_goes_by_the_users_words_and_not_by_what_others_have_glued_to_them(recalled, asking):
    """What is put before a prompt is no part of the question."""
    first, second = MemoryRecall(), MemoryRecall(max_results=1)
    strategy = Pipeline((first, second))
    assert [part.spec for part in strategy.parts] == [first.spec, second.spec]
    _, part = recalled("hello", "which port was it?", recall=strategy)
    assert part.text == f"{OPENS}\n- [decision] {PORT}\n{CLOSES}\n\n"


def test_notes_of_a_branch_that_was_given_up_stand_for_nothing(tell, play):
    trace = play(tell("uaua<0ua"), Pipeline((Knows(("u5 time",)), MemoryRecall())))
    *_, (prompt,) = trace.prompts()
    assert (prompt.parts[0].kind, prompt.parts[0].sources) == ("synthetic", ())
