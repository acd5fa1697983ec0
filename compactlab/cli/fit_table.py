"""How close made-up conversations come to the recordings that their profile was measured on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactlab.reports.text import clean, counted, enumerated, shorten
from compactlab.scenarios.fitting.closeness import QUANTILES, Row, closeness, quantiles, worst
from compactlab.scenarios.fitting.samples import Samples
from compactlab.scenarios.plot.profile import Profile

_NAME, _UNIT, _FIGURE = 20, 8, 7  # characters of a column; a longer name is cut
_TOLD = 8  # so many names of what stands on one side alone


def fit_table(profile: Profile, recorded: Samples, made: Samples) -> str:
    """Write the report.

    Parameters
    ----------
    profile
        The profile that was made of the recordings.
    recorded, made
        What was measured in the recordings, and in conversations that were made by it.
    """
    rows = closeness(recorded, made)
    heads = "".join(f"{f'p{share * 100:.0f}':>{_FIGURE}}" for share in QUANTILES)
    count = counted(made.formats.total(), "conversation")
    lines = [
        profile.source,
        f"Held against {count} made by it (simulated).",
        "",
        f"{'':{_NAME + _UNIT}}{'recorded':>{_FIGURE * 5}}{'made':>{_FIGURE * 5}}",
        f"{'':{_NAME + _UNIT}}{'n':>{_FIGURE}}{heads}{'n':>{_FIGURE}}{heads}"
        f"{'apart':>{_FIGURE}}{'chance':>{_FIGURE}}",
        *(_line(row) for row in rows if row.recorded and row.made),
        "",
        *_alone(rows),
        *_shares(recorded, made),
        "",
        _verdict(rows),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _line(row: Row) -> str:
    name = f"{shorten(clean(row.name), _NAME - 1):{_NAME}}{row.unit:{_UNIT}}"
    return name + _side(row.recorded) + _side(row.made) + _two(row.distance) + _two(row.chance)


def _alone(rows: Sequence[Row]) -> Iterator[str]:
    """What has nothing on the other side to be held against."""
    recorded = [clean(row.name) for row in rows if not row.made]
    made = [clean(row.name) for row in rows if not row.recorded]
    if recorded:
        yield f"Only recorded: {enumerated(recorded, _TOLD)}."
    if made:
        yield f"Only made: {enumerated(made, _TOLD)}."
    if recorded or made:
        yield ""


def _side(samples: Sequence[float]) -> str:
    figures = quantiles(samples) or (None,) * len(QUANTILES)
    return f"{len(samples):>{_FIGURE},}" + "".join(f"{_short(each):>{_FIGURE}}" for each in figures)


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 99_950:
        return f"{value / 1000:.0f}k"
    if value >= 9_999.5:
        return f"{value / 1000:.1f}k"
    return f"{value:,.0f}" if value >= 99.95 or value == int(value) else f"{value:.2g}"


def _two(value: float | None) -> str:
    return f"{'-' if value is None else f'{value:.2f}':>{_FIGURE}}"


def _shares(recorded: Samples, made: Samples) -> Iterator[str]:
    """How often what is done, in percent."""
    said = {
        "text": "calls of tools with text",
        "thinking": "calls with thinking",
        "pair": "calls of several tools",
        "error": "results that are errors",
    }
    for key, words in said.items():
        yield _percent(words, recorded.shares[key].value, made.shares[key].value)
    yield _percent("tokens that tools returned", _returned(recorded), _returned(made))
    uses, same = recorded.tools.total(), made.tools.total()
    for tool, count in (recorded.tools + made.tools).most_common():
        if count * 100 >= uses + same:
            yield _percent(
                f"calls of {clean(tool)}",
                recorded.tools[tool] / max(uses, 1),
                made.tools[tool] / max(same, 1),
            )


def _returned(samples: Samples) -> float:
    tokens = zip(samples.tool_share, filter(None, samples.tokens), strict=True)
    return sum(share * size for share, size in tokens) / max(sum(samples.tokens), 1)


def _percent(words: str, recorded: float, made: float) -> str:
    return f"{shorten(words, 39):40}{recorded:>8.1%} recorded{made:>8.1%} made"


def _verdict(rows: Sequence[Row]) -> str:
    row = worst(rows)
    if row is None or row.distance is None or row.chance is None:
        return "There are too few samples of anything to say how close this is."
    return (
        f"Furthest apart: {clean(row.name)}, by {row.distance:.2f} where chance explains "
        f"{row.chance:.2f}."
    )
