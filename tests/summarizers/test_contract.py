"""The contract of a summariser: the built-in ones keep it, and what breaks it is named."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Part, Source
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from compactlab.testing.summaries import check_summarizer
from tests.lines import refusal

# A model answers only what is recorded, and the other two are made to break it.
KEEPING = [name for name in SUMMARIZERS if name not in ("llm", "inflating", "failed")]


@pytest.mark.parametrize("name", KEEPING)
def test_built_in_summarisers_keep_it(name):
    assert check_summarizer(find_summarizer(name), 4) == []


def test_one_that_says_too_much_breaks_its_budget():
    assert [broken.rule for broken in check_summarizer(find_summarizer("inflating"), 4)] == [
        "budget"
    ]


Count = Callable[[str], int]


def all_of(request: SummaryRequest) -> tuple[Source, ...]:
    return tuple(s for m in request.messages for p in m.parts for s in p.sources)


@dataclass(frozen=True)
class Breaking(Summarizer):
    """Breaks one rule."""

    how: str = ""
    asked: list[int] = field(default_factory=list, repr=False, compare=False)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        sources, kind, text = all_of(request), "summary", "x"
        self.asked.append(1)
        if self.how == "raises" and len(sources) > 3:
            raise KeyError("lost")
        if self.how == "stranger":
            sources = (Source("nobody"),)
        if self.how == "changes":
            text = f"{len(self.asked)}"
        if self.how == "stub":
            kind = "stub"
        if not sources or request.max_tokens < 5:
            return ()
        return (Part("text", text, kind, sources),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "rules"),
    [
        ("", []),
        ("raises", ["survives"]),
        ("stranger", ["nothing", "provenance"]),
        ("changes", ["repeatable"]),
        ("stub", ["provenance"]),
    ],
)
def test_what_breaks_it_is_named(how, rules):
    found = check_summarizer(Breaking(how), 4)
    assert [each.rule for each in found] == rules
    assert all(each.strategy == f"breaking(how={how!r})" and each.times > 0 for each in found)


@dataclass(frozen=True)
class Nameless(Breaking):
    """Its spec names another one."""

    @property
    def spec(self) -> str:
        return "nameless(how='other')"


def test_a_spec_that_names_another_is_named():
    assert [each.rule for each in check_summarizer(Nameless(), 1)] == ["spec"]


def test_a_class_is_none():
    assert refusal(UsageError, lambda: check_summarizer(Breaking)) == snapshot(
        "Breaking is a class: check an instance, Breaking()"
    )
