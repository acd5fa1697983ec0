"""``compactlab serve``: a local page for dropping a transcript."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, NoReturn

import click

from compactlab.cli import STOPPED
from compactlab.cli.options import Count, redact, setting_option
from compactlab.cli.output import redactor, say, shown
from compactlab.reports.render.text import clean, counted
from compactlab.sim.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from compactlab.reports.serve.jobs import Step
    from compactlab.reports.serve.server import Server

_MB = 1_000_000
# The number of listed logs, and of files searched for them, the newest first.
_LISTED, _LOOKED_AT = 100, 2_000
# Signals that end the server besides Ctrl-C, and the offset of their exit codes.
_ENDING = [getattr(signal, n) for n in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, n)]
_BY_SIGNAL = 128


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default="any that is free",
    help="The port to listen on, at 127.0.0.1 and nowhere else.",
)
@click.option(
    "--limit",
    type=Count(1),
    default=256,
    show_default=True,
    metavar="MB",
    help="The largest transcript that is read.",
)
@click.option("--jobs", type=Count(1), help="Number of workers.  [default: one per core]")
@click.option(
    "--logs", is_flag=True, help="List the newest logs of the clients that are here on the page."
)
@setting_option("models_file")
@setting_option("strict")
@redact
def serve(
    port: int, limit: int, jobs: int | None, models_file: str | None, *, logs: bool, strict: bool
) -> None:
    """Open a local page that explains a dropped transcript.

    The page is only at 127.0.0.1, and its address has a random token, so nobody else can open it. A
    dropped transcript is audited as by compactlab audit (bill, causes of cache misses, all
    compactions), and the best size to compact at is found as by compactlab tune. The transcript is
    in a temporary folder, and is deleted when the work ends. Ctrl-C stops the server.

    \b
    compactlab serve                          print the address, and wait
    compactlab serve --port 8123 --redact     at a fixed port; secrets are hidden in the pages
    compactlab serve --logs                   choose among the logs of this machine, too

    With --logs the page lists the newest logs of the installed clients; it can only request these,
    by number.
    """  # noqa: D301
    from compactlab.reports.serve.jobs import delete_left
    from compactlab.reports.serve.server import Server, page
    from compactlab.reports.tune.settings import CLIENTS

    options = [*(["--redact"] if redactor() else []), *(["--strict"] if strict else [])]
    options += ["--models", str(Path(models_file).absolute())] if models_file else []
    names = [*CLIENTS]
    found = newest(limit * _MB) if logs else []
    listed = shown([_described(*each) for each in found])
    try:
        whole = page(names, limit * _MB, listed)
        paths = [path for _, path in found]
        server = Server(whole, steps(options, jobs), names, port, limit * _MB, logs=paths)
    except OSError as error:
        raise UsageError(f"cannot listen on port {port}: {error.strerror or error}") from None
    with _ending(server):
        if left := delete_left():
            say(f"deleted {counted(left, 'folder')} of servers that were killed", err=True)
        say("Ctrl-C ends it", err=True)
        say(f"open {server.guard.address}")
        sys.stdout.flush()
        server.serve_forever()


def newest(largest: int) -> list[tuple[str, Path]]:
    """The newest transcripts of the installed clients, with the clients' names."""
    from compactlab.scenarios.readers.folders import files_below
    from compactlab.scenarios.readers.homes import here
    from compactlab.scenarios.readers.transcript import read

    files: list[tuple[float, str, Path]] = []
    for client, place in here():
        for file in files_below(place) if place.is_dir() else [place]:
            with suppress(OSError):
                stat = file.lstat()
                if S_ISREG(stat.st_mode) and 0 < stat.st_size <= largest:
                    files.append((stat.st_mtime, client, file))
    found: list[tuple[str, Path]] = []
    for _, client, file in sorted(files, reverse=True)[:_LOOKED_AT]:
        with suppress(InputError):
            read(file)
            found.append((client, file.absolute()))
        if len(found) == _LISTED:
            break
    return found


def _described(client: str, file: Path) -> str:
    stat = file.stat()
    when = datetime.fromtimestamp(stat.st_mtime, UTC).strftime("%Y-%m-%d %H:%M")
    home = str(Path.home())
    name = str(file)
    name = f"~{name.removeprefix(home)}" if name.startswith(f"{home}{os.sep}") else name
    return clean(f"{client}, {when}, {stat.st_size / _MB:,.1f} MB: {name}")


def steps(options: list[str], jobs: int | None) -> tuple[Step, ...]:
    """The steps for a transcript: other commands, unchanged."""
    from compactlab.cli.tune import PAGE
    from compactlab.reports.serve.jobs import Step

    def audit(folder: Path, transcript: Path, _chosen: str) -> list[str]:
        return ["audit", str(transcript), "--html", str(folder / "audit.html"), *options]

    def tune(folder: Path, transcript: Path, chosen: str) -> list[str]:
        # One session cannot show an effect of summaries.
        words = ["tune", str(transcript), "--strategies", chosen, "--no-controls"]
        workers = str(jobs or os.cpu_count() or 1)
        return [*words, "--jobs", workers, "--out", str(folder / "tuned"), *options]

    return (
        Step("audit", "Bill, causes and thrash", audit, "audit.html"),
        Step("tune", "Best trigger", tune, f"tuned/{PAGE}"),
    )


@contextmanager
def _ending(server: Server) -> Iterator[None]:
    """Always end the work and delete the data of the transcript."""

    def terminate(number: int, _: Any) -> NoReturn:
        sys.exit(_BY_SIGNAL + number)

    # Ignored signals stay ignored, as nohup requires for SIGHUP.
    heard = [each for each in _ENDING if signal.getsignal(each) != signal.SIG_IGN]
    before = [signal.signal(each, terminate) for each in heard]
    try:
        yield
    except KeyboardInterrupt:
        say("stopped", err=True)
        sys.exit(STOPPED)
    finally:
        heard, before = [*heard, signal.SIGINT], [*before, signal.getsignal(signal.SIGINT)]
        for each in heard:
            signal.signal(each, signal.SIG_IGN)  # ignore repeated signals
        server.server_close()
        server.stop()
        for each, earlier in zip(heard, before, strict=True):
            signal.signal(each, earlier)
