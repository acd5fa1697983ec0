"""Summarisers of others: found by file, module or package, asked in processes of their own."""

import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.api import explain, run
from compactlab.request.names import plan
from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment.foreign import ForeignSummarizer
from compactlab.strategies.summarizers.catalogue import find_summarizer, known_summarizer
from compactlab.strategies.summarizers.extractive import Lead
from tests.lines import refusal, refusals

OWN = """
from dataclasses import dataclass
from typing import ClassVar
import compactlab

seen = []

@dataclass(frozen=True)
class Terse(compactlab.Summarizer):
    simulated: ClassVar[str] = "as terse as can be"
    words: int = 3

    def __post_init__(self):
        if self.words < 1:
            raise ValueError(f"words must be at least 1, not {self.words}")

    def summarize(self, request, count):
        seen.append(request)
        given = (p for m in request.messages for p in m.parts if p.sources and p.text)
        part = next(given, None) or request.previous[0]
        text = " ".join(["Said:", *part.text.split()[: self.words], str(len(seen) > 99)])
        return (compactlab.Part("text", text, "summary", part.sources),)

@dataclass(frozen=True)
class Lead(Terse):
    pass

@dataclass(frozen=True)
class Leaves(Terse):
    def summarize(self, request, count):
        import os
        os._exit(3)

@dataclass(frozen=True)
class Unfinished(compactlab.Summarizer):
    pass

class Plain(Terse):
    pass

NUMBER = 3
"""
STORY = "coding_agent(turns=3, tokens=15000)"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return "own.py"


def test_it_says_what_it_is_and_its_code_is_not_loaded(own, tmp_path):
    known = known_summarizer(f"{own}:Terse(words=5)")
    assert isinstance(known, ForeignSummarizer)
    assert (known.spec, known.label) == ("terse(words=5)", "terse(words=5)")
    assert known.simulated == "as terse as can be"
    assert str(tmp_path / "own.py") not in sys.modules
    assert find_summarizer(f"{own}:Terse(words=5)").spec == known.spec


def test_a_run_has_its_summaries_and_names_it(own):
    results = run(STORY, ["full_summary", "keep_all"], window=12_000, summarizer=f"{own}:Terse")
    frame = results.frame()
    assert set(frame["status"]) == {"ok"}
    assert set(frame["summarizer"]) == {"terse(words=3)"}
    writer = results.manifest["summarizers"]["terse(words=3)"]
    assert (writer["label"], writer["simulated"]) == ("terse", "as terse as can be")


def test_every_run_of_it_is_apart_and_fails_alone(own):
    strategies = ["full_summary", "keep_all"]
    frame = run(STORY, strategies, window=12_000, summarizer=f"{own}:Leaves").frame()
    errors = dict(zip(frame["strategy"].str.partition("(")[0], frame["error"], strict=True))
    assert "3" in errors["full_summary"]
    assert errors["keep_all"] == ""
    assert str(Path(own).absolute()) not in sys.modules


def test_its_code_belongs_to_the_identity_of_a_run(own):
    def key() -> str:
        return plan(STORY, ["full_summary"], summarizer=f"{own}:Terse").conditions[0].key

    before = key()
    assert key() == before
    Path(own).write_text(OWN.replace("Said:", "Told:"))
    assert key() != before


def test_explain_asks_it_apart(own):
    account = explain(STORY, "full_summary", window=12_000, summarizer=f"{own}:Terse(words=2)")
    assert account.header.summarizer == "terse(words=2)"
    assert str(Path(own).absolute()) not in sys.modules
    with pytest.raises(UsageError, match="fails"):
        explain(STORY, "full_summary", window=12_000, summarizer=f"{own}:Leaves")


def test_two_of_one_name_are_not_compared(own):
    said = refusal(UsageError, lambda: plan(STORY, summarizer=[f"{own}:Terse", own_class()]))
    assert said == snapshot(
        "two different summarisers are called terse(words=3): rename the class of one"
    )


def own_class() -> Any:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Terse(Lead):
        @property
        def spec(self) -> str:
            return "terse(words=3)"

    return Terse()


WRONG = [
    "own.py",
    "own.py:Tense",
    "own.py:NUMBER",
    "own.py:Unfinished",
    "own.py:Terse(words=0)",
    "own.py:Terse(word=1)",
    "none.py:Terse",
    "no_such_module:Terse",
    "lexrnk",
]


@pytest.mark.parametrize("find", [find_summarizer, known_summarizer])
def test_what_is_wrong_is_named(own, find, golden):
    golden("faults/summarisers.txt", refusals(UsageError, find, WRONG))
