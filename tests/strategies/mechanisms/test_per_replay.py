"""What a strategy remembers of one replay must not tell in another."""

import copy
import pickle

from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.strategies import TtlPrune
from compactlab.strategies.mechanisms import stub
from compactlab.strategies.mechanisms.stub import PerReplay
from compactlab.testing.contract import check_strategy


def host() -> Host:
    return Host(find_model("claude-sonnet-4-5"))


def test_each_replay_has_its_own_and_finds_it_again():
    memory, one, other = PerReplay(list), host(), host()
    memory.of(one).append("one")
    assert memory.of(other) == []
    assert memory.of(one) == ["one"]


def test_what_belonged_to_a_replay_that_is_over_is_forgotten():
    memory = PerReplay(list)
    for _ in range(5):
        memory.of(host()).append("once")
    assert len(memory._known) == 1
    assert memory.of(host()) == []


def test_a_copy_begins_with_nothing():
    memory, one = PerReplay(list), host()
    memory.of(one).append("one")
    assert pickle.loads(pickle.dumps(memory)).of(one) == copy.deepcopy(memory).of(one) == []


def test_a_strategy_that_has_served_can_be_sent_to_a_worker():
    strategy = TtlPrune()
    check_strategy(strategy, 15)
    assert pickle.loads(pickle.dumps(strategy)) == strategy


def test_a_second_replay_is_the_same_however_little_can_be_remembered(monkeypatch):
    """What is forgotten in the middle of one replay is forgotten at the same place in the other."""
    monkeypatch.setattr(stub, "_REMEMBERED", 5)
    eager = TtlPrune(soft_trim_ratio=0.0, soft_trim_max_chars=3200, ttl="1s", every_provider=True)
    assert [each for each in check_strategy(eager, 40) if each.rule == "repeatable"] == []
