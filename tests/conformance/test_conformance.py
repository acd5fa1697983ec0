"""What the real programs answered, and what this project answers to the same question.

The vectors are read from the folders that `--vectors` names, by default those of `shared` beside
the checkout, and from `recorded` here, which the script beside it wrote. Every file is a test that
goes over all of its cases and names those that differ; a case that is excluded, or a file whose
function is not built here, is one that is skipped and says so.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.conformance.answers import answers, excluded
from tests.conformance.not_built import NOT_BUILT
from tests.conformance.vectors import Case, differences, function_of, read
from tests.conftest import SHARED

OURS = Path(__file__).parent / "recorded"
DEFAULT = [SHARED / "vectors", SHARED / "vectors-more"]
ANSWERS = answers()
EXCLUDED = excluded()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = {"vectors", "unanswered"} & set(metafunc.fixturenames)
    if not wanted:
        return
    folders: list[Path] = [OURS, *(metafunc.config.getoption("vectors") or DEFAULT)]
    files = {path: folder for folder in folders for path in sorted(folder.rglob("*.json"))}
    if not files:
        named = " and ".join(map(str, folders))
        reason = f"no vectors to compare with: {named} is not there; name a folder: --vectors"
        metafunc.parametrize(wanted.pop(), [pytest.param(None, marks=pytest.mark.skip(reason))])
        return
    functions = {path: function_of(path) for path in files}
    if "vectors" in wanted:
        known = [path for path, function in functions.items() if function in ANSWERS]
        ids = [str(path.relative_to(files[path])) for path in known]
        metafunc.parametrize("vectors", known, ids=ids)
    else:
        asked = dict.fromkeys(functions.values())
        metafunc.parametrize("unanswered", [f for f in asked if f not in ANSWERS])


def test_same_answer(vectors):
    """Of every case of a file; all that differ are named."""
    wrong = [f"{case.name}: {text}" for case in read(vectors) for text in wrongs(case)]
    assert not wrong, "\n".join(wrong)


def wrongs(case: Case) -> list[str]:
    """Where the answer to a case is another than the recorded one, but for what is excluded."""
    skips = [e for e in EXCLUDED if e.function == case.function and fnmatchcase(case.name, e.case)]
    if not all(each.field for each in skips):
        return []
    found = differences(case.output, ANSWERS[case.function].asks(case))
    return [text for text in found if not any(_about(text, e.field) for e in skips)]


@pytest.mark.parametrize("each", [e for e in EXCLUDED if not e.field], ids=attrgetter("function"))
def test_a_case_that_is_not_compared(each):
    pytest.skip(f"{each.function}, {each.case}: {each.why}")


def _about(difference: str, field: str) -> bool:
    return fnmatchcase(difference.partition(" ")[0], field.replace("[", "[[]"))


def test_function_is_not_built_here(unanswered):
    why = NOT_BUILT.get(unanswered, "not known here")
    pytest.skip(f"no function here answers {unanswered}: {why}")


def test_what_is_listed_as_not_built_is_not_answered():
    assert not NOT_BUILT.keys() & ANSWERS.keys()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=lambda answer: answer.function)
def test_a_strategy_calls_the_very_function_that_is_compared(answer):
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


def test_the_answer_comes_from_the_package_alone():
    for answer in ANSWERS.values():
        assert all(function.__module__.startswith("compactlab.") for function in answer.calls)


def unused() -> Iterator[str]:
    return (f"{each.function} {each.case} {each.field}" for each in EXCLUDED if not each.why)


def test_every_exclusion_has_its_reason():
    assert not list(unused())
