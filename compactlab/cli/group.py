"""The group of all commands."""

from __future__ import annotations

import os
from importlib import import_module

import click

from compactlab import __version__
from compactlab.cli.output import notes_of_warnings, say

# Commands in the order of --help, with their files (by default, their own names). Only the
# requested command is imported.
_FILES = {
    "run": "",
    "report": "",
    "compare": "",
    "explain": "",
    "baseline": "gate",
    "gate": "",
    "audit": "",
    "score": "",
    "probe": "",
    "inspect": "",
    "tune": "",
    "serve": "",
    "fit": "",
    "list": "",
    "new": "",
    "check-program": "check_program",
    "schema": "",
    "merge": "",
    "query": "",
}
# Names of commands in their files, if Python does not allow the commands' own.
_NAMED = {"list": "list_", "check-program": "check_program"}


class Commands(click.Group):
    """Imports commands only when they are requested."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*_FILES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command; None if there is none of this name."""
        if cmd_name not in _FILES:
            return None
        module = import_module(f"compactlab.cli.{_FILES[cmd_name] or cmd_name}")
        command: click.Command = getattr(module, _NAMED.get(cmd_name, cmd_name))
        return command


_COMPLETION = """\b
Completion of commands and options, in the shell's start file:
  bash  eval "$(_COMPACTLAB_COMPLETE=bash_source compactlab)"
  zsh   eval "$(_COMPACTLAB_COMPLETE=zsh_source compactlab)"
  fish  _COMPACTLAB_COMPLETE=fish_source compactlab | source
"""
_NEXT = """\
a demo (a minute):     compactlab run
over your own logs:    compactlab run --conversations ~/.claude/projects -o mine
what they cost, why:   compactlab audit
all commands: compactlab --help"""


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_COMPLETION,
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="compactlab", message="%(prog)s %(version)s")
def cli() -> None:
    """Replay context-compaction strategies of LLM agents over conversations, and measure the cost,
    the prompt cache and the memory of each.

    Exit codes: 0 success, 1 something failed and is named, 2 wrong usage or input, 70 an error in
    compactlab itself, 130 interrupted, 141 output closed by the reader.
    """  # noqa: D205
    context = click.get_current_context()
    # Without it, click removes colours outside terminals.
    if os.environ.get("FORCE_COLOR") and not os.environ.get("NO_COLOR"):
        context.color = True
    context.with_resource(notes_of_warnings())
    if context.invoked_subcommand is None:
        say(_NEXT)
