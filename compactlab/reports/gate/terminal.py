"""What a gate found, for the terminal: short, in colour where there is colour."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.gate.rules import Outcome
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.reports.gate.words import Words
from compactlab.reports.setting import open_console
from compactlab.reports.text import clean, counted

# More failures than this are told in the files.
_TOLD = 30
_MARKS = {
    Outcome.HOLDS: ("ok", "green"),
    Outcome.REGRESSED: ("REGRESSED", "bold red"),
    Outcome.INCONCLUSIVE: ("INCONCLUSIVE", "yellow"),
    Outcome.UNJUDGED: ("CANNOT JUDGE", "yellow"),
}

Line = tuple[str, str]


def terminal(verdict: Verdict) -> str:
    """Say what a gate found.

    Parameters
    ----------
    verdict
        What it found.

    Returns
    -------
    str
        Plain text; with colours, if standard output is a terminal.
    """
    from rich.text import Text

    console = open_console()
    with console.capture() as capture:
        for text, style in _lines(verdict):
            console.print(Text(text, style=style), soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _lines(verdict: Verdict) -> Iterator[Line]:
    words = Words(verdict)
    # Causes first; of what only follows from them, how many.
    for told in (*map(clean, verdict.obstacles), *map(words.together, verdict.folded)):
        yield f"CANNOT JUDGE  {told}", "yellow"
    failed = verdict.told
    for finding in failed[:_TOLD]:
        yield from _finding(words, finding)
    if len(failed) > _TOLD:
        more = counted(len(failed) - _TOLD, "failed check")
        yield f"and {more} more: --markdown, --json and --junit have all", "dim"
    spans = [finding for finding in verdict.findings if finding.holds and finding.span]
    for finding in spans[:_TOLD]:
        yield from _finding(words, finding)
    if len(spans) > _TOLD:
        more = counted(len(spans) - _TOLD, "check")
        yield f"and {more} more passed by interval: --markdown, --json and --junit have all", "dim"
    for remark in verdict.remarks:
        yield f"note: {clean(remark)}", "dim"
    yield words.headline, ("bold green", "bold red", "bold yellow")[verdict.code]


def _finding(words: Words, finding: Finding) -> Iterator[Line]:
    mark, style = _MARKS[finding.outcome]
    told = [words.figures(finding), *words.details(finding)]
    yield f"{mark}  {clean(finding.name)}, {words.subject(finding.subject)}", style
    if said := "; ".join(filter(None, told)):
        yield f"    {said}", ""
    if finding.moved:
        moves = "; ".join(map(words.moved, finding.moved))
        yield f"    most: {moves}", "dim"
