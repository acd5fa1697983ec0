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
    spans = [(0, head), (end - tail, end)]
    sources = tuple(_span(part, message, index, *span) for span in spans if span[0] < span[1])
    kept = text[:head] + marker + (text[end - tail :] if tail else "")
    return Part(
        part.type,
        kept,
        "truncated",
        sources or part.sources,
        part.name,
        part.call_id,
        part.is_error,
        part.handle,
    )


def _span(part: Part, message: Message, index: int, start: int, end: int) -> Source:
    """Where a piece of a part stands in the log; all of its source, if that is not known."""
    source = part.sources[0] if part.sources else Source(message.id, index)
    if part.kind != "verbatim" or len(part.sources) > 1:
        return source
    if source.part < 0:
        return Source(source.id, index, start, end)
    return Source(source.id, source.part, source.start + start, source.start + end)
