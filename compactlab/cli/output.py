"""Output of commands: redacted on request, and files written atomically."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compactlab.reports.render.text import clean, json_without_commands, without_commands
from compactlab.sim.core.errors import UnverifiedWarning
from compactlab.sim.core.files import replace_file

if TYPE_CHECKING:
    from compactlab.privacy import Redactor
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.store.results import Results


# Commands print with :func:`say`, and pass rendered values through :func:`shown`; both redact
# secrets.

T = TypeVar("T")

_KEY, _QUIET = "compactlab.redactor", "compactlab.quiet"


def redact_from_here() -> None:
    """Redact secrets in all further output of this command."""
    from compactlab.privacy import Redactor

    click.get_current_context().meta.setdefault(_KEY, Redactor())


def redactor() -> Redactor | None:
    """The redactor, if this command redacts secrets."""
    context = click.get_current_context(silent=True)
    current: Redactor | None = context.meta.get(_KEY) if context else None
    return current


def acquaint(*conversations: Conversation) -> None:
    """Teach the redactor secrets of conversations: shown fragments may not identify them."""
    hider = redactor()
    if hider is None:
        return
    for conversation in conversations:
        for message in conversation.messages:
            for part in message.parts:
                hider.learn(part.text)


def shown(value: T) -> T:
    """A value to render, redacted: a text, or anything that contains texts."""
    hider = redactor()
    return hider.within(value) if hider else value


def shown_results(results: Results) -> Results:
    """Results to render, redacted."""
    hider = redactor()
    if hider is None:
        return results
    from compactlab.sim.experiment.disclosure import disclosed

    return disclosed(results, hider)


def shown_json(text: str) -> str:
    """JSON text, redacted."""
    hider = redactor()
    return json.dumps(hider.within(json.loads(text)), indent=2) if hider else text


def say(text: str, *, err: bool = False, styled: bool = False) -> None:
    """Print text for people: tables, sentences, Markdown.

    External text in it cannot move the cursor, change the direction of text, or pass for a command
    of a CI runner. If ``styled``, the text has our colours and its external text is already
    harmless.
    """
    visible = shown(text)
    click.echo(without_commands(visible) if styled else harmless_lines(visible), err=err)


def be_quiet() -> None:
    """Print no notes in this command from now on, only errors."""
    click.get_current_context().meta[_QUIET] = True


def is_quiet() -> bool:
    """Whether this command prints no notes."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_QUIET))


def note(text: str) -> None:
    """Print a note on standard error, unless the command is quiet."""
    if not is_quiet():
        say(text, err=True)


def print_json(text: str, *, nl: bool = True) -> None:
    """Print JSON: exact for parsers, and without commands for CI runners."""
    click.echo(json_without_commands(text), nl=nl)


def complain(error: object) -> None:
    """Print an error."""
    say(f"compactlab: {error}", err=True)


@contextmanager
def notes_of_warnings() -> Iterator[None]:
    """Print each warning about unverifiable data on its own line."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, UnverifiedWarning):
                note(f"note: {message}")
            else:
                others(message, category, *where)

        warnings.simplefilter("always", UnverifiedWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def harmless_lines(text: str) -> str:
    """Lines that are each harmless on a terminal."""
    return without_commands("\n".join(map(clean, text.split("\n"))))


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically: an existing one is replaced as a whole or stays unchanged."""
    replace_file(path, content.encode() if isinstance(content, str) else content)


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file in addition to standard output, and say so on standard error."""
    write_file(path, content)
    say(f"wrote {path}", err=True)
