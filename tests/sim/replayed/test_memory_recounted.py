"""Every figure of memory is that of a recount from plain lists of facts, calls and states."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.facts import STATES
from compactlab.sim.metrics import FAMILIES, METRICS, RunData
from compactlab.sim.metrics.memory import LONG
from tests.sim.replayed.recount import KEPT, REACHED, Recount, Seen
from tests.sim.replayed.remembered import KINDS, forgetting, remembered

TOKENS = {"1k": (0, 1e3), "4k": (1e3, 4e3), "16k": (4e3, 16e3), "64k": (16e3, 64e3)}
TOKENS["more"] = (64e3, 1e9)
TURNS = {"1": (0, 1), "5": (1, 5), "20": (5, 20), "100": (20, 100), "more": (100, 1e9)}


class Case:
    """A replay with its figures, and their recount."""

    def __init__(self, trace: Any, script: Any) -> None:
        self.recount = Recount(trace, script)
        self.reading = RunData(trace, script)
        self.checked: set[str] = set()

    def check(self, name: str, expected: float | None) -> None:
        found = METRICS[name].compute(self.reading)
        same = pytest.approx(expected, rel=1e-9, abs=1e-12) if expected is not None else None
        assert found == same, name
        self.checked.add(name)


@st.composite
def cases(draw: st.DrawFn, kit: Any) -> Case:
    script = draw(remembered(kit))
    strategy = draw(st.sampled_from([forgetting(kit, script), kit.whim()]))
    return Case(kit.replayed(script, strategy, seed=draw(st.integers(0, 9999))), script)


@settings(max_examples=100)
@given(data=st.data())
def test_every_figure_is_that_of_a_recount(kit, data):
    case = data.draw(cases(kit))
    for figures in (amnesia, by_lag, by_age, immediate, errors, promises, progress):
        figures(case)
    for figures in (states, chance, survival):
        figures(case)
    families = {family.name: family for family in FAMILIES}
    both = (*families["memory"].metrics, *families["facts"].metrics)
    assert case.checked >= {metric.name for metric in both}


def amnesia(case: Case) -> None:
    recount, check = case.recount, case.check
    check("amnesia_need", recount.lost(lambda seen: seen.needed))
    check("amnesia_need_effective", recount.lost(lambda seen: seen.needed, REACHED))
    check("need_retrievable", recount.kept(lambda seen: seen.needed, ["retrievable"]))
    check("amnesia", recount.by_type(lambda seen: seen.due))
    check("amnesia_effective", recount.by_type(lambda seen: seen.due, REACHED))
    for kind in KINDS:
        check(f"amnesia_{kind}", recount.lost(of(kind=kind)))


def by_lag(case: Case) -> None:
    for lag in LONG:
        needed = partial(lambda lag, seen: seen.needed and seen.tokens >= lag, lag)
        case.check(f"recall_{lag // 1000}k", case.recount.kept(needed))


def of(**fields: Any) -> Callable[[Seen], bool]:
    """Whether a fact is due, and has these fields."""
    return lambda seen: seen.due and all(getattr(seen.fact, k) == v for k, v in fields.items())


def by_age(case: Case) -> None:
    for clock, name, bins in (("tokens", "age", TOKENS), ("turns", "turns", TURNS)):
        for end, (low, high) in bins.items():
            case.check(f"amnesia_{name}_{end}", aged(case.recount, clock, low, high))
    for rounds in range(6):
        case.check(f"amnesia_round_{rounds}", aged(case.recount, "rounds", rounds, rounds + 1))


def aged(recount: Recount, clock: str, low: float, high: float) -> float | None:
    return recount.by_type(lambda seen: seen.due and low <= getattr(seen, clock) < high)


def immediate(case: Case) -> None:
    after = {n for n, at in enumerate(case.recount.calls) if at.step.compaction}
    for k in (1, 2, 5, 10):
        cache_misses = partial(
            lambda k, seen: seen.due and seen.turns < k and seen.call in after, k
        )
        case.check(f"immediate_amnesia_{k}", case.recount.lost(cache_misses))


def errors(case: Case) -> None:
    recount, check = case.recount, case.check
    for name, among in (("stale", ["stale", "resurrected"]), ("conflict", ["conflict"])):
        check(name, recount.kept(lambda seen: seen.due and bool(seen.fact.supersedes), among))
    check("cascade", recount.cascade())
    check("deletion_leak", recount.leak())
    mutated = recount.kept(of(), ["mutated", "presumed"])
    lost = recount.kept(of(), ["lost", "key_only"])
    check("mutation", mutated)
    check("severity", None if mutated is None or lost is None else 1.5 * mutated + lost)


def promises(case: Case) -> None:
    case.check("open_loops", case.recount.kept(of(kind="open_loop")))
    for polarity in ("must", "must_not"):
        kept = case.recount.kept(of(polarity=polarity, scope="session"))
        case.check(f"instruction_{polarity}", kept)


def progress(case: Case) -> None:
    recount, check = case.recount, case.check
    check("resurrected_rate", recount.kept(of(kind="done"), ["resurrected"]))
    check("presumed_rate", recount.kept(of(polarity="asks"), ["presumed"]))
    check(
        "handles_forgotten", recount.lost(lambda seen: seen.needed and seen.fact.kind == "handle")
    )
    front = []
    for message in recount.script.messages:
        if not message.meta:
            break
        front += [message.id] * ("AGENTS.md" in message.text)
    check(
        "instruction_file",
        recount.kept(lambda seen: seen.due and any(s.id in front for s in seen.fact.origin)),
    )


def states(case: Case) -> None:
    for state in STATES:
        case.check(f"occupancy_{state}", case.recount.in_state(state))


def chance(case: Case) -> None:
    chance, amnesia = case.recount.chance(), case.recount.by_type(of())
    case.check("decoys_found", chance)
    case.check("guessable", None if chance is None else float(chance > 0.05))
    corrected = None
    if chance is not None and amnesia is not None and 0.005 < chance < 1:
        corrected = min(1.0, 1 - ((1 - amnesia) - chance) / (1 - chance))
    case.check("amnesia_corrected", corrected)


def survival(case: Case) -> None:
    lived = case.recount.lives("rounds")
    names = ("survival_5", "survival_half_life", "survival_cliff", "survival_64k")
    if not lived:
        for name in names:
            case.check(name, None)
        return
    curve, last = case.recount.curve("rounds"), max(t for each in lived.values() for t, _ in each)
    steps = [curve(rounds) for rounds in range(last + 2)]
    half = (rounds for rounds, alive in enumerate(steps) if alive <= 0.5 + 1e-12)
    area = under(case.recount.curve("tokens"), case.recount.lives("tokens"), 64_000) / 64_000
    falls = (before - after for before, after in pairwise(steps))
    figures = sum(curve(rounds) for rounds in range(5)), next(half, None), max(falls), area
    for name, expected in zip(names, figures, strict=True):
        case.check(name, expected)


def under(curve: Any, lives: Any, limit: int) -> float:
    """The area below a curve that only falls where somebody died."""
    deaths = {time for each in lives.values() for time, died in each if died and time < limit}
    times = sorted({0, limit} | deaths)
    return sum(curve(start) * (end - start) for start, end in pairwise(times))


def test_the_drawn_cases_are_not_tame(kit):
    """Or else the comparisons above would compare nothing with nothing."""
    states: set[str] = set()
    other: set[str] = set()

    @settings(max_examples=150)
    @given(data=st.data())
    def look(data: st.DataObject) -> None:
        seen = data.draw(cases(kit)).recount.seen
        states.update(each.state for each in seen if each.due)
        other.update(name for name in ("replaced", "deleted", "needed")
                     if any(getattr(each, name) for each in seen))  # fmt: skip
        other.update("whole" for each in seen if each.due and len(each.fact.origin) > 1)
        old = (each for each in seen if each.due and each.rounds > 2)
        other.update("again" for each in old if each.state in KEPT)

    look()
    assert states == {*STATES}
    assert other == {"replaced", "deleted", "needed", "whole", "again"}
