"""``compactlab fit``: measure a profile for scenarios in recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from compactlab.cli.options import (
    Count,
    client_option,
    finish,
    named_or_usual,
    nothing_found,
    redact,
    setting_option,
)
from compactlab.cli.output import say, shown, write_aside
from compactlab.reports.render.document import Column, Document, Table, name, rows, sentences
from compactlab.reports.render.text import counted, enumerated, listed, shorten
from compactlab.sim.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from compactlab.scenarios.engine.profile import Profile
    from compactlab.scenarios.fitting import Row, Samples
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.experiment.sources import Source


# The number of synthetic conversations for the comparison: all are in memory at once, and some
# hundred suffice for the shown distances.
MOST_MADE = 1_000
_NAME, _WORDS = 20, 39  # characters of the names of sizes, and of shares
_SHOWN = 8  # maximum of names that only one side has
_FIGURES = ("n", "p10", "p50", "p90", "p99")  # the quantiles of `fitting.QUANTILES`
_SIZES = (
    Column("size", words=True),
    Column("unit", words=True),
    *(Column(head, group=side) for side in ("recorded", "synthetic") for head in _FIGURES),
    Column("KS"),
    Column("crit."),
)
_SHARES = (Column("share", words=True), Column("recorded"), Column("synthetic"))


def fit_report(profile: Profile, recorded: Samples, made: Samples) -> Document:
    """Report how similar synthetic conversations are to the recordings of their profile."""
    from compactlab.scenarios.fitting import closeness

    sizes = closeness(recorded, made)
    count = counted(made.formats.total(), "conversation")
    about = [name(profile.source), f"Compared with {count} made by it (synthetic)."]
    blocks = (
        sentences(about, bullets=False),
        Table(_SIZES, rows(_cells(row) for row in sizes if row.recorded and row.made)),
        sentences(_one_sided(sizes)),
        Table(_SHARES, rows(_shares(recorded, made))),
        sentences([_verdict(sizes)]),
    )
    return Document(blocks)


def _cells(row: Row) -> Sequence[str]:
    figures = (*_figures(row.recorded), *_figures(row.made), _two(row.distance), _two(row.chance))
    return name(shorten(row.name, _NAME)), row.unit, *figures


def _one_sided(sizes: Sequence[Row]) -> Iterator[str]:
    """The names of sizes that only one side has."""
    recorded = [name(row.name) for row in sizes if not row.made]
    made = [name(row.name) for row in sizes if not row.recorded]
    if recorded:
        yield f"Only recorded: {enumerated(recorded, _SHOWN)}."
    if made:
        yield f"Only synthetic: {enumerated(made, _SHOWN)}."


def _figures(samples: Sequence[float]) -> Sequence[str]:
    from compactlab.scenarios.fitting import QUANTILES, quantiles

    figures = quantiles(samples) or (None,) * len(QUANTILES)
    return f"{len(samples):,}", *map(_short, figures)


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 99_950:
        return f"{value / 1000:.0f}k"
    if value >= 9_999.5:
        return f"{value / 1000:.1f}k"
    return f"{value:,.0f}" if value >= 99.95 or value == int(value) else f"{value:.2g}"


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _shares(recorded: Samples, made: Samples) -> Iterator[Sequence[str]]:
    """The frequency of each event."""
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
            shares = recorded.tools[tool] / max(uses, 1), made.tools[tool] / max(same, 1)
            yield _percent(f"calls of {tool}", *shares)


def _returned(samples: Samples) -> float:
    tokens = zip(samples.tool_share, filter(None, samples.tokens), strict=True)
    return sum(share * size for share, size in tokens) / max(sum(samples.tokens), 1)


def _percent(words: str, recorded: float, made: float) -> Sequence[str]:
    return name(shorten(words, _WORDS)), f"{recorded:.1%}", f"{made:.1%}"


def _verdict(sizes: Sequence[Row]) -> str:
    from compactlab.scenarios.fitting import worst

    row = worst(sizes)
    if row is None or row.distance is None or row.chance is None:
        return "There are too few samples to measure the distance."
    return (
        f"Largest KS distance: {name(row.name)}, {row.distance:.2f} (critical value at 5%: "
        f"{row.chance:.2f})."
    )


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@client_option
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the profile to FILE.",
)
@click.option("--name", "called", default="fitted", show_default=True, help="Name of the profile.")
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
    type=Count(1, MOST_MADE),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of synthetic conversations, with turns and tokens of the recordings.",
)
@redact
@setting_option("strict")
def fit(
    paths: tuple[str, ...],
    *,
    client: str | None,
    out: str | None,
    called: str,
    date: str,
    scenario: str,
    fill: str,
    made: int,
    strict: bool,
) -> None:
    """Measure recordings, and make a profile of them.

    PATH is a transcript of any format or a folder of them; without PATH, the default folders of the
    installed clients. The command measures the sizes of user messages, of the agent's texts,
    thinking and arguments, and of each tool's results; how often each tool is called, alone or with
    others, and how often it fails; how long the agent, the tools and the user take, with breaks;
    and the number of calls per turn.

    -o FILE writes the profile, for "coding_agent(profile='FILE')" and every other scenario that
    takes one. The report compares the recordings with synthetic conversations made by the profile:
    quantiles side by side, the Kolmogorov-Smirnov distance (KS; 0: same distribution, 1: no
    overlap), and its critical value at 5% for two samples of this size (crit.).
    """
    from compactlab.reports.render import terminal
    from compactlab.scenarios.catalogue import find_scenario, sources
    from compactlab.scenarios.engine.profile import find_profile
    from compactlab.scenarios.fitting import estimate, measure

    filled = find_profile(fill)
    find_scenario(scenario)  # raise an error before the work
    named = named_or_usual(paths, client)
    readable, skipped = sources(named, strict=strict)
    errors: list[InputError] = []
    recorded = measure(_loaded(readable, errors))
    if not recorded.written:
        reason = "no call was found" if readable else nothing_found(named, skipped)
        raise errors[0] if errors else UsageError(f"there is nothing to measure: {reason}")
    fitted = estimate(recorded, called, _source(recorded, date), filled)
    with TemporaryDirectory() as folder:
        file = Path(folder, "profile.toml")
        file.write_text(fitted.toml(), encoding="utf-8")
        generated = measure(_made(scenario, recorded, made, file))
    if out:  # only after a scenario has accepted it
        write_aside(Path(out), shown(fitted.toml()))
    say(terminal.write(fit_report(fitted.profile, recorded, generated)), styled=True)
    finish(named, skipped, errors)


def _loaded(readable: Iterable[Source], errors: list[InputError]) -> Iterator[Conversation]:
    """The readable conversations of the sources; ``errors`` collects the rest."""
    for source in readable:
        try:
            yield from source.load()
        except InputError as fault:
            errors.append(fault)


def _source(recorded: Samples, date: str) -> str:
    """The origin of the figures, in a sentence."""
    formats = listed([f"{count:,} {form}" for form, count in sorted(recorded.formats.items())])
    results = recorded.shares["error"].of
    size = f"{counted(len(recorded.written), 'call')}, {counted(results, 'tool result')}"
    measured = f"Measured by compactlab fit on recorded sessions ({formats}): {size}"
    return f"{measured}; {date}." if date else f"{measured}."


def _made(scenario: str, recorded: Samples, count: int, profile: Path) -> Iterator[Conversation]:
    """Generate conversations by a profile, with the turns and tokens of recordings."""
    from compactlab.scenarios.catalogue import find_scenario
    from compactlab.sim.core.spec import build, parse_spec

    cls, (_, given) = type(find_scenario(scenario)), parse_spec(scenario)
    sizes = sorted(zip(recorded.tokens, recorded.turns, strict=True))
    for seed in range(count):
        # A sample of the recordings, small and large ones alike.
        tokens, turns = sizes[seed * len(sizes) // count]
        wanted = {"profile": str(profile), "tokens": max(tokens, 1), "turns": max(turns, 1)}
        yield build(cls, wanted | given).conversation(seed)
