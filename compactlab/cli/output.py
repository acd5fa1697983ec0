"""Output of commands: without secrets if asked for, and files whole or not at all."""

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


# Commands print through :func:`say`, and pass what they render through :func:`shown`; both only
# hide what must not be seen.

T = TypeVar("T")

_KEY = "compactlab.redactor"


def redact_from_here() -> None:
    """Hide secrets in all that this command writes from now on."""
    from compactlab.privacy import Redactor

    click.get_current_context().meta.setdefault(_KEY, Redactor())


def redactor() -> Redactor | None:
    """What hides secrets, if this command is to hide them."""
    context = click.get_current_context(silent=True)
    current: Redactor | None = context.meta.get(_KEY) if context else None
    return current


def acquaint(*conversations: Conversation) -> None:
    """Learn the secrets of conversations of which only pieces are shown: those name no secret."""
    hider = redactor()
    if hider is None:
        return
    for conversation in conversations:
        for message in conversation.messages:
            for part in message.parts:
                hider.learn(part.text)


def shown(value: T) -> T:
    """What is to be rendered: a text, or anything that holds texts."""
    hider = redactor()
    return hider.within(value) if hider else value


def shown_results(results: Results) -> Results:
    """The results of a store that are to be rendered."""
    hider = redactor()
    if hider is None:
        return results
    from compactlab.sim.experiment.disclosure import disclosed

    return disclosed(results, hider)


def shown_json(text: str) -> str:
    """JSON that holds texts."""
    hider = redactor()
    return json.dumps(hider.within(json.loads(text)), indent=2) if hider else text


def say(text: str, *, err: bool = False, styled: bool = False) -> None:
    """Say what is no data: tables, sentences, Markdown.

    Of foreign text in it nothing moves the cursor, turns the direction of what follows, or can be
    taken for a command by the machine that runs this one. What is styled has colours of our own,
    and what is foreign in it is harmless already.
    """
    visible = shown(text)
    click.echo(without_commands(visible) if styled else harmless_lines(visible), err=err)


def print_json(text: str, *, nl: bool = True) -> None:
    """Print JSON, exact for whoever parses it, in which a pipeline finds no command."""
    click.echo(json_without_commands(text), nl=nl)


def complain(error: object) -> None:
    """Say what is wrong."""
    say(f"compactlab: {error}", err=True)


@contextmanager
def notes_of_warnings() -> Iterator[None]:
    """Say what cannot be verified in a line of its own."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, UnverifiedWarning):
                say(f"note: {message}", err=True)
            else:
                others(message, category, *where)

        warnings.simplefilter("always", UnverifiedWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def harmless_lines(text: str) -> str:
    """Lines of which each is harmless on a terminal."""
    return without_commands("\n".join(map(clean, text.split("\n"))))


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file; one that is there is replaced as a whole, or stays as it is."""
    replace_file(path, content.encode() if isinstance(content, str) else content)


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file beside what goes to standard output, and say so on standard error."""
    write_file(path, content)
    say(f"wrote {path}", err=True)
