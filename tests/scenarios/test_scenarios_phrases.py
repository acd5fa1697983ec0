"""In which words facts are stated: many, in two families, and in none that rules look for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import get_args

import pytest

from compactlab.scenarios.engine.domain import POLARITY, Family, Polarity, phrases, polarity_of
from compactlab.sim.core.conversation import Conversation, Fact, FactType
from compactlab.sim.facts.wording import Wording
from compactlab.strategies import mechanisms, summarizers
from tests.scenarios.made import SIZES, STORIES, all_made, made, spans, stated

OLD, NEW = "otter-4f9a-21c7-e08b", "raven-77aa-9c3e-5d10"
FAMILIES = {"public": phrases().public, "held_out": phrases().held_out}
SAYS = phrases().says
of_both = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
of_all = pytest.mark.parametrize("name", STORIES)


def said(template: str) -> str:
    return template.format(key="billing rota", value=NEW, old=OLD)


def of_polarity(polarity: Polarity) -> Fact:
    return Fact("f", "decision", "billing rota", NEW, polarity=polarity)


def test_every_type_has_three_phrasings_in_each_family() -> None:
    for family in FAMILIES.values():
        assert set(family.states) == set(get_args(FactType)) == set(SAYS)
        for templates in groups(family):
            assert len(set(templates)) == len(templates) >= 3


def groups(family: Family) -> Iterator[tuple[str, ...]]:
    yield from family.states.values()
    yield from family.revises.values()
    yield from (family.shows, family.deletes, family.closes)


def test_no_phrasing_is_in_both_families() -> None:
    public, held_out = (
        {template for group in groups(family) for template in group} for family in FAMILIES.values()
    )
    assert not public & held_out


def test_both_families_have_as_many_so_that_the_same_draws_serve_them() -> None:
    public, held_out = ([len(group) for group in groups(f)] for f in FAMILIES.values())
    assert public == held_out


@of_both
def test_a_statement_has_its_polarity_and_no_other(family: Family) -> None:
    other: Mapping[Polarity, Polarity] = {"must": "must_not", "must_not": "must"}
    for kind, templates in family.states.items():
        polarity = polarity_of(kind)
        for template in (*templates, *(family.revises[polarity] if kind in POLARITY else ())):
            assert Wording(said(template)).says(of_polarity(polarity)).intact
            if kind in POLARITY:
                contrary = of_polarity(other[polarity])
                assert not Wording(said(template)).says(contrary).intact, template


@of_both
def test_some_revisions_say_the_order_and_others_do_not(family: Family) -> None:
    for templates in family.revises.values():
        ordered = {Wording(said(t)).says(of_polarity("is")).ordered for t in templates}
        assert ordered == {True, False}
        for template in templates:
            # Where both values stand, it is told which is the newer.
            known = Wording(said(template)).says(of_polarity("is")).ordered
            assert known or "{old}" not in template


@of_both
def test_what_is_taken_back_is_not_said_once_more(family: Family) -> None:
    for template in (*family.deletes, *family.closes):
        assert "{key}" in template
        assert "{value}" not in template


# ---------------------------------------------------------------- words that rules look for


def cues() -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns of whole words in the modules of strategies and summarisers, in tables too."""
    for package in (summarizers, mechanisms):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                if not isinstance(value, type):
                    yield from ((found.name, pattern) for pattern in patterns(value))


def patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str) and re.match(r"\\b\(\?:\w", value.pattern):
            yield value
    elif isinstance(value, Mapping):
        yield from patterns(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from patterns(each)


CUES = list(cues())


def test_there_are_rules_to_be_compared_with() -> None:
    assert {module.rpartition(".")[2] for module, _ in CUES} >= {"writer", "checklist"}
    assert any(pattern.search("We agreed on tabs.") for _, pattern in CUES)


@of_all
@pytest.mark.parametrize("phrasing", FAMILIES)
def test_no_word_of_a_fact_is_one_that_a_rule_looks_for(name: str, phrasing: str) -> None:
    texts = {
        span
        for conversation in all_made(name, 100_000, phrasing)
        for fact in stated(conversation)
        for span in spans(conversation, fact)
    }
    texts |= {said(t) for group in groups(FAMILIES[phrasing]) for t in group}  # type: ignore[index]
    for module, pattern in CUES:
        for text in texts:
            assert not pattern.search(text), f"{module} looks for {pattern.pattern} in: {text}"


# ------------------------------------------------------------------------ as they are really used


def skeleton(conversation: Conversation, fact: Fact) -> set[str]:
    return {
        span.replace(fact.value, "{value}").replace(fact.key, "{key}")
        for span in spans(conversation, fact)
    }


@of_all
@pytest.mark.parametrize("phrasing", FAMILIES)
def test_facts_of_a_type_are_stated_in_three_phrasings(name: str, phrasing: str) -> None:
    used: dict[str, set[str]] = defaultdict(set)
    count: dict[str, int] = defaultdict(int)
    for conversation in all_made(name, 100_000, phrasing):
        for fact in stated(conversation):
            used[fact.kind] |= skeleton(conversation, fact)
            count[fact.kind] += 1
    for kind, phrasings in used.items():
        assert len(phrasings) >= 3 or count[kind] < 8, kind


@of_all
@pytest.mark.parametrize("tokens", SIZES)
def test_the_same_facts_are_told_in_other_words(name: str, tokens: int) -> None:
    public, held_out = made(name, tokens, 0), made(name, tokens, 0, "held_out")
    plain = [
        {(f.kind, f.key, f.value, f.decoy, bool(f.deleted_at)) for f in each.facts}
        for each in (public, held_out)
    ]
    assert plain[0] == plain[1]
    words = [{s for f in stated(each) for s in skeleton(each, f)} for each in (public, held_out)]
    assert not words[0] & words[1]
