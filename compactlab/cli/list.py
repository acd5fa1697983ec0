"""``compactlab list``: what there is to choose from."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

Row = dict[str, object]


def _strategies() -> list[Row]:
    from compactlab.strategies.catalogue import strategies

    return [
        {"name": name, "meaning": _first_line(cls), "spec": cls().spec, "breaks": dict(cls().breaks)}
        for name, cls in sorted(strategies().items())
    ]


def _scenarios() -> list[Row]:
    from compactlab.scenarios.catalogue import SCENARIOS

    return [
        {"name": name, "meaning": _first_line(cls), "spec": cls().spec}
        for name, cls in sorted(SCENARIOS.items())
    ]


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
    "models": _models,
    "metrics": _metrics,
    "formats": _formats,
}


@click.command("list")
@click.argument("kind", type=click.Choice(tuple(_KINDS)))
@click.option("--json", "as_json", is_flag=True, help="All that is known, as JSON.")
def list_(kind: str, as_json: bool) -> None:
    """List strategies, scenarios, models, metrics or transcript formats, a line each."""
    rows = _KINDS[kind]()
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['meaning']}")


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
