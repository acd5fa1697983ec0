"""The models that there are: a table for people, and all that is known of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compactlab.sim.model import Model
    from compactlab.sim.pricing import Sheet

Row = dict[str, object]

_CLASSES = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
# A request so small that no tier begins below it; servers are told at its size.
_SMALL = 1_000
_TIMES = "\N{MULTIPLICATION SIGN}"


def model_rows(file: str | None = None) -> list[Row]:
    """All that is known of all models.

    Parameters
    ----------
    file
        A TOML file with a user's own models.

    Raises
    ------
    InputError
        If the file is wrong.
    """
    from compactlab.naming import known_models

    return [_row(model) for model in known_models(file).models.values()]


def _row(model: Model) -> Row:
    from compactlab.sim.pricing import UNDATED, price_list

    policy = model.policy
    lives = {policy.lifetime(ttl) for ttl in ("", "5m", "1h")} if policy else set()
    prices = _prices(model)
    return {
        "name": model.name,
        "meaning": f"{model.window:,} tokens; "
        + (policy.spec if policy else "no cache policy yet: name it with @none"),
        "provider": model.provider,
        "window": model.window,
        "max_output": model.max_output,
        "encoding": model.tokenizer.encoding,
        "factor": model.tokenizer.factor,
        "framing": model.tokenizer.framing,
        "thinking": model.tokenizer.thinking,
        "cache": policy.spec if policy else None,
        "minimum": getattr(policy, "minimum", None),
        "lifetimes": sorted(life for life in lives if 0 < life < math.inf),
        "strips_thinking": model.strips_thinking,
        "price": model.price,
        "price_list": price_list() if model.price else "",
        "priced_at": UNDATED.date().isoformat() if model.price else model.asof,
        "dollars_per_million_tokens": prices,
        "storage_dollars_per_million_tokens_and_hour": _storage(model),
        "multipliers": dict(model.multipliers),
        "source": model.source,
        "asof": model.asof,
    }


def _prices(model: Model) -> list[Row]:
    """Dollars by class, at each size of request from which they are others."""
    from compactlab.sim.errors import ModelError
    from compactlab.sim.pricing import prices_of

    try:
        sheet = prices_of(model)
    except ModelError:
        return []
    sizes: Sequence[int] = getattr(sheet, "sizes", lambda _: [0])(0)
    return [{"above": size, **_at(sheet, size)} for size in sizes]


def _at(sheet: Sheet, size: int) -> Row:
    from compactlab.sim.message import Usage

    charge = sheet.rates(0, size + 1)
    costs = {name: charge.cost(Usage(**{name: _SMALL})) for name in _CLASSES}
    return {name: float(f"{cost * 1e6 / _SMALL:.6g}") for name, cost in costs.items()}


def _storage(model: Model) -> float:
    from compactlab.sim.errors import ModelError
    from compactlab.sim.message import Usage
    from compactlab.sim.pricing import prices_of

    try:
        charge = prices_of(model).rates(0, _SMALL)
    except ModelError:
        return 0.0
    return float(f"{charge.cost(Usage(storage=3_600_000)) * 1_000:.6g}")


_HEADS = (
    "model", "provider", "window", "output", "tokens", "cache", "minimum", "lives",
    "in", "read", "write", "write 1h", "out",
)  # fmt: skip
_LEFT = frozenset({"model", "provider", "tokens", "cache", "lives"})


def model_table(rows: Sequence[Row]) -> str:
    """Set the models as a table in plain text.

    Parameters
    ----------
    rows
        As of :func:`model_rows`.
    """
    cells = [_cells(row) for row in rows]
    widths = {head: max(len(head), *(len(line[head]) for line in cells)) for head in _HEADS}
    lines = [_line(widths, {head: head for head in _HEADS})]
    lines += [_line(widths, line) for line in cells]
    named = next((row for row in rows if row["price_list"]), rows[0])
    return "\n".join([*lines, "", *_legend(named)])


def _line(widths: dict[str, int], cells: dict[str, str]) -> str:
    set_ = (
        cells[head].ljust(width) if head in _LEFT else cells[head].rjust(width)
        for head, width in widths.items()
    )
    return "  ".join(set_).rstrip()


def _cells(row: Row) -> dict[str, str]:
    spec = str(row["cache"]) if row["cache"] else "(none built)"
    lives = row["lifetimes"]
    prices = row["dollars_per_million_tokens"]
    assert isinstance(lives, list)
    assert isinstance(prices, list)
    told = dict(zip(_HEADS[8:], _money(prices), strict=True))
    return {
        "model": str(row["name"]),
        "provider": str(row["provider"]) or "-",
        "window": f"{row['window']:,}",
        "output": f"{row['max_output']:,}" if row["max_output"] else "?",
        "tokens": f"{str(row['encoding']).removesuffix('_base')} {_TIMES} {row['factor']:g}",
        "cache": spec.partition("(")[0] if row["cache"] else spec,
        "minimum": "-" if row["minimum"] is None else f"{row['minimum']:,}",
        "lives": " ".join(map(_span, lives)) or "-",
        **told,
    }


def _money(prices: Sequence[Row]) -> list[str]:
    """The prices of a small request, marked where a larger one costs more."""
    if not prices:
        return ["?"] * len(_CLASSES)
    small = {name: prices[0][name] for name in _CLASSES}
    told = {name: f"{price:.4g}" for name, price in small.items()}
    if small["cache_write_5m"] == small["cache_write_1h"] == small["uncached"]:
        # What is written costs what input costs: nothing is to be said of it.
        told["cache_write_5m"] = told["cache_write_1h"] = "-"
    told["uncached"] += "+" if len(prices) > 1 else ""
    return list(told.values())


def _span(seconds: float) -> str:
    if seconds % 3600 == 0:
        return f"{seconds / 3600:g}h"
    return f"{seconds / 60:g}m" if seconds >= 60 else f"{seconds:g}s"


def _legend(row: Row) -> list[str]:
    listed = f"{row['price_list']}, on {row['priced_at']}" if row["price_list"] else "by hand"
    return [
        f"Dollars per million tokens ({listed}); + is more for large requests; own servers, at "
        "1,000 tokens. ? is not known.",
        "--json has all of it: policies with their figures, tiers, multipliers, storage, sources.",
    ]
