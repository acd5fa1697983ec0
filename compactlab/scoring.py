"""Scoring what some other product made of a conversation, without replaying anything."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from compactlab.naming import known_models
from compactlab.scenarios.catalogue import find_conversation
from compactlab.scenarios.compacted import read_compacted
from compactlab.scenarios.facts_file import read_facts
from compactlab.sim.attribution import attributed
from compactlab.sim.conversation import Conversation
from compactlab.sim.declaration import declared
from compactlab.sim.errors import InputError, ModelError, UsageError, unknown
from compactlab.sim.messages import Messages
from compactlab.sim.model import Catalogue, Model
from compactlab.sim.score import Score, spoken
from compactlab.sim.shard import DEFAULT_MODEL
from compactlab.sim.view import View


def score(
    original: Conversation | str | Path,
    compacted: Conversation | str | Path,
    *,
    facts: str | Path | None = None,
    model: str = "",
    id: str = "",
    models_file: str | Path | None = None,
) -> Score:
    """Say what is left of a conversation in a context that somebody compacted.

    Parameters
    ----------
    original
        The conversation: itself, a transcript of any format, or the spec of a scenario. The labels
        in it are used; without any, facts are what its actions go on to use.
    compacted
        The context: messages of any format, or a file of plain text. A native conversation whose
        parts name messages of the original is taken at its word; of anything else it is found out
        where it comes from, see :func:`compactlab.sim.attribution.attributed`.
    facts
        A file of facts and needs, in the place of the labels of the original.
    model
        The model by which tokens are counted; a current one by default.
    id
        Which conversation, where there are several.
    models_file
        A TOML file with models of one's own, which win over built-in ones.

    Returns
    -------
    Score
        States of facts, figures, and where each fact was found.

    Raises
    ------
    InputError, UsageError
        If something cannot be read, or there is not exactly one such conversation.
    """
    if not isinstance(original, Conversation):
        original = find_conversation(original, id)
    if not isinstance(compacted, Conversation):
        compacted = _context(Path(compacted), id)
    if facts is not None:
        labels = read_facts(facts, original)
        original = dataclasses.replace(original, facts=labels[0], needs=labels[1])
    said = spoken(original)
    if not said:
        raise InputError("there is no message in the original", original.source)
    view = View(compacted.system, Messages(spoken(compacted)))
    try:
        told = declared(said, view) if compacted.format == "native" else None
    except InputError as error:
        raise InputError(error.message, compacted.source) from None
    catalogue = known_models(models_file)
    found = told or attributed(said, original.system, view)
    return Score(original, found, _model(model, catalogue), catalogue)


def _context(path: Path, id: str) -> Conversation:
    """The context of a file, or the one of that id."""
    found = read_compacted(path)
    if len(found) == 1:
        return found[0]
    named = [each for each in found if id and each.id.endswith(id)]
    if len(named) == 1:
        return named[0]
    ids = [each.id for each in found]
    if id and not named:
        raise UsageError(unknown("conversation", id, ids))
    raise UsageError(f"{len(found):,} conversations in {str(path)!r}; name one of both files")


def _model(name: str, catalogue: Catalogue) -> Model:
    try:
        return catalogue.find(name or DEFAULT_MODEL)
    except ModelError as error:
        raise UsageError(str(error)) from None
