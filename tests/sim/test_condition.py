"""Keys: a source and a condition are others as soon as anything about them is."""

import pickle
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.experiment import conditions
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.client import Churn, Rate
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.extractive import Lexrank
from compactlab.strategies.windows import SlidingWindow

OWN = {
    "models": {"gpt-55": {"window": 10_000, "cache": "none", "prices": {"input": 1, "output": 2}}}
}
SETTINGS: dict[str, Setting] = {
    "none": Setting(),
    "window": Setting(window=64_000),
    "another window": Setting(window=64_001),
    "models": Setting(catalogue=Catalogue.of(OWN)),
    "loop": Setting(loop=ClosedLoop()),
    "another loop": Setting(loop=ClosedLoop(unbound=1)),
    "metrics": Setting(metrics=("cost_usd",)),
    "tables": Setting(tables=("calls",)),
    "churn": Setting(churn=Churn("pi", 3, Rate(100, 5), Rate(100, 6))),
}
KEEP = SlidingWindow(keep=5)


def test_each_setting_makes_another_condition():
    keys = {name: Condition(KEEP, "", setting).key for name, setting in SETTINGS.items()}
    for one, other in combinations(keys, 2):
        assert keys[one] != keys[other], (one, other)
    again = {name: Condition(KEEP, "", replace(setting)).key for name, setting in SETTINGS.items()}
    assert again == keys
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys.values())


@pytest.mark.parametrize(
    "other",
    [
        Condition(SlidingWindow(keep=6), "", Setting()),
        Condition(KeepAll(), "", Setting()),
        Condition(find_strategy("sliding_window(keep=5) + keep_all"), "", Setting()),
        Condition(KEEP, "gpt-5", Setting()),
        Condition(KEEP, "recorded", Setting()),
        Condition(KEEP, "", Setting(), find_summarizer("lexrank")),
        Condition(KEEP, "", Setting(), find_summarizer("lexrank(tokens=900)")),
        Condition(KEEP, "", Setting(), find_summarizer("oracle")),
    ],
    ids=lambda other: f"{other.strategy.spec} {other.model} {other.written_by}",
)
def test_so_does_another_strategy_model_or_summariser(other):
    assert other.key != Condition(KEEP, "", Setting()).key
    lexrank = find_summarizer("lexrank(tokens=901)")
    assert other.key != Condition(KEEP, "", Setting(), lexrank).key


@pytest.mark.parametrize("part", ["version", "price_list", "digest_of_engine", "digest_of_classes"])
def test_so_does_other_code_another_price_list_or_version(part, monkeypatch):
    before = Condition(KEEP, "", Setting()).key
    monkeypatch.setattr(conditions, part, lambda *given, **more: "another")
    assert Condition(KEEP, "", Setting()).key != before


def test_so_does_other_code_of_the_summariser(monkeypatch):
    lexrank = find_summarizer("lexrank")
    before = Condition(KEEP, "", Setting(), lexrank)
    key, codes = before.key, {Lexrank: "another", SlidingWindow: before.code}
    monkeypatch.setattr(conditions, "digest_of_classes", lambda classes: codes[next(iter(classes))])
    after = Condition(KEEP, "", Setting(), lexrank)
    assert after.code == before.code
    assert after.key != key


def test_a_pipeline_changes_with_the_code_of_any_of_its_parts(monkeypatch):
    pipeline = find_strategy("sliding_window + keep_all + clear_tool_results")
    asked: list[str] = []
    monkeypatch.setattr(
        conditions, "digest_of_classes", lambda cs: asked.extend(c.__name__ for c in cs) or "x"
    )
    assert Condition(pipeline, "", Setting()).code == "x"
    assert {"SlidingWindow", "KeepAll", "ClearToolResults"} <= set(asked)


@dataclass(frozen=True)
class SlidingWindowToo(SlidingWindow):
    """Of the same spec, but of other code."""

    @property
    def spec(self) -> str:
        return SlidingWindow(self.keep).spec


def test_two_classes_of_one_name_are_told_apart_by_their_code():
    one, other = Condition(KEEP, "", Setting()), Condition(SlidingWindowToo(5), "", Setting())
    assert one.strategy.spec == other.strategy.spec
    assert one.code != other.code
    assert one.key != other.key


def test_it_does_not_matter_what_else_is_compared_or_in_which_order():
    strategies = [find_strategy(s) for s in ("keep_all", "sliding_window", "auto_compact")]

    def keys(*chosen: Any) -> dict[str, str]:
        return {c.strategy.spec: c.key for c in Experiment((), tuple(chosen)).conditions}

    every = keys(*strategies)
    assert keys(*reversed(strategies)) == every
    assert keys(strategies[1]).items() <= every.items()
    assert len(keys(*strategies, *strategies)) == 3


def test_every_strategy_meets_every_model_once():
    planned = Experiment((), (KeepAll(), KEEP, KeepAll()), ("gpt-5", "gpt-5@none", "gpt-5"))
    assert [(c.model, c.strategy.spec) for c in planned.conditions] == [
        ("gpt-5", "keep_all()"),
        ("gpt-5", "sliding_window(keep=5)"),
        ("gpt-5@none", "keep_all()"),
        ("gpt-5@none", "sliding_window(keep=5)"),
    ]


def test_and_every_summariser_once_also_where_it_is_not_asked():
    lead, tail = find_summarizer("lead"), find_summarizer("tail")
    planned = Experiment((), (KeepAll(), KEEP), ("gpt-5", "o3"), summarizers=(lead, tail, lead))
    met = [(c.model, c.written_by, c.strategy.label) for c in planned.conditions]
    assert met == [
        (model, writer.spec, label)
        for model in ("gpt-5", "o3")
        for writer in (lead, tail)
        for label in ("keep_all", "sliding_window(keep=5)")
    ]
    assert list(planned.manifest()["summarizers"]) == [lead.spec, tail.spec]


def test_keys_travel():
    """A worker has other modules in memory, or none: it must not reckon them anew."""
    held = Condition(KEEP, "", Setting())
    key = held.key
    sent = pickle.loads(pickle.dumps(held))
    assert vars(sent)["key"] == key


def talk(text: str) -> list[Conversation]:
    said = (Message("u", "user", (verbatim("u", "text", text),)),)
    return [Conversation("talk", "pi", said)]


def hello() -> list[Conversation]:
    return talk("hello")


def broken() -> list[Conversation]:
    raise InputError("not JSON", "broken.jsonl", 3)


def test_a_source_is_the_same_if_name_seed_and_content_are():
    first = Source("a", hello)
    assert first.key == Source("a", lambda: talk("hello")).key
    others = [
        Source("b", hello),
        Source("a", hello, seed=1),
        Source("a", hello, stem="talk"),
        Source("a", lambda: talk("hello!")),
        Source("a", lambda: [*talk("hello"), *talk("hello")]),
        Source("a", broken),
        Source("a", hello, content=lambda: "one"),
        Source("a", hello, content=lambda: "other"),
    ]
    assert len({source.key for source in (first, *others)}) == len(others) + 1


def test_content_that_is_told_need_not_be_loaded():
    def told() -> str:
        return "x"

    assert Source("a", broken, content=told, size=9).key == Source("a", hello, content=told).key
