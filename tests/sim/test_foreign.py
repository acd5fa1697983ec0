"""A strategy whose code is not ours is known by what it says of itself in another process."""

import pickle
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.request.names import check_specs, plan, planned_strategy
from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.foreign import Foreign, kind_of, loaded
from compactlab.sim.replay.strategy import Lifetime, Pipeline
from compactlab.strategies import KeepAll
from compactlab.strategies.catalogue import find_strategy, known_strategy
from tests.lines import refusal

OWN = """
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar
from compactlab import Lifetime, Strategy

@dataclass(frozen=True)
class Mine(Strategy):
    keep: int = 2
    words: tuple[str, ...] = ()
    sees_future: ClassVar[bool] = True
    lifetime: ClassVar[Lifetime] = Lifetime.TURN
    breaks = MappingProxyType({"pairs": "as its system does"})

    def __post_init__(self):
        if self.keep < 1:
            raise ValueError(f"keep must be at least 1, not {self.keep}")

    @property
    def flushes(self):
        return True

    def compact(self, view, host):
        return view.with_messages(view.messages[-self.keep:])

@dataclass(frozen=True)
class KeepAll(Mine):
    pass
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return "own.py"


def test_it_says_all_that_a_plan_asks_and_its_code_is_not_loaded(own):
    known = known_strategy(f"{own}:Mine(keep=3)")
    assert isinstance(known, Foreign)
    assert str(Path(own).absolute()) not in sys.modules
    real = find_strategy(f"{own}:Mine(keep=3)")
    assert (known.spec, known.label) == (real.spec, real.label)
    assert (known.lifetime, known.sees_future, known.flushes) == (Lifetime.TURN, True, True)
    assert dict(known.breaks) == dict(real.breaks)
    assert known.parts == (known,)
    assert Condition(known, "", Setting()).code == Condition(real, "", Setting()).code


def test_nobody_asks_it_here(own):
    said = refusal(TypeError, lambda: known_strategy(f"{own}:Mine").compact(None, None))
    assert said == snapshot("mine(keep=2, words=()) is asked in a process of its own: see loaded()")


def test_in_a_pipeline_it_keeps_its_place(own):
    known = known_strategy(f"sliding_window(keep=4) + {own}:Mine + turn_slice")
    assert known.spec == find_strategy(f"sliding_window(keep=4) + {own}:Mine + turn_slice").spec
    assert [isinstance(part, Foreign) for part in known.parts] == [False, True, False]
    assert known.sees_future
    assert Condition(known, "", Setting()).foreign
    real = loaded(known)
    assert isinstance(real, Pipeline)
    assert [type(part).__name__ for part in real.parts] == ["SlidingWindow", "Mine", "TurnSlice"]
    assert refusal(UsageError, lambda: known_strategy(f"{own}:Mine + keep_all")) == snapshot("""\
mine(keep=2, words=()) + keep_all(): the parts of a pipeline come in the order session,
turn, request\
""")


def test_what_is_ours_is_as_it_was(own):
    assert known_strategy("keep_all") == KeepAll() == loaded(KeepAll())
    ours = "compactlab.strategies.controls:KeepAll"
    assert known_strategy(ours) == KeepAll()
    pipeline = known_strategy("auto_compact + context_recovery")
    assert loaded(pipeline) is pipeline
    assert not Condition(pipeline, "", Setting()).foreign


def test_who_is_called_like_another_is_told_apart(own):
    mine, built_in = known_strategy(f"{own}:KeepAll"), known_strategy("keep_all")
    assert kind_of(mine) != kind_of(built_in)
    said = refusal(
        UsageError,
        lambda: check_specs(
            [known_strategy(f"{own}:Mine"), Renamed(known_strategy(f"{own}:KeepAll"))]
        ),
    )
    assert said == snapshot(
        "two different strategies are called mine(keep=2, words=()): rename the class of one"
    )


def Renamed(known: object) -> Foreign:  # noqa: N802
    assert isinstance(known, Foreign)
    from dataclasses import replace

    answers = {**known.card.answers, "spec": "mine(keep=2, words=())"}
    return replace(known, card=replace(known.card, answers=answers))


def test_it_travels_with_its_code(own, tmp_path):
    """A worker of a cluster need not have the file, and none reads what it became meanwhile."""
    travelled = pickle.dumps(known_strategy(f"{own}:Mine(keep=5)"))
    Path(own).unlink()
    found = loaded(pickle.loads(travelled))
    assert found.spec == "mine(keep=5, words=())"


def test_it_is_asked_once_and_again_when_its_file_has_changed(own):
    first = known_strategy(f"{own}:Mine")
    assert known_strategy(f"{own}:Mine") is first
    Path(own).write_text(OWN.replace("keep: int = 2", "keep: int = 3"))
    assert known_strategy(f"{own}:Mine").spec == "mine(keep=3, words=())"


def test_what_was_handed_over_in_python_stays_what_it_is(own):
    real = find_strategy(f"{own}:Mine")
    assert planned_strategy(real) is real
    assert Condition(real, "", Setting()).foreign


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("own.py:Mine(keep=0)", "mine: keep must be at least 1, not 0"),
        ("own.py:Mine(kep=1)", "mine: unknown field 'kep'; did you mean keep"),
        ("own.py:Mine(keep='x')", "mine: keep must be a whole number, not 'x'"),
        ("own.py:Mne", "own.py: unknown class 'Mne'; did you mean Mine"),
        ("other.py:Mine", "other.py cannot be loaded: there is no such file"),
        (".:Mine", "cannot be loaded"),
        ("nowhere.py.d/x.py:Mine", "there is no such file"),
        ("no_such_module:Mine", "no_such_module cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_what_is_wrong_is_told_as_it_was_written(own, text, told):
    with pytest.raises(UsageError) as caught:
        known_strategy(text)
    assert told in str(caught.value)
    assert str(Path.cwd()) not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a\\ud800b", 3])
def test_a_name_that_nobody_could_write_is_refused(own, name):
    said = repr(name).replace("\\\\", "\\")
    with Path(own).open("a") as file:
        file.write(f"\n    @property\n    def spec(self):\n        return {said}\n")
    with pytest.raises(UsageError, match="KeepAll has no name that could be written"):
        known_strategy(f"{own}:KeepAll")


def test_a_plan_asks_anew_what_has_changed_behind_its_back(own, tmp_path):
    """Its file is the same, but not what that imports."""
    (tmp_path / "behind.py").write_text("KEEP = 1")
    Path(own).write_text("import sys\nsys.path.insert(0, '.')\nimport behind\n" + OWN)
    first = plan(strategies=f"{own}:Mine").conditions[0].code
    assert plan(strategies=f"{own}:Mine").conditions[0].code == first
    (tmp_path / "behind.py").write_text("KEEP = 333")
    assert plan(strategies=f"{own}:Mine").conditions[0].code != first


def test_pipelines_of_equal_specs_are_told_apart_by_their_steps(own):
    other = Path("other.py")
    other.write_text(OWN)
    pipelines = [known_strategy(f"{file}:Mine + turn_slice") for file in (own, str(other))]
    assert pipelines[0].spec == pipelines[1].spec
    assert refusal(UsageError, lambda: check_specs(pipelines)) == snapshot("""\
two different strategies are called mine(keep=2, words=()) + turn_slice(history_limit=10,
repair=True): rename the class of one\
""")
