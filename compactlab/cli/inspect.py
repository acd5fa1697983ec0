"""``compactlab inspect``: describe a transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.options import (
    client_option,
    finish,
    format_option,
    named_or_usual,
    nothing_found,
    redact,
    setting_option,
)
from compactlab.cli.output import print_json, say, shown
from compactlab.reports.render.text import counted, dollars
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.explain.explanation import Anatomy
    from compactlab.sim.core.conversation import PassedOver
    from compactlab.sim.experiment.sources import Source


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@format_option("table", "json")
@setting_option("strict")
@setting_option("models_file")
@redact
def inspect(
    paths: Sequence[str],
    *,
    client: str | None,
    form: str,
    strict: bool,
    models_file: str | None,
) -> None:
    """Describe transcripts: format, calls, compactions, cost.

    It shows calls by turns, tokens by role and tool, gaps, compactions, recorded usage and cost.
    PATH may also be a scenario's spec. Without PATH, the folders of the installed clients are read.
    """
    from compactlab.reports.explain.explanation import anatomy
    from compactlab.sim.models.pricing import known_models

    catalogue = known_models(models_file)
    paths = named_or_usual(paths, client)
    readable, skipped, errors = _sources(paths, strict)
    if not readable and not errors:
        raise UsageError(f"there is nothing to inspect: {nothing_found(paths, skipped)}")
    anatomies: list[Anatomy] = []
    for source in readable:
        try:
            anatomies += (anatomy(source.named(each), catalogue) for each in source.load())
        except InputError as fault:
            errors.append(fault)
    anatomies = shown(anatomies)
    if form == "json":
        print_json(json.dumps([_plain(each) for each in anatomies], indent=2))
    elif anatomies:
        say("\n\n".join(map(_text, anatomies)))
    finish(paths, skipped, errors, nothing=not anatomies)


def _sources(paths: Sequence[str], strict: bool) -> tuple[list[Source], int, list[CompactlabError]]:
    """The readable sources, the number of skipped files in folders, and the errors."""
    from compactlab.scenarios.catalogue import sources

    good: list[str] = []
    errors: list[CompactlabError] = []
    for path in paths:
        try:
            sources([path])
            good.append(path)
        except (InputError, UsageError) as fault:
            errors.append(fault)
    readable, skipped = sources(good, strict=strict)
    return readable, skipped, errors


def _plain(figures: Anatomy) -> dict[str, Any]:
    from compactlab.reports.bill import SPENT
    from compactlab.reports.render.fields import as_data, data_of

    purposes = [
        {"purpose": name, **data_of(SPENT, each)} for name, each in figures.purposes.items()
    ]
    own = ("spent", "purposes", "passed_over")
    return {
        **{name: value for name, value in asdict(figures).items() if name not in own},
        "passed_over": as_data(figures.passed_over),
        "spent": {**data_of(SPENT, figures.spent), "by_purpose": purposes},
    }


def _text(figures: Anatomy) -> str:
    hidden = figures.unseen
    rows = [
        ("format", figures.format),
        ("calls", f"{figures.calls:,} in {counted(figures.turns, 'turn')}, "
         f"{counted(figures.messages, 'message')}"),
        ("models", _listed(figures.models)),
        ("compactions", _compactions(figures)),
        ("rewinds", f"{figures.rewinds:,}"),
        ("tokens by role", f"{_listed(figures.tokens_by_role)} (o200k)"),
        ("tokens by tool", _listed(figures.tokens_by_tool) or "none"),
        ("images", f"{figures.images:,}"),
        ("gaps", _gaps(figures.gaps)),
        ("recorded input", _NO_USAGE if figures.unrecorded else _input(figures)),
        ("recorded output", _NO_USAGE if figures.unrecorded else _output(figures)),
        ("cost", _NO_USAGE if figures.unrecorded else _cost(figures)),
        ("not in the log", "unknown: no usage recorded" if figures.unrecorded else
         f"{hidden.system:,} tools and system prompt, {hidden.context:,} client context, "
         f"{hidden.head:,} before it begins (o200k, estimated)"),
        ("passed over", "; ".join(map(_passed_over, figures.passed_over)) or "nothing"),
    ]  # fmt: skip
    if figures.parent:
        calls, amount = figures.spent.inherited, _dollars(figures.spent.inherited_total)
        whose = f"{counted(calls, 'call')} of the bill, {amount}, are its parent's"
        rows.insert(1, ("forked from", f"{figures.parent}: {whose}"))
    lines = [figures.conversation, *(f"  {title:<18} {text}" for title, text in rows)]
    return "\n".join(map(_visible, lines))


def _visible(text: str) -> str:
    """Clean a text: names in a transcript must not move the cursor or add lines."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _passed_over(one: PassedOver) -> str:
    if not one.line:
        return str(one)
    return f"{one}, {'the first in' if one.count > 1 else 'in'} line {one.line:,}"


def _listed(counts: dict[str, int]) -> str:
    shown = [f"{name or '(not named)'} {count:,}" for name, count in list(counts.items())[:8]]
    return ", ".join(c for c in shown) + (", ..." if len(counts) > len(shown) else "")


def _input(figures: Anatomy) -> str:
    usage = figures.spent.usage
    return (
        f"{usage.uncached:,} uncached, {usage.cache_read:,} read, {usage.cache_write:,} written "
        f"({usage.cache_write_5m:,} for 5 min, {usage.cache_write_1h:,} for 1 h)"
    )


def _output(figures: Anatomy) -> str:
    spent = figures.spent
    if not spent.estimated:
        return f"{spent.usage.output:,}"
    recorded = spent.usage.output - spent.estimated
    return (
        f"{spent.usage.output:,}, of which {spent.estimated:,} are estimated: the log recorded "
        f"{recorded:,}, as it counted answers before they had ended, so their texts are counted"
    )


def _cost(figures: Anatomy) -> str:
    spent = figures.spent
    if spent.total is None:
        return "no price is known: write one into a file and name it with --models"
    least = "at least " if spent.at_least else ""
    without = f" ({counted(spent.unpriced, 'call')} without a price)" if spent.unpriced else ""
    parts = [
        f"{name.replace('_', ' ')} {_dollars(each.total)}"
        for name, each in figures.purposes.items()
    ]
    split = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    return f"{least}{_dollars(spent.total)}{split}{without}"


def _dollars(amount: float | None) -> str:
    return "of no known price" if amount is None else f"${dollars(amount)}"


_NO_USAGE = "no usage recorded"
_SHOWN = 8  # maximum of compactions with sizes


def _compactions(figures: Anatomy) -> str:
    if figures.compactions and not any(figures.compactions):
        return f"{len(figures.compactions):,} (tokens before: not recorded)"
    sizes = ", ".join(f"{size:,}" if size else "?" for size in figures.compactions[:_SHOWN])
    more = len(figures.compactions) - _SHOWN
    sizes += f" and {more:,} more" if more > 0 else ""
    return f"{len(figures.compactions)} (tokens before: {sizes})" if sizes else "none"


def _gaps(gaps: tuple[float, ...]) -> str:
    if not gaps:
        return "no times recorded"
    return "median {:,.1f} s, 90th percentile {:,.1f} s, longest {:,.0f} s".format(*gaps)
