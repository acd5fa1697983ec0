"""A text without its middle."""

from __future__ import annotations

from compactlab.sim.message import Message, Part, Source


def without_middle(message: Message, index: int, head: int, tail: int, marker: str) -> Part:
    """A part's text with its middle left out, with the spans that it still holds.

    Parameters
    ----------
    message
        The message.
    index
        Which of its parts.
    head, tail
        Characters that stay at the beginning and at the end.
    marker
        What stands in between.
    """
    part = message.parts[index]
    text, end = part.text, len(part.text)
    kept = text[:head] + marker + (text[end - tail :] if tail else "")
    return Part(
        part.type,
        kept,
        "truncated" if part.sources else part.kind,
        _spans(message, index, [(0, head), (end - tail, end)]),
        part.name,
        part.call_id,
        part.is_error,
        part.handle,
    )


def _spans(message: Message, index: int, spans: list[tuple[int, int]]) -> tuple[Source, ...]:
    """Where pieces of a part stand in the log; all of its sources, if that is not known."""
    part = message.parts[index]
    if part.kind != "verbatim" or len(part.sources) > 1:
        return part.sources
    (source,) = part.sources
    place, first = (index, 0) if source.part < 0 else (source.part, source.start)
    found = (Source(source.id, place, first + a, first + b) for a, b in spans if a < b)
    return tuple(found) or part.sources
