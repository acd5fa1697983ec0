"""``compactlab list``: what there is to choose from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import click

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

    return [_configured(name, find_summarizer(name)) for name in sorted(SUMMARIZERS)]


def _configured(name: str, found: Any) -> Row:
    """What can be configured, at its defaults."""
    fields = [field.name for field in dataclasses.fields(found) if field.repr and field.init]
    parameters = {field: getattr(found, field) for field in fields}
    meaning = _first_line(type(found))
    return {"name": name, "meaning": meaning, "spec": found.spec, "parameters": parameters}


def _models() -> list[Row]:
    from compactlab.sim.model import catalogue

    return [
        {
            "name": model.name,
            "meaning": f"{model.window:,} tokens; "
            + (model.policy.spec if model.policy else "no cache policy yet: name it with @none"),
            "window": model.window,
            "max_output": model.max_output,
            "encoding": model.tokenizer.encoding,
            "factor": model.tokenizer.factor,
            "cache": model.policy.spec if model.policy else None,
            "price": model.price,
        }
        for model in catalogue().values()
    ]


def _metrics() -> list[Row]:
    from compactlab.sim.metrics import METRICS

    return [
        {
            "name": name,
            "meaning": f"{metric.meaning} ({metric.unit}, {metric.better} is better)",
            "unit": metric.unit,
            "better": metric.better,
            "of_run": metric.of_run,
            "source": metric.source,
        }
        for name, metric in METRICS.items()
    ]


def _formats() -> list[Row]:
    from compactlab.scenarios.transcript import FORMATS

    return [{"name": form.name, "meaning": form.description} for form in FORMATS]


_KINDS: dict[str, Callable[[], list[Row]]] = {
    "strategies": _strategies,
    "scenarios": _scenarios,
    "summarizers": _summarizers,
    "models": _models,
    "metrics": _metrics,
    "formats": _formats,
}


@click.command("list")
@click.argument("kind", type=click.Choice(tuple(_KINDS)))
@click.option("--parameters", "-p", is_flag=True, help="Parameters with their defaults, too.")
@click.option("--json", "as_json", is_flag=True, help="All that is known, as JSON.")
def list_(kind: str, parameters: bool, as_json: bool) -> None:
    """List strategies, scenarios, summarisers, models, metrics or transcript formats.

    A line each; with --parameters, what can be configured follows.
    """
    rows = _KINDS[kind]()
    if as_json:
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['meaning']}")
        for line in _below(row) if parameters else ():
            click.echo(f"{'':<{width}}  {line}")


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
