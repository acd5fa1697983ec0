"""Redaction of an experiment's results.

Replays and measurements use the original text; results are redacted before they are stored. So
figures are unaffected, and a store does not depend on who ran it, or in which pieces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compactlab.privacy import Redactor
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import encoded
from compactlab.sim.experiment.sources import Source
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.run import HEAD, Run
from compactlab.sim.store.tables import TABLES

if TYPE_CHECKING:  # reading a store is not part of the engine: see sim/store/code.py
    from compactlab.sim.store.results import Results

Array = NDArray[Any]
_KEYS = frozenset({"run", "digest", "own_models", "source_key", "condition"})
_TEXTS = tuple(n for n, column in HEAD.items() if column.type == "text" and n not in _KEYS)


def under_aliases(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Give sources with secret names an alias."""
    redactor = Redactor()
    named = ((each, redactor.text(each.name)) for each in sources)
    return tuple(replace(s, alias=name) if name != s.name else s for s, name in named)


def check_names(manifest: Mapping[str, Any]) -> None:
    """Raise if a name contains a secret: two redacted strategies could be indistinguishable."""
    for name, value in manifest.items():
        shown = Redactor().within(value)
        if shown != value:
            error = f"what looks like a secret stands in the {name}: {shown}"
            raise UsageError(f"{error}; it is part of a name and cannot be hidden: take it out")


class Disclosure:
    """Redacts the runs of a source for storage.

    Equal secrets of a source get equal numbers, in order of occurrence.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._redactor = Redactor()

    def turn_to(self, conversation: Conversation) -> None:
        """Learn the secrets of the next conversation, so that numbers do not depend on its runs."""
        self._redactor.learn(conversation.id)
        for message in conversation.messages:
            for part in message.parts:
                self._redactor.learn(part.text)

    def text(self, text: str) -> str:
        """Return another text without known secrets and without its own."""
        return self._redactor.fork().text(text)

    def of(self, run: Run) -> Run:
        """Return a run without secrets in its texts and tables."""
        source, redactor = self._source, self._redactor.fork()
        shown = source.alias or source.name
        conversation = run.conversation
        # An id is redacted as a whole, if it starts with the source's name by chance.
        if source.alias and conversation.startswith(source.name):
            conversation = shown + redactor.text(conversation.removeprefix(source.name))
        else:
            conversation = redactor.text(conversation)
        return replace(
            run,
            conversation=conversation,
            title=redactor.text(run.title),
            source=shown,
            error=redactor.text(run.error.replace(source.name, shown)),
            printed=redactor.text(run.printed),
            rows=_hidden(run.rows, redactor),
        )


def disclosed(results: Results, redactor: Redactor) -> Results:
    """Return a store's results without secrets; tables are redacted on access."""
    columns: dict[int, _Hidden] = {}

    def hidden(run: Run) -> Run:
        rows = {}
        for name, held in run.rows.items():
            shown = columns.setdefault(id(held.columns), _Hidden(name, held.columns, redactor))
            rows[name] = Rows(shown, held.start, held.stop)
        texts: dict[str, Any] = {name: redactor.text(getattr(run, name)) for name in _TEXTS}
        return replace(run, **texts, rows=rows)

    own, beside = ([hidden(run) for run in runs] for runs in (results.runs, results.bounds))
    manifest = redactor.within(results.manifest)
    return replace(results, runs=own, bounds=beside, manifest=manifest)


class _Hidden(Mapping[str, Array]):
    """The redacted columns of a table, each computed on access."""

    def __init__(self, table: str, columns: Mapping[str, Array], redactor: Redactor) -> None:
        self._table, self._columns, self._redactor = table, columns, redactor
        self._known: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._known:
            column = TABLES[self._table].columns[name]
            array = self._columns[name]
            textual = column.type in ("text", "texts")
            shown = _shown(array, self._redactor) if textual else array
            # An excerpt lacks the context that identifies a secret; its id is shown instead.
            excerpt = (self._table, name) == ("facts", "statement")
            self._known[name] = column.nothing(len(array)) if excerpt else shown
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _shown(array: Array, redactor: Redactor, *, excerpt: bool = False) -> Array:
    texts = np.empty(len(array), object)
    for index, value in enumerate(array.tolist()):
        if not excerpt:
            texts[index] = redactor.within(value)
        elif isinstance(value, str):
            texts[index] = redactor.excerpt(value)
        else:
            texts[index] = list(map(redactor.excerpt, value))
    return texts


def _hidden(tables: Mapping[str, Rows], redactor: Redactor) -> dict[str, Rows]:
    """Redact rows of tables in memory."""
    names = _renamed(tables.get("messages"), redactor)
    hidden = {}
    for table, rows in tables.items():
        arrays = {}
        for name, column in TABLES[table].columns.items():
            array = rows.array(name)
            if column.type in ("text", "texts") and len(array):
                excerpt = name in ("statement", "statements")
                array = _shown(array, redactor, excerpt=excerpt)
                array = _under_names(array, names) if names else array
            arrays[name] = array
        hidden[table] = Rows(arrays, 0, len(rows))
    return hidden


def _renamed(messages: Rows | None, redactor: Redactor) -> dict[str, str]:
    """Return new names for messages that contain secrets.

    A message's name is a digest of its text, from which the secret could be guessed. The new name
    is a digest of the redacted text.
    """
    if messages is None:
        return {}
    names: dict[str, str] = {}
    taken = set(messages["message"])
    for name, role, kinds, text in zip(
        *(messages[column] for column in ("message", "role", "kinds", "text")), strict=True
    ):
        shown = redactor.text(text)
        count = 0
        while shown != text and name not in names:
            content = encoded((role, kinds, shown, count))
            fresh = f"#{hashlib.blake2b(content, digest_size=8).hexdigest()}"
            if fresh not in taken:
                names[name] = fresh
                taken.add(fresh)
            count += 1
    return names


def _under_names(array: Array, names: Mapping[str, str]) -> Array:
    for index, value in enumerate(array):
        if isinstance(value, str):
            array[index] = names.get(value, value)
        else:
            array[index] = [names.get(each, each) for each in value]
    return array
