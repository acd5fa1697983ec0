"""The page on which a transcript is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html
from compactlab.reports.render.document import Custom, Document, Heading, sentences

_SCRIPTS = ("report.js", "serve.js")
# What the page may do besides: ask its own server, and show the pages that this has made.
_ALLOWED = ("connect-src 'self'", "frame-src 'self'")
_TITLE = "What did this session cost, and at what size should it compact?"
_INTRODUCTION = (
    "Drop the transcript of a session: of Claude Code, Codex, pi, Gemini CLI or any other format "
    "that compactlab reads. The audit takes a second; looking for the best trigger replays the "
    "session under a row of sizes and may take minutes.",
    "Everything happens on this machine. The transcript lies in a temporary folder, is deleted "
    "when the work ends, and is sent nowhere.",
)


@dataclass(frozen=True)
class Drop:
    """What can be chosen, the largest file in bytes, and what logs are called."""

    choices: Sequence[str]
    limit: int
    logs: Sequence[str] = ()


def page(choices: Sequence[str], limit: int, logs: Sequence[str] = ()) -> bytes:
    """Set the page."""
    blocks = (
        Heading(_TITLE, 1),
        sentences(_INTRODUCTION, "important", bullets=False),
        Custom("serve.html.j2", Drop(choices, limit, logs)),
    )
    return html.write(Document(blocks), COLOURS, _SCRIPTS, _ALLOWED).encode()
