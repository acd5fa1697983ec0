"""Options that several commands share, and messages on unusable files."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compactlab.cli.output import complain, redact_from_here, say
from compactlab.reports.render.text import counted, listed
from compactlab.request.settings import SETTINGS, SUBJECT, SettingInfo
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError
from compactlab.sim.core.limits import LONGEST_WAIT

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from compactlab.sim.store.results import Results

_Command = TypeVar("_Command", bound="Callable[..., Any] | click.Command")


class Count(click.IntRange):
    """A whole number; its error message shows the valid form."""

    form = "write digits, without a unit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the user's text."""
        if not _is(int, value):
            self.fail(f"{value!r} is not a whole number: {self.form}", param, ctx)
        return super().convert(value, param, ctx)


class Tokens(Count):
    """A whole number of tokens, as digits or in thousands: ``10k``."""

    form = "write digits, or thousands as 10k"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the user's text."""
        if isinstance(value, str) and value[-1:] in ("k", "K") and _is(int, value[:-1]):
            value = 1000 * int(value[:-1])
        return super().convert(value, param, ctx)


class Distance(Tokens):
    """A distance of recall."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from compactlab.request.names import distance_of

        return distance_of(super().convert(value, param, ctx))


class Seconds(click.FloatRange):
    """A number of seconds to wait; its error message shows the valid form."""

    def __init__(self) -> None:
        super().__init__(0, LONGEST_WAIT, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the user's text."""
        if not _is(float, value) or math.isnan(float(value)):
            self.fail(f"{value!r} is not a number: write seconds, without a unit", param, ctx)
        return super().convert(value, param, ctx)


def _is(kind: type[float], value: Any) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True


_TYPES: dict[str, Callable[[], click.ParamType[Any]]] = {
    "text": lambda: click.STRING,
    "texts": lambda: click.STRING,
    "path": click.Path,
    "folder": lambda: click.Path(file_okay=False),
}


def setting_option(
    name: str, *, from_file: bool = False, **other: Any
) -> Callable[[_Command], _Command]:
    """The option of a setting, from its declaration in :mod:`compactlab.request.settings`.

    Parameters
    ----------
    name
        The name of the setting.
    from_file
        Whether a file may also set it; then the option has no default.
    other
        What the command overrides: ``help``, ``default``, ``absent``, ``multiple``, or another
        argument of click.
    """
    setting = (SUBJECT | SETTINGS)[name]
    several = other.setdefault("multiple", setting.kind in ("texts", "integers"))
    absent = other.pop("absent", setting.absent)
    default = setting.value() if not absent and setting.default is not None else None
    default = other.pop("default", default)
    if setting.kind == "flag":
        absent = name if default else ""
    elif not absent and default not in (None, ""):
        absent = str(default)
    written = other.pop("help", setting.help) + (" Repeatable." if several else "")
    if setting.kind == "flag":
        other["is_flag"] = True
        other.pop("multiple")
    else:
        other.setdefault("type", _type_of(name, setting))
        other["metavar"] = other.get("metavar", setting.metavar) or None
    return click.option(
        *(setting.options or (f"--{name.replace('_', '-')}",)),
        name,
        default=None if from_file or several else default,
        help=f"{written}  [default: {absent}]" if absent else written,
        **other,
    )


def _type_of(name: str, setting: SettingInfo) -> click.ParamType[Any]:
    if setting.choices:
        return click.Choice(setting.choices)
    if name == "distance":
        return Distance(1)
    if name == "window":
        return Tokens(setting.least)
    if setting.kind in ("integer", "integers"):
        return Count(setting.least)
    if setting.kind == "number":
        return Seconds() if setting.above == 0 else click.FloatRange(setting.least)
    return _TYPES[setting.kind]()


def setting_options(*names: str, **other: Any) -> Callable[[_Command], _Command]:
    """The options of several settings, in this order."""

    def decorate(command: _Command) -> _Command:
        for name in reversed(names):
            command = setting_option(name, **other)(command)
        return command

    return decorate


one_window = setting_option("window", multiple=False, help="Narrow the context window to N tokens.")


def at_distance(results: Results, distance: int | None) -> Results:
    """Results whose reports use a distance; None for that of the store."""
    if distance is None:
        return results
    return replace(results, manifest={**results.manifest, "distance": distance})


conversation_option = click.option(
    "--conversation", default="", metavar="ID", help="The conversation, if there are several."
)


def file_option(name: str, help: str) -> Callable[[_Command], _Command]:
    """An option that names a file."""
    return click.option(name, type=click.Path(dir_okay=False), metavar="FILE", help=help)


def format_option(*forms: str) -> Callable[[_Command], _Command]:
    """The option for the format of an output; the first is the default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True
    )


def _begin(context: click.Context, option: click.Parameter, given: bool | None) -> bool | None:
    if given:
        redact_from_here()
    return given


redact = click.option(
    "--redact",
    is_flag=True,
    default=None,
    is_eager=True,
    expose_value=False,
    callback=_begin,
    help="Hide possible keys, tokens and mail addresses in all output.",
)


# Defaults if no path is given.


class _Client(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A client of which transcripts are read: its names are those of all readers."""

    name = "client"

    @property
    def _choice(self) -> click.Choice[str]:
        # All readers take longer to import than to print the list of commands.
        from compactlab.scenarios.readers.homes import CLIENTS

        return click.Choice(CLIENTS)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice.get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._choice.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)


client_option = click.option(
    "--client",
    type=_Client(),
    help="Without PATH: read only this client's folders.",
)


def named_or_usual(paths: Sequence[str], client: str | None) -> list[str]:
    """The given paths; without any, the existing folders of clients, which are printed."""
    if paths and client:
        raise UsageError("--client picks among the usual folders: give it or a PATH, not both")
    if paths:
        return list(paths)
    from compactlab.scenarios.readers.homes import here, places

    usual = here(client or "")
    if not usual:
        tried = listed([str(folder) for _, folder in places(client or "")])
        raise UsageError(f"name a PATH: none of the default folders exists ({tried})")
    for name, folder in usual:
        say(f"reading {folder} ({name})", err=True)
    return [str(folder) for _, folder in usual]


# Messages on files that are missing, skipped or invalid.


def nothing_found(names: Iterable[object], skipped: int) -> str:
    """The message that paths contain no transcript, with the number of skipped files.

    Examples
    --------
    >>> nothing_found(["sessions", "more"], 2)
    'no transcript was found in sessions and more, only 2 files of unknown format'
    """
    named = list(map(str, names))
    nowhere = f"no transcript was found in {listed(named)}"
    only = f", only {counted(skipped, 'file')} of unknown format" if skipped else ""
    return f"{nowhere}{only}{not_read(named)}"


def not_read(names: Iterable[str]) -> str:
    """The message on existing files of unsupported clients, with advice; empty without any."""
    from compactlab.scenarios.readers.transcript import strangers

    clients = [f"{client}: {instead}" for client, instead in strangers(names).items()]
    return f"; not read: {'; '.join(clients)}" if clients else ""


def finish(
    paths: Sequence[str], skipped: int, errors: Sequence[CompactlabError], *, nothing: bool = False
) -> None:
    """Report skipped and invalid files, and exit if any is invalid."""
    if skipped:
        say(f"skipped: {counted(skipped, 'file')} of unknown format", err=True)
    for error in errors:
        complain(error)
    if errors:
        # A named file must be valid; an invalid one in a folder is only skipped.
        named = any(not isinstance(e, InputError) or e.path in ("", *paths) for e in errors)
        sys.exit(2 if named or nothing else 1)
