"""What the real programs answered, and what this project answers to the same question.

The vectors are read from the folder that `--vectors` names, by default that of `shared` beside the
checkout. Every case of every file is a test; a file whose function is not built here is one test
that is skipped and says so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.conformance.answers import Answer, answers, excluded
from tests.conformance.not_built import NOT_BUILT
from tests.conformance.vectors import Case, differences, named, read

ANSWERS = answers()
EXCLUDED = excluded()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = {"case", "unanswered"} & set(metafunc.fixturenames)
    if not wanted:
        return
    folder: Path = metafunc.config.getoption("vectors")
    if not folder.is_dir():
        reason = f"no vectors to compare with: {folder} is not there; name a folder: --vectors"
        metafunc.parametrize(wanted.pop(), [pytest.param(None, marks=pytest.mark.skip(reason))])
        return
    places = [
        (path, number, function, name)
        for path in sorted(folder.rglob("*.json"))
        for function, names in [named(path)]
        for number, name in enumerate(names)
    ]
    if "case" in wanted:
        known = [place for place in places if place[2] in ANSWERS]
        ids = [f"{path.relative_to(folder)}::{name}" for path, _, _, name in known]
        metafunc.parametrize("case", [place[:2] for place in known], ids=ids, indirect=True)
    else:
        functions = dict.fromkeys(function for _, _, function, _ in places)
        metafunc.parametrize("unanswered", [f for f in functions if f not in ANSWERS])


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    path, number = request.param
    return cases(path)[number]


# One file at a time: some are large once they are expanded.
@lru_cache(maxsize=1)
def cases(path: Path) -> list[Case]:
    return list(read(path))


def test_same_answer(case: Case) -> None:
    skips = [e for e in EXCLUDED if e.function == case.function and fnmatchcase(case.name, e.case)]
    for each in skips:
        if not each.field:
            pytest.skip(each.why)
    found = list(differences(case.output, ANSWERS[case.function].asks(case)))
    left = [text for text in found if not any(_about(text, e.field) for e in skips)]
    assert not left, "\n".join(left)


def _about(difference: str, field: str) -> bool:
    return fnmatchcase(difference.partition(" ")[0], field.replace("[", "[[]"))


def test_function_is_not_built_here(unanswered: str) -> None:
    why = NOT_BUILT.get(unanswered, "not known here")
    pytest.skip(f"no function here answers {unanswered}: {why}")


def test_what_is_listed_as_not_built_is_not_answered() -> None:
    assert not NOT_BUILT.keys() & ANSWERS.keys()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=lambda answer: answer.function)
def test_a_strategy_calls_the_very_function_that_is_compared(answer: Answer) -> None:
    """So that no second implementation grows for the tests alone."""
    assert answer.calls, "an answer must say which function of the package gives it"
    uncalled = {function.__code__: function.__qualname__ for function in answer.calls}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and uncalled.pop(frame.f_code, None) and not uncalled:
            raise AllCalled

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with suppress(AllCalled):
            answer.runs()
    finally:
        sys.setprofile(before)
    assert not sorted(uncalled.values())


class AllCalled(BaseException):
    """Ends a run that has shown what it should; no strategy is to be blamed for it."""


def test_the_answer_comes_from_the_package_alone() -> None:
    for answer in ANSWERS.values():
        assert all(function.__module__.startswith("compactlab.") for function in answer.calls)


def unused() -> Iterator[str]:
    return (f"{each.function} {each.case} {each.field}" for each in EXCLUDED if not each.why)


def test_every_exclusion_has_its_reason() -> None:
    assert not list(unused())
