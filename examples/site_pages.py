"""What the site shows beside ``docs/``: README, changelog, CONTRIBUTING, the help of all commands.

``docs/dev/`` is for those who work on the code and is not on the site.

A hook of mkdocs (``mkdocs.yml``); ``make site`` runs it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from compactlab.cli.group import cli

ROOT = Path(__file__).resolve().parents[1]
COPIED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
COMMANDS = "reference/commands.md"
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s#]+)?(#[^)\s]*)?\)")
PLACES = {name: place for place, name in COPIED.items()}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie outside of ``docs/`` or come from the code."""
    from mkdocs.structure.files import File

    for name, place in COPIED.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, place, content=text))
    files.append(File.generated(config, COMMANDS, content=commands()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page's text with links as they are on the site."""
    return relinked(markdown, page.file.src_uri)


def relinked(markdown: str, place: str) -> str:
    """Links of a page as they are on the site; what is not on the site is text and no link.

    Parameters
    ----------
    markdown
        The page as it stands in the repository.
    place
        Its place on the site.
    """
    here = posixpath.dirname(PLACES.get(place, f"docs/{place}"))

    def link(found: re.Match[str]) -> str:
        picture, text, target, anchor = found.groups(default="")
        if not target or ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(here, target))
        if path in COPIED:
            path = COPIED[path]
        elif path.startswith("docs/") and not path.startswith("docs/dev/"):
            path = path.removeprefix("docs/")
        else:
            return text
        return (
            f"{picture}[{text}]({posixpath.relpath(path, posixpath.dirname(place) or '.')}{anchor})"
        )

    fenced = re.split(r"(^```.*?^```)", markdown, flags=re.DOTALL | re.MULTILINE)
    fenced[::2] = [LINK.sub(link, part) for part in fenced[::2]]
    return "".join(fenced)


def commands() -> str:
    """A page with the help of every command."""
    parts = [
        "# Commands",
        "What `compactlab COMMAND --help` prints. `compactlab --help` lists the commands.",
    ]
    for name, text in helps(cli, ("compactlab",)):
        parts += [f"## {name}", f"```text\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


def helps(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each command below another one, by its full name, and its help."""
    name = " ".join(path)
    context = click.Context(command, info_name=name, terminal_width=96, max_content_width=96)
    yield name, context.get_help()
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None and not found.hidden:
                yield from helps(found, (*path, sub))
