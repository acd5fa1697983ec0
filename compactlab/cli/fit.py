"""``compactlab fit``: what scenarios are made of, out of recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from compactlab.cli.disclosing import complain, say, shown
from compactlab.cli.missing import nothing_found
from compactlab.cli.options import Count, redact
from compactlab.cli.writing import write_aside
from compactlab.reports.text import counted, listed
from compactlab.sim.errors import InputError, UsageError

if TYPE_CHECKING:
    from compactlab.scenarios.fitting.samples import Samples
    from compactlab.sim.conversation import Conversation
    from compactlab.sim.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write the profile."
)
@click.option("--name", default="fitted", show_default=True, help="What the profile is called.")
@click.option("--date", default="", help="When it was measured, for its source; else left out.")
@click.option(
    "--scenario",
    default="coding_agent",
    show_default=True,
    metavar="SPEC",
    help="What is made by the profile, to be held against the recordings.",
)
@click.option(
    "--fill",
    default="coding",
    show_default=True,
    metavar="PROFILE",
    help="Whose figures stand for what the recordings do not tell; a built-in one or a file.",
)
@click.option(
    "--made",
    type=Count(1),
    default=10,
    show_default=True,
    metavar="N",
    help="How many conversations are made, of the turns and tokens of the recordings.",
)
@redact
@click.option("--lenient", is_flag=True, help="Pass over lines that cannot be read.")
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
    """Measure recordings, and make a profile for scenarios of them.

    PATH is a transcript of any format or a folder of them. Measured are the sizes of what the user
    says, of the agent's texts, thinking and arguments, and of each tool's results; how often which
    tool is called, alone or with others, and how often it fails; how long the agent, the tools and
    the user take, with breaks; and how many calls a turn has.

    -o FILE writes the profile, for "coding_agent(profile='FILE')" and every other scenario that
    takes one. The report shows how close conversations that are made by it come to the recordings:
    quantiles side by side, and the distance of Kolmogorov and Smirnov (0: distributed alike, 1: no
    overlap) beside the one that chance explains, 95 times in 100, between two samples of this size.
    """
    from compactlab.cli.fit_table import fit_table
    from compactlab.scenarios.catalogue import find_scenario, sources
    from compactlab.scenarios.fitting.estimate import estimate
    from compactlab.scenarios.fitting.samples import measure
    from compactlab.scenarios.plot.profile import find_profile

    filled = find_profile(fill)
    find_scenario(scenario)  # fail before the work and not after it
    found, skipped = sources(paths, lenient=lenient)
    errors: list[InputError] = []
    recorded = measure(_loaded(found, errors))
    if not recorded.written:
        told = "no call was found" if found else nothing_found(paths, skipped)
        raise errors[0] if errors else UsageError(f"there is nothing to measure: {told}")
    fitted = estimate(recorded, name, _source(recorded, date), filled)
    if out:
        write_aside(Path(out), shown(fitted.toml()))
    with TemporaryDirectory() as folder:
        file = Path(folder, "profile.toml")
        file.write_text(fitted.toml(), encoding="utf-8")
        generated = measure(_made(scenario, recorded, made, file))
    say(fit_table(fitted.profile, recorded, generated))
    if skipped:
        say(f"passed over: {counted(skipped, 'file')} of no known format", err=True)
    for error in errors:
        complain(error)
    if errors:
        # What was named must be good; in a folder a bad file costs itself alone.
        sys.exit(2 if any(error.path in paths for error in errors) else 1)


def _loaded(found: Iterable[Source], errors: list[InputError]) -> Iterator[Conversation]:
    """What can be read of the sources; what cannot is kept with its error."""
    for source in found:
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
    from compactlab.sim.spec import build, parse_spec

    cls, (_, given) = type(find_scenario(scenario)), parse_spec(scenario)
    sizes = sorted(zip(recorded.tokens, recorded.turns, strict=True))
    for seed in range(count):
        # Of more recordings than are made, small and large ones alike.
        tokens, turns = sizes[seed * len(sizes) // count]
        wanted = {"profile": str(profile), "tokens": max(tokens, 1), "turns": max(turns, 1)}
        yield build(cls, wanted | given).conversation(seed)
