"""What was found by tuning, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from compactlab.reports.tune.choice import HeldOut
from compactlab.reports.tune.found import Found
from compactlab.reports.tune.tuned import Told, Tuned


def data(found: Found) -> dict[str, Any]:
    """Everything that the report says, as numbers and names."""
    return {
        "recall": found.asked.recall,
        "margin": found.asked.margin,
        "files": found.surveyed,
        "failures": list(found.failures),
        "windows": [
            {
                "window": each.window,
                "sessions": len(each.chosen),
                "too_short": each.quiet,
                "left_out": each.shorter,
                "share_of_tokens": each.share,
                "models": dict(each.models),
            }
            for each in found.picked
        ],
        "work": asdict(found.work),
        "strategies": [_of(each) for each in found.tuned],
    }


def _of(tuned: Tuned) -> dict[str, Any]:
    pasted = None if tuned.advised is None else tuned.pasted(tuned.advised)
    return {
        "strategy": tuned.strategy,
        "window": tuned.window,
        "model": tuned.model.name,
        "lag": tuned.lag,
        "inferred": tuned.inferred,
        "sessions": list(tuned.conversations),
        "keep_all_usd": tuned.keep_all,
        "settings": [tuned.figures(place) for place in range(len(tuned.tried))],
        "best": _spec(tuned, tuned.best),
        "may_be_cheapest": _specs(tuned, tuned.interval),
        "within_margin": _specs(tuned, tuned.flat),
        "candidate": _spec(tuned, tuned.candidate),
        "advised": _spec(tuned, tuned.advised),
        "knee": _spec(tuned, tuned.knee),
        "held_out": _held(tuned, tuned.held_out),
        "of_own_left_out": None if tuned.saving is None else asdict(tuned.saving),
        "told_from_no_content": [_told(each) for each in tuned.told],
        "paste": None if pasted is None else pasted.data(),
    }


def _spec(tuned: Tuned, place: int | None) -> str | None:
    return None if place is None else tuned.tried[place].spec


def _specs(tuned: Tuned, places: Sequence[int] | None) -> list[str] | None:
    return None if places is None else [tuned.tried[place].spec for place in places]


def _held(tuned: Tuned, held: HeldOut | None) -> dict[str, Any] | None:
    if held is None:
        return None
    names = {"chosen": _spec(tuned, held.chosen), "best": _spec(tuned, held.best)}
    return asdict(held) | names


def _told(told: Told) -> dict[str, Any]:
    return {**asdict(told), "apart": told.apart}
