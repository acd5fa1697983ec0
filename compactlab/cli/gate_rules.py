"""Read the rules of a gate from TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from compactlab.reports.gate.record import NEED
from compactlab.reports.gate.rules import Demand, Rule, gains_only
from compactlab.request.settings import SETTINGS, SUBJECT
from compactlab.request.toml_file import Faults, Place, each_of, parsed, quoted, written
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.errors import unknown
from compactlab.sim.metrics import METRICS

KEYS = SUBJECT | SETTINGS
SELECTORS = ("strategy", "scenario", "model", "summarizer", "type")
_TYPES = get_args(FactType)
_PATTERN = re.compile(r"[*?\[]")


def read_rules(path: Path) -> list[Demand]:
    """The rules of a file, which may be an experiment with rules in it.

    Raises an InputError that lists all faults.
    """
    data = parsed(path, "rules")
    experiment = any(key in SUBJECT for key in data)
    return rules_in({k: v for k, v in data.items() if not (experiment and k in KEYS)}, str(path))


def rules_in(data: Mapping[str, Any], path: str, place: Place = ()) -> list[Demand]:
    """The rules in a file: a table ``rules`` for everything, and tables ``rule`` with selectors.

    ``place`` is theirs in the file. Raises an InputError that lists all faults.
    """
    faults = Faults()
    for key in data:
        if key in ("rules", "rule"):
            continue
        stray = key in METRICS
        wrong = "a rule: put it under [rules]" if stray else unknown("key", key, ("rules", "rule"))
        faults.add((key,), wrong)
    demands = _table(data["rules"], ("rules",), faults, ()) if "rules" in data else []
    tables = data.get("rule", [])
    if isinstance(tables, list):
        for number, table in enumerate(tables):
            demands += _table(table, ("rule", number), faults, SELECTORS)
    else:
        faults.add(("rule",), "must be tables: write [[rule]] in two brackets")
    if not demands and not faults:
        faults.add((), "there is no rule in it")
    if faults:
        raise faults.error(path, place)
    return demands


def _table(table: Any, place: Place, faults: Faults, selectors: tuple[str, ...]) -> list[Demand]:
    """The demands of a table: one for each rule on each metric."""
    if not isinstance(table, dict):
        faults.add(place, f"must be a table, not {quoted(table)}")
        return []
    chosen: dict[str, Any] = {
        key: _patterns(table[key], (*place, key), faults) for key in selectors if key in table
    }
    if chosen.get("type"):
        for at, name in each_of(table["type"], (*place, "type")).items():
            if not _PATTERN.search(name) and name not in _TYPES:
                faults.add(at, unknown("type of fact", name, _TYPES))
    asked = [key for key in table if key not in selectors]
    if not asked:
        faults.add(place, "it asks nothing: name a metric, such as cost_usd = '+2%'")
    demands = []
    for metric in asked:
        at = (*place, metric)
        if metric in SELECTORS:
            faults.add(at, "[rules] is for all runs; put rules for some of them into a [[rule]]")
        elif metric not in METRICS:
            faults.add(
                at, unknown("metric", metric, (*METRICS, *selectors), "compactlab list metrics")
            )
        elif "type" in chosen and metric != NEED:
            faults.add(at, _of_type(metric, chosen["type"]))
        else:
            rules = _rules(metric, table[metric], at, faults)
            demands += [Demand(rule, **chosen, place=written(at)) for rule in rules]
    return demands


def _patterns(given: Any, place: Place, faults: Faults) -> tuple[str, ...]:
    listed = given if isinstance(given, list) else [given]
    if not listed or not all(isinstance(each, str) and each for each in listed):
        faults.add(place, f"must be a pattern or a list of patterns, not {quoted(given)}")
        return ()
    return tuple(listed)


def _rules(metric: str, given: Any, place: Place, faults: Faults) -> list[Rule]:
    texts = each_of(given, place)
    if not texts or not all(isinstance(each, str) for each in texts.values()):
        faults.add(place, f"must be text, such as '+2%' or '== 0', not {quoted(given)}")
        return []
    rules = []
    for at, text in texts.items():
        with faults.at(at):
            rules.append(Rule.parse(metric, text))
    if len(rules) == len(texts) and (wrong := gains_only(rules)):
        faults.add(place, wrong)
    return rules


def _of_type(metric: str, types: tuple[str, ...]) -> str:
    """The error that a metric has no values by type, with the metric that has."""
    own = [f"amnesia_{name}" for name in types if f"amnesia_{name}" in METRICS]
    hint = (
        f"; did you mean {own[0]}, without a type?" if metric.startswith("amnesia") and own else ""
    )
    return f"only {NEED} is known by type of fact{hint}"
