"""What reports say, with the names in it as they are."""

from collections.abc import Iterable, Sequence
from textwrap import fill

from compactlab.reports.analysis import advice
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.page import table as beside
from compactlab.reports.page import verdict as main
from compactlab.reports.render.document import with_names
from compactlab.sim.store.results import Results


def only(results: Results) -> Comparison:
    """The one comparison of a store."""
    (comparison,) = comparisons(results)
    return comparison


def folded(said: str | Iterable[str]) -> str:
    """A text or some sentences for a snapshot, in lines of its width."""
    texts = [said] if isinstance(said, str) else said
    return "\n".join(fill(line, 96) for text in texts for line in text.splitlines())


def verdict(comparison: Comparison) -> list[str]:
    return [with_names(sentence) for sentence in main.verdict(comparison)]


def tokens_and_money(comparison: Comparison) -> list[str]:
    return [with_names(sentence) for sentence in main.tokens_and_money(comparison)]


def notes(comparison: Comparison) -> list[str]:
    return [with_names(sentence) for sentence in beside.notes(comparison)]


def unused(comparison: Comparison) -> list[str]:
    return [with_names(sentence) for sentence in beside.unused(comparison)]


def capped(comparison: Comparison) -> list[str]:
    return [with_names(sentence) for sentence in beside.capped(comparison)]


def legend(compared: Sequence[Comparison]) -> list[str]:
    return [with_names(sentence) for sentence in beside.legend(compared)]


def agreement(compared: Sequence[Comparison]) -> list[str]:
    return [with_names(sentence) for sentence in advice.agreement(compared)]


def summaries(results: Results) -> str:
    return with_names(beside.summaries(results))
