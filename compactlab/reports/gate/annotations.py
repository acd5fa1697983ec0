"""What a gate found, as workflow commands of GitHub Actions: notes on the page of a run."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.gate.verdict import Verdict
from compactlab.reports.gate.words import Words
from compactlab.reports.text import clean, counted

# GitHub shows so many of a step; the last one says how many more there are.
_SHOWN = 10
# What GitHub takes as the summary of a step, in bytes.
_SUMMARY = 1024 * 1024
_CUT = "\n\nThe rest was too long for this page.\n"


def commands(verdict: Verdict) -> list[str]:
    """Workflow commands, a line each: an error for each obstacle and for each rule that fails.

    Of rules that only fail for what is told anyway, there is one that says how many.

    Parameters
    ----------
    verdict
        What a gate found.
    """
    told = [
        (f"gate: {title}", message)
        for title, message in (*_obstacles(verdict), *_failures(verdict))
    ]
    if len(told) > _SHOWN:
        more = counted(len(told) - _SHOWN + 1, "check")
        told[_SHOWN - 1 :] = [("gate", f"{more} more are not passed")]
    return [command("error", title, message) for title, message in told]


def _obstacles(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for obstacle in (*verdict.obstacles, *map(Words(verdict).together, verdict.folded)):
        yield "cannot judge", obstacle


def _failures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    words = Words(verdict)
    for finding in verdict.told:
        told = [words.subject(finding.subject), words.figures(finding), *words.details(finding)]
        moves = ", ".join(map(words.moved, finding.moved))
        said = "; ".join(filter(None, told))
        yield f"{finding.name} {finding.outcome.value}", f"{said}\nmost: {moves}" if moves else said


def command(kind: str, title: str, message: str) -> str:
    r"""A workflow command, in which nothing of its texts can begin another one.

    Parameters
    ----------
    kind
        ``error``, ``warning`` or ``notice``.
    title, message
        Texts; line breaks of the message are kept.

    Examples
    --------
    >>> command("error", "a:b,c", "100%\n::error::x")
    '::error title=a%3Ab%2Cc::100%25%0A::error::x'
    """
    lines = "\n".join(map(clean, message.split("\n")))
    return f"::{kind} title={_property(clean(title))}::{_data(lines)}"


def _data(text: str) -> str:
    text = harmless(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def harmless(text: str) -> str:
    """Text in which no old workflow command stands: those count wherever they are in a line.

    Examples
    --------
    >>> harmless("a ##[add-mask]b")
    'a # #[add-mask]b'
    """
    return text.replace("##[", "# #[")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(markdown: str) -> str:
    """Markdown as the summary of a step may be long: cut at a line, if it is longer.

    Examples
    --------
    >>> summary("short")
    'short'
    """
    content = markdown.encode()
    if len(content) <= _SUMMARY:
        return markdown
    kept = content[: _SUMMARY - len(_CUT.encode())]
    return kept[: kept.rfind(b"\n")].decode("utf-8", "ignore") + _CUT
