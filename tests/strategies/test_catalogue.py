"""Strategies are found by name, by class, in files and in packages; what is wrong is named."""

import pickle

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import find_strategy
from tests.lines import refusals

OWN = """
from dataclasses import dataclass
from compactlab.sim.replay.strategy import Strategy

@dataclass(frozen=True)
class LastMessage(Strategy):
    '''Send the last message alone.'''
    extra: int = 0

    def compact(self, view, host):
        return view.with_messages(view.messages[-1 - self.extra :])

@dataclass(frozen=True)
class Abstract(Strategy):
    '''It has no method.'''

class Plain(Strategy):
    '''No dataclass.'''
    def compact(self, view, host):
        return view

@dataclass
class Thawed(Plain):
    '''Its fields may change while it runs.'''
    keep: int = 3

class Other:
    pass

NUMBER = 3
"""


@pytest.fixture
def own(tmp_path):
    """A file with somebody's own strategies."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return str(file)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("keep_all", "keep_all()"),
        ("  keep_all()  ", "keep_all()"),
        ("sliding_window(keep=5)", "sliding_window(keep=5)"),
        ("random_keep(share=1)", "random_keep(share=1)"),
        ("keep_all+keep_none", "keep_all() + keep_none()"),
        (
            "keep_all + turn_slice(history_limit=+3)",
            "keep_all() + turn_slice(history_limit=3, repair=True)",
        ),
        ("compactlab.strategies:KeepAll", "keep_all()"),
        ("compactlab.strategies.windows:SlidingWindow(keep=2)", "sliding_window(keep=2)"),
    ],
)
def test_a_text_names_a_strategy(text, spec):
    assert find_strategy(text).spec == spec


@pytest.mark.parametrize("text", ALL_STRATEGIES)
def test_a_strategy_that_travels_to_a_worker_does_there_what_it_does_here(text, tell, sent):
    strategy, conversation = find_strategy(text), tell("ucra" * 8, size=2_000)
    there = pickle.loads(pickle.dumps(strategy))
    assert there == strategy
    assert sent(conversation, there) == sent(conversation, strategy)


def test_a_label_leaves_out_what_stands_at_its_default():
    assert find_strategy("sliding_window").label == "sliding_window"
    assert find_strategy("sliding_window(keep=5) + turn_slice").label == (
        "sliding_window(keep=5) + turn_slice"
    )


WRONG = [
    "keep_al",
    "keep_all(",
    "keep_all)",
    "sliding_window(5)",
    "sliding_window(**{})",
    "sliding_window(keep=many)",
    "sliding_window(keep=__import__('os'))",
    "sliding_window(kep=5)",
    "sliding_window(keep='5')",
    "sliding_window(keep=True)",
    "sliding_window(keep=2.5)",
    "sliding_window(keep=0)",
    "random_keep(share='half')",
    "turn_slice + keep_all",
    "compactlab.strategies:Nobody",
    "compactlab.sim.core.view:View",
    "no.such.module:Class",
    "no/such/file.py:Class",
    ":",
]


def test_nothing_is_no_name_and_no_value():
    for text in ("", "keep_all + "):
        with pytest.raises(UsageError, match="unknown strategy ''"):
            find_strategy(text)
    with pytest.raises(UsageError, match="is not a spec"):
        find_strategy("sliding_window(keep=)")


def test_what_is_wrong_with_a_text_is_named(golden):
    golden("faults/strategies.txt", refusals(UsageError, find_strategy, WRONG))


def test_a_file_of_ones_own_is_loaded(own, tell, sent):
    assert sent(tell("uaua"), find_strategy(f"{own}:LastMessage"))[-1] == "u3"
    assert find_strategy(f"{own}:LastMessage(extra=1)").spec == "last_message(extra=1)"


def test_what_is_no_strategy_in_it_is_refused(own, golden):
    names = ["Abstract", "Plain", "Thawed", "Other", "NUMBER", "LastMesage"]
    golden(
        "faults/strategies-of-ones-own.txt",
        refusals(UsageError, lambda name: find_strategy(f"{own}:{name}"), names),
    )


@pytest.mark.parametrize("code", ["def", "1 / 0", "import no_such_module", "raise SystemExit(3)"])
def test_a_file_that_fails_when_it_is_loaded_is_named(tmp_path, code):
    file = tmp_path / "broken.py"
    file.write_text(code)
    with pytest.raises(UsageError, match=r"broken\.py cannot be loaded"):
        find_strategy(f"{file}:Class")
