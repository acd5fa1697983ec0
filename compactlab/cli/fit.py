"""``compactlab fit``: a profile for scenarios, measured in recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from compactlab.cli.disclosing import say, shown, write_aside
from compactlab.cli.options import Count, finish, nothing_found, redact
from compactlab.reports.render.text import clean, counted, enumerated, listed, shorten
from compactlab.scenarios.engine.profile import Profile
from compactlab.scenarios.fitting import QUANTILES, Row, Samples, closeness, quantiles, worst
from compactlab.sim.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from compactlab.scenarios.fitting import Samples
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.experiment.sources import Source


# How close synthetic conversations come to the recordings that their profile was measured on.

_NAME, _UNIT, _FIGURE = 20, 8, 7  # characters of a column; a longer name is cut
_SHOWN = 8  # names of what only one side has


def fit_table(profile: Profile, recorded: Samples, made: Samples) -> str:
    """Write the report."""
    rows = closeness(recorded, made)
    heads = "".join(f"{f'p{share * 100:.0f}':>{_FIGURE}}" for share in QUANTILES)
    count = counted(made.formats.total(), "conversation")
    lines = [
        profile.source,
        f"Compared with {count} made by it (synthetic).",
        "",
        f"{'':{_NAME + _UNIT}}{'recorded':>{_FIGURE * 5}}{'synthetic':>{_FIGURE * 5}}",
        f"{'':{_NAME + _UNIT}}{'n':>{_FIGURE}}{heads}{'n':>{_FIGURE}}{heads}"
        f"{'KS':>{_FIGURE}}{'crit.':>{_FIGURE}}",
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
    """What only one side has."""
    recorded = [clean(row.name) for row in rows if not row.made]
    made = [clean(row.name) for row in rows if not row.recorded]
    if recorded:
        yield f"Only recorded: {enumerated(recorded, _SHOWN)}."
    if made:
        yield f"Only synthetic: {enumerated(made, _SHOWN)}."
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
    events = {
        "text": "calls of tools with text",
        "thinking": "calls with thinking",
        "pair": "calls of several tools",
        "error": "results that are errors",
    }
    for key, words in events.items():
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
    return f"{shorten(words, 39):40}{recorded:>8.1%} recorded{made:>8.1%} synthetic"


def _verdict(rows: Sequence[Row]) -> str:
    row = worst(rows)
    if row is None or row.distance is None or row.chance is None:
        return "There are too few samples to measure the distance."
    return (
        f"Largest KS distance: {clean(row.name)}, {row.distance:.2f} (critical value at 5%: "
        f"{row.chance:.2f})."
    )


# The command.


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the profile to FILE.",
)
@click.option("--name", default="fitted", show_default=True, help="Name of the profile.")
@click.option(
    "--date",
    default="",
    help="Date of the measurement, for the source of the profile.  [default: none]",
)
@click.option(
    "--scenario",
    default="coding_agent",
    show_default=True,
    metavar="SPEC",
    help="Scenario whose synthetic conversations are compared with the recordings.",
)
@click.option(
    "--fill",
    default="coding",
    show_default=True,
    metavar="PROFILE",
    help="Profile for figures that the recordings do not have: a built-in one or a file.",
)
@click.option(
    "--made",
    type=Count(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of synthetic conversations, with turns and tokens of the recordings.",
)
@redact
@click.option("--lenient", is_flag=True, help="Skip lines that cannot be read.")
def fit(
    paths: tuple[str, ...],
    *,
    out: str | None,
    name: str,
    date: str,
    scenario: str,
    fill: str,
    made: int,
    lenient: bool,
) -> None:
    """Measure recordings, and make a profile for scenarios from them.

    PATH is a transcript of any format or a folder of them. The command measures the sizes of user
    messages, of the agent's texts, thinking and arguments, and of each tool's results; how often
    each tool is called, alone or with others, and how often it fails; how long the agent, the tools
    and the user take, with breaks; and the number of calls per turn.

    -o FILE writes the profile, for "coding_agent(profile='FILE')" and every other scenario that
    takes one. The report compares the recordings with synthetic conversations made by the profile:
    quantiles side by side, the Kolmogorov-Smirnov distance (KS; 0: same distribution, 1: no
    overlap), and its critical value at 5% for two samples of this size (crit.).
    """
    from compactlab.scenarios.catalogue import find_scenario, sources
    from compactlab.scenarios.engine.profile import find_profile
    from compactlab.scenarios.fitting import estimate, measure

    filled = find_profile(fill)
    find_scenario(scenario)  # fail before the work and not after it
    readable, skipped = sources(paths, lenient=lenient)
    errors: list[InputError] = []
    recorded = measure(_loaded(readable, errors))
    if not recorded.written:
        reason = "no call was found" if readable else nothing_found(paths, skipped)
        raise errors[0] if errors else UsageError(f"there is nothing to measure: {reason}")
    fitted = estimate(recorded, name, _source(recorded, date), filled)
    if out:
        write_aside(Path(out), shown(fitted.toml()))
    with TemporaryDirectory() as folder:
        file = Path(folder, "profile.toml")
        file.write_text(fitted.toml(), encoding="utf-8")
        generated = measure(_made(scenario, recorded, made, file))
    say(fit_table(fitted.profile, recorded, generated))
    finish(paths, skipped, errors)


def _loaded(readable: Iterable[Source], errors: list[InputError]) -> Iterator[Conversation]:
    """What can be read of the sources; what cannot is kept with its error."""
    for source in readable:
        try:
            yield from source.load()
        except InputError as fault:
            errors.append(fault)


def _source(recorded: Samples, date: str) -> str:
    """Where the figures are from, in a sentence."""
    formats = listed([f"{count:,} {name}" for name, count in sorted(recorded.formats.items())])
    results = recorded.shares["error"].of
    size = f"{counted(len(recorded.written), 'call')}, {counted(results, 'tool result')}"
    measured = f"Measured by compactlab fit on recorded sessions ({formats}): {size}"
    return f"{measured}; {date}." if date else f"{measured}."


def _made(scenario: str, recorded: Samples, count: int, profile: Path) -> Iterator[Conversation]:
    """Make conversations by a profile, of turns and tokens that recordings have."""
    from compactlab.scenarios.catalogue import find_scenario
    from compactlab.sim.core.spec import build, parse_spec

    cls, (_, given) = type(find_scenario(scenario)), parse_spec(scenario)
    sizes = sorted(zip(recorded.tokens, recorded.turns, strict=True))
    for seed in range(count):
        # Of more recordings than are made, small and large ones alike.
        tokens, turns = sizes[seed * len(sizes) // count]
        wanted = {"profile": str(profile), "tokens": max(tokens, 1), "turns": max(turns, 1)}
        yield build(cls, wanted | given).conversation(seed)
