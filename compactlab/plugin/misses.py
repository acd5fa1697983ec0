"""Which facts were missed: what they say, in which message, and what needed them in vain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.plugin.teller import Teller
from compactlab.sim.disclosure import Disclosure
from compactlab.sim.results import Results
from compactlab.sim.run import Run
from compactlab.sim.sweep import Experiment


class Miss(NamedTuple):
    """A fact that calls needed and their prompts no longer held.

    Parameters
    ----------
    conversation
        Id of the conversation.
    type, said
        The fact's type, and its key and value; its id where nobody knows these.
    message
        The message that states it: its number, from 1 on, and its id; "" if that is not known.
    call
        The first call that needed it in vain, from 1 on.
    times
        How many calls did.
    """

    conversation: str
    type: str
    said: str
    message: str
    call: int
    times: int


@dataclass(frozen=True)
class Misses:
    """What was missed in some runs.

    Parameters
    ----------
    needs, missed
        How often calls needed a fact, and how often in vain.
    facts
        How many facts were missed.
    first
        Some of them, those that were missed most often before others.
    """

    needs: int
    missed: int
    facts: int
    first: tuple[Miss, ...]


class _Row(NamedTuple):
    """A row of the table of facts that was missed."""

    run: Run
    fact: str
    type: str
    stated_in: str
    call: int
    times: int


def misses(experiment: Experiment, results: Results, type: str = "", most: int = 5) -> Misses:
    """Say what was missed.

    Parameters
    ----------
    experiment, results
        What was replayed, and what was found.
    type
        The type of fact to look at; "" for all.
    most
        Of so many facts it is told what they say; only their conversations are loaded.
    """
    needs = 0
    found: dict[tuple[str, str, str], _Row] = {}
    for run in results.runs:
        facts = run.rows.get("facts")
        if facts is None or not len(facts):
            continue
        names = ("fact", "type", "stated_in", "needs", "needs_met", "first_missed")
        for fact, kind, stated, needed, met, call in zip(
            *map(facts.__getitem__, names), strict=True
        ):
            if type in ("", kind):
                needs += needed
                if needed > met:
                    # In each replay of a conversation it is the same fact.
                    key = run.scenario, run.conversation, fact
                    row = _Row(run, fact, kind, stated, call, needed - met)
                    found[key] = _both(found[key], row) if key in found else row
    # Of equal ones those of the first conversation, in its order: sorting keeps it.
    rows = sorted(found.values(), key=lambda row: -row.times)
    told = tuple(_miss(experiment, row) for row in rows[:most])
    return Misses(needs, sum(row.times for row in rows), len(rows), told)


def _both(one: _Row, other: _Row) -> _Row:
    return one._replace(call=min(one.call, other.call), times=one.times + other.times)


def _miss(experiment: Experiment, row: _Row) -> Miss:
    said, message = row.fact, row.stated_in
    told = _teller(experiment, row.run)
    if told is not None:
        said, message = told.fact(said), told.message(message)
    return Miss(row.run.conversation, row.type, said, message, row.call, row.times)


def _teller(experiment: Experiment, run: Run) -> Teller | None:
    """What tells of a run's conversation, loaded again; None if that fails: it was replayed."""
    try:
        return next(_loaded(experiment, run), None)
    except Exception:
        return None


def _loaded(experiment: Experiment, run: Run) -> Iterator[Teller]:
    for source in experiment.sources:
        if source.key == run.source_key:
            disclosure = Disclosure(source) if experiment.setting.redact else None
            for place, conversation in enumerate(source.load()):
                if disclosure is not None:
                    # From the first on, so that numbers are those of the table.
                    disclosure.turn_to(conversation)
                if place == run.place:
                    yield Teller(conversation, disclosure)
