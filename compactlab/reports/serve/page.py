"""The page for dropping a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html
from compactlab.reports.render.document import Custom, Document, Heading, sentences

_SCRIPTS = ("report.js", "serve.js")
# Additional permissions of the page: requests to its own server, and frames with its pages.
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
    """The choices, the maximum size of a file in bytes, and the names of logs."""

    choices: Sequence[str]
    limit: int
    logs: Sequence[str] = ()


def page(choices: Sequence[str], limit: int, logs: Sequence[str] = ()) -> bytes:
    """Render the page."""
    blocks = (
        Heading(_TITLE, 1),
        sentences(_INTRODUCTION, "important", bullets=False),
        Custom("serve.html.j2", Drop(choices, limit, logs)),
    )
    return html.write(Document(blocks), COLOURS, _SCRIPTS, _ALLOWED).encode()
