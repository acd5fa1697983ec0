"""Faithfulness of summaries to their sources, and failed summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compactlab.sim.core.message import Message, Part
from compactlab.sim.facts.needs import identifiers, words
from compactlab.sim.metrics.metric import OWN, metric
from compactlab.sim.metrics.run_data import RunData

_WORD = re.compile(r"\w")


@metric("share", "lower", "sum of new names over sum of all names, of all summaries")
def novelty(data: RunData) -> float | None:
    """Share of the identifiers and numbers in summaries that do not occur in their sources.

    For each summary part that enters a prompt, once: its *identifiers* (see below) and its numbers
    of two digits and more. A name does not occur if no source message has it, not even as a part of
    a longer name (``main.py`` of ``src/main.py``); tools' names belong to the messages that call
    them. Summed over the parts of all summaries. It measures invented content: 0 for summaries that
    quote whole words. Headings that look like identifiers count, and so do truncated identifiers.
    None without summaries, or if they contain no names.
    """
    novel = total = 0
    originals = {message.id: message for message in data.conversation.messages}
    for part, log in _summaries(data):
        names = identifiers(part.text) | {word for word in words(part.text) if word.isdigit()}
        if names:
            total += len(names)
            novel += _unsaid(names, part, originals, log)
    return novel / total if total else None


@metric("summaries", "neither", "count of summary calls of that purpose")
def summaries(data: RunData) -> int:
    """Summaries that were requested: side calls of purpose ``summary``."""
    return len(data.summaries)


@metric("summaries", "lower", "count of summary calls of that purpose", OWN)
def summaries_failed(data: RunData) -> int:
    """Summaries that fail a sanity check.

    Side calls of purpose ``summary`` with any of these faults: the summary is empty, names hardly
    any identifier of its input, has no sentence in common with it, asks or answers the user,
    contains its own request or the whole previous summary, or far exceeds its budget. Inspect a run
    that has any: failed summaries stay in the prompts and in the figures.
    """
    return sum(bool(call.faults) for call in data.summaries)


@metric("share", "lower", "count of failed over count of all", OWN)
def summaries_failed_share(data: RunData) -> float | None:
    """Share of the summaries that fail a sanity check; None if none was requested."""
    requested = data.summaries
    return summaries_failed(data) / len(requested) if requested else None


@metric("summaries", "lower", "count of those parts", "openclaw pull request 17345, rollback plan")
def nested_summaries(data: RunData) -> int:
    """Summaries that quote another summary, including its heading.

    For each summary part that enters a prompt, once: whether its first line, which is in none of
    its sources, occurs again in it. A strategy that reads its own blocks as messages (OpenClaw's
    first sidecar, ``[SESSION_SUMMARY]``) feeds on itself: each block quotes the previous one. A new
    or updated summary has its heading once.
    """
    originals = {message.id: message for message in data.conversation.messages}
    nested = 0
    for part, log in _summaries(data):
        heading, _, rest = part.text.partition("\n")
        if heading.strip() and heading in rest:
            nested += heading not in "\n".join(_sources(part, originals, log))
    return nested


def _summaries(data: RunData) -> Iterator[tuple[Part, Iterable[Message]]]:
    """Each summary part that enters a prompt, with the log at that time."""
    script = set(map(id, data.conversation.messages))
    seen: dict[int, Part] = {}
    system: tuple[Part, ...] = ()
    for step, _, come, *_ in data.changes:
        made = [part for m in come if id(m) not in script for part in m.parts]
        if step.system is not system:
            system = step.system
            made += system
        for part in made:
            if part.kind == "summary" and id(part) not in seen:
                seen[id(part)] = part  # stored, because an id may be reused
                yield part, step.log


def _unsaid(
    names: frozenset[str], part: Part, messages: dict[str, Message], log: Iterable[Message]
) -> int:
    """The number of names that occur in no source of a part."""
    whole = "\n".join(_sources(part, messages, log))
    return sum(not _holds(whole, name) for name in names)


def _holds(text: str, name: str) -> bool:
    """Whether a text has a name as a whole word."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not _WORD.match(text[start - 1 : start]) and not _WORD.match(text[end : end + 1]):
            return True
        start = text.find(name, start + 1)
    return False


def _sources(part: Part, messages: dict[str, Message], log: Iterable[Message]) -> Iterator[str]:
    """The texts of a part's sources, from the script or the replay.

    A span is cut as in the part, so that a truncated word matches.
    """
    for source in part.sources:
        message = messages.get(source.id) or next((m for m in log if m.id == source.id), None)
        if message is None:
            continue
        if not 0 <= source.part < len(message.parts):
            yield "\n".join(f"{each.name} {each.text}" for each in message.parts)
        else:
            of = message.parts[source.part]
            end = None if source.end < 0 else source.end
            yield f"{of.name} {of.text[source.start : end]}"
