"""``compactlab compare``: compare strategies of one or several stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compactlab.cli.options import at_distance, format_option, redact, setting_option
from compactlab.cli.output import print_json, say, shown_results
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.reports.compare import Match
    from compactlab.sim.store.results import Results

_MANIFEST = "manifest.json"


@click.command()
@click.argument("store", type=click.Path(file_okay=False))
@click.argument("others", nargs=-1, required=True, metavar="STORE_OR_STRATEGY...")
@click.option(
    "--strategies",
    "names",
    multiple=True,
    metavar="NAME",
    help="Between stores: compare only these strategies (spec, name or pattern). Repeatable.",
)
@click.option(
    "--despite",
    multiple=True,
    metavar="ENTRY",
    help="Compare stores although they differ in this entry of their manifests (prices, tokenizer, "
    "window, loop, churn, own_models), and report the difference. Repeatable.",
)
@setting_option("distance")
@format_option("table", "md", "json")
@redact
def compare(
    store: str,
    others: tuple[str, ...],
    *,
    names: tuple[str, ...],
    despite: tuple[str, ...],
    distance: int | None,
    form: str,
) -> None:
    """Compare strategies of STORE, or stores, with the first.

    \b
    compactlab compare sweep claude_code codex 'sliding_window*'
    compactlab compare before after --strategies codex

    Figures are paired by conversation, seed and draw. Stores with different measurements are
    refused, and the message names the differences.
    """  # noqa: D301
    from compactlab.reports.compare import report
    from compactlab.reports.render.write import WRITERS

    text = WRITERS[form](report(*_matches(store, others, names, despite, distance)))
    if form == "json":
        print_json(text)
    else:
        say(text, styled=True)


def _matches(
    store: str,
    others: Sequence[str],
    names: Sequence[str],
    despite: Sequence[str],
    distance: int | None,
) -> tuple[list[Match], list[str]]:
    from compactlab.reports.compare import between, refuse_unlike, within
    from compactlab.sim.store.results import Results

    def opened(folder: str) -> Results:
        return at_distance(shown_results(Results.load(Path(folder))), distance)

    first = opened(store)
    folders = [(Path(other) / _MANIFEST).exists() for other in others]
    if not any(folders):
        if names or despite:
            raise UsageError(
                "--strategies and --despite need several stores, and only one is named"
            )
        return within(first, others), []
    if not all(folders):
        odd = others[folders.index(False)]
        raise UsageError(
            f"{odd} is not a store; name only stores, and strategies with --strategies"
        )
    loaded = [opened(other) for other in others]
    one, *rest = zip(_titles([store, *others]), [first, *loaded], strict=True)
    differing = [text for other in rest for text in refuse_unlike(one, other, despite)]
    matches, unpaired = between(one, rest, names, windows="window" not in despite)
    return matches, [*dict.fromkeys(differing), *unpaired]


def _titles(folders: Sequence[str]) -> list[str]:
    """The titles of stores: the last names of their folders, or whole paths if these are equal."""
    short = [Path(folder).resolve().name for folder in folders]
    titles = short if len(set(short)) == len(short) else [str(Path(folder)) for folder in folders]
    # A store that is given twice equals only itself.
    return [
        f"{title} ({titles[:index].count(title) + 1})" if title in titles[:index] else title
        for index, title in enumerate(titles)
    ]
