"""``compactlab list``: what there is to choose from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import click

from compactlab.cli.disclosing import say
from compactlab.cli.models import model_rows, model_table
from compactlab.cli.options import own_models
from compactlab.sim.errors import UsageError

MODELS = "models"
Row = dict[str, object]


def _strategies() -> list[Row]:
    from compactlab.strategies.catalogue import strategies

    return [
        {**_configured(name, cls()), "breaks": dict(cls().breaks)}
        for name, cls in sorted(strategies().items())
    ]


def _scenarios() -> list[Row]:
    from compactlab.scenarios.catalogue import DEFAULT, SCENARIOS, find_scenario
    from compactlab.sim.spec import parse_spec

    used = {parse_spec(DEFAULT)[0]: find_scenario(DEFAULT).spec}
    return [
        {**_configured(name, cls()), "used_by_run": used.get(name)}
        for name, cls in sorted(SCENARIOS.items())
    ]


def _summarizers() -> list[Row]:
    from compactlab.summarizers.catalogue import SUMMARIZERS, find_summarizer

    made = {name: find_summarizer(name) for name in sorted(SUMMARIZERS)}
    return [{**_configured(name, it), "simulated": it.simulated} for name, it in made.items()]


def _configured(name: str, found: Any) -> Row:
    """What can be configured, at its defaults."""
    fields = [field.name for field in dataclasses.fields(found) if field.repr and field.init]
    parameters = {field: getattr(found, field) for field in fields}
    meaning = _first_line(type(found))
    return {"name": name, "meaning": meaning, "spec": found.spec, "parameters": parameters}


def _metrics() -> list[Row]:
    from compactlab.sim.metrics import FAMILIES

    return [
        {
            "name": metric.name,
            "meaning": f"{metric.meaning} ({metric.unit}, {metric.better} is better)",
            "family": family.name,
            "heading": family.title,
            "unit": metric.unit,
            "better": metric.better,
            "of_run": metric.of_run,
            "source": metric.source,
        }
        for family in FAMILIES
        for metric in family.metrics
    ]


def _formats() -> list[Row]:
    from compactlab.scenarios.transcript import FORMATS

    return [{"name": form.name, "meaning": form.description} for form in FORMATS]


_KINDS: dict[str, Callable[[], list[Row]]] = {
    "strategies": _strategies,
    "scenarios": _scenarios,
    "summarizers": _summarizers,
    "metrics": _metrics,
    "formats": _formats,
}
# What is said of a list as a whole, behind it.
_NOTES = {
    "scenarios": "suite stands for all of them; of another size: 'rewinds(tokens=20000)',"
    " 'suite(tokens=400000)'",
}


@click.command("list")
@click.argument("kind", metavar="KIND", type=click.Choice((*_KINDS, MODELS)))
@click.option("--parameters", "-p", is_flag=True, help="Parameters with their defaults, too.")
@own_models
@click.option("--json", "as_json", is_flag=True, help="All that is known, as JSON.")
def list_(kind: str, parameters: bool, models_file: str | None, as_json: bool) -> None:
    """List what there is to choose from.

    KIND is strategies, scenarios, summarizers, metrics, formats (of transcripts) or models. A line
    each, and what of it is simulated; with --parameters, what can be configured follows. Metrics
    stand under their families, of which --metrics of compactlab run takes the names, too.
    """
    if models_file and kind != MODELS:
        raise UsageError(f"--models FILE adds to the list of models, not of {kind}")
    rows = model_rows(models_file) if kind == MODELS else _KINDS[kind]()
    if as_json:
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    if kind == MODELS:
        say(model_table(rows))
        return
    for line in _lines(rows, parameters):
        say(line)
    if kind in _NOTES:
        say(f"  {_NOTES[kind]}")


def _lines(rows: list[Row], parameters: bool) -> Iterator[str]:
    width = max(len(str(row["name"])) for row in rows)
    family = None
    for row in rows:
        if row.get("family") != family:
            family = row["family"]
            yield f"{family}: {row['heading']}"
        indent = "  " if family else ""
        yield f"{indent}{row['name']:<{width}}  {row['meaning']}"
        if row.get("simulated"):
            yield f"{'':<{width}}  simulated: {row['simulated']}"
        for line in _below(row) if parameters else ():
            yield f"{'':<{width}}  {line}"


def _below(row: Row) -> Iterator[str]:
    """What follows a line: parameters, and the spec that is used if none is named."""
    import textwrap

    parameters = row.get("parameters")
    if isinstance(parameters, dict):
        # Blanks within a value must not break it.
        written = [f"{name}={value!r}".replace(" ", "\0") for name, value in parameters.items()]
        lines = textwrap.wrap(", ".join(written), 76, break_long_words=False)
        yield from (line.replace("\0", " ") for line in lines)
    if row.get("used_by_run"):
        yield f"compactlab run uses {row['used_by_run']}"


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
