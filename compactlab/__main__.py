"""The command line: ``compactlab`` or ``python -m compactlab``.

This module sets the exit code of every command. Only commands set code 1, such as a gate for its
verdict; errors never end with it.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack, chdir, suppress
from typing import TextIO

from compactlab.cli import STOPPED

FAULT = 70
"""The exit code of a fault of compactlab itself: EX_SOFTWARE of sysexits.h."""
UNREAD = 141
"""The exit code if the reader closes the output early: a shell's code for SIGPIPE."""
_PROGRAM = "compactlab"
_COMPLETION = "_COMPACTLAB_COMPLETE"
_TOLD = f"""\
{_PROGRAM}: this is a fault of {_PROGRAM} itself, and no result. Please report it, with the lines
above, the command and what {_PROGRAM} --version says."""

_AT_ONCE = 3  # an exit code that becomes 2, without any cleanup
_NO_MEMORY = f"{_PROGRAM}: there is too little memory for this"
# Errors of libraries that cannot be loaded, and of threads.
_MEMORY_WORDS = ("failed to map segment", "annot allocate memory", "can't start new thread")


# Objects between two garbage collections. With Python's default of 700, collecting takes a fifth of
# an audit, and reference counting frees nearly everything.
_OBJECTS = 1_000_000


def main() -> None:
    """Run the command line and exit; user errors have code 2."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
    for stream in streams:
        # A terminal that cannot show a character must not end the command.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    code = _ended()
    # If the interpreter cannot flush at its exit, it would end with 120.
    for stream in streams:
        code = _flushed(stream, code)
    if code == _AT_ONCE:
        os._exit(2)  # cleanup without memory may set another code
    sys.exit(code)


def _ended() -> int:
    """Run the command line and return its exit code."""
    try:
        return _called()
    except BrokenPipeError:
        return UNREAD
    except KeyboardInterrupt:  # while commands are imported
        with suppress(BaseException):
            print("stopped", file=sys.stderr)
        return STOPPED
    except OSError as error:  # an error that cannot be printed, e.g. if standard error is full
        with suppress(OSError):
            print(f"{_PROGRAM}: {error}", file=sys.stderr)
        return 2
    except BaseException as error:  # e.g. an incomplete installation
        if _lacks_memory(error):
            with suppress(BaseException):
                print(_NO_MEMORY, file=sys.stderr)
            return _AT_ONCE
        with suppress(BaseException):
            import traceback

            print(traceback.format_exc() + _TOLD, file=sys.stderr)
        return FAULT


def _called() -> int:
    # Here, because an incomplete installation is no verdict either.
    from compactlab.cli.group import cli

    _settle_matplotlib()

    with ExitStack() as opened:
        try:
            if _COMPLETION in os.environ:
                cli.main(prog_name=_PROGRAM)
            context = opened.enter_context(cli.make_context(_PROGRAM, sys.argv[1:]))
            cli.invoke(context)
        except BaseException as error:
            # Now, because the context still knows the secrets to redact.
            return _exit_code(error)
    return 0


def _settle_matplotlib() -> None:
    """Isolate matplotlib from settings of a notebook, a user or a checkout: they may be invalid."""
    os.environ.update(MPLBACKEND="agg", MATPLOTLIBRC=os.devnull)
    if os.path.lexists("matplotlibrc"):  # which has priority over all others
        with chdir(os.path.dirname(os.path.abspath(__file__))):
            import matplotlib  # noqa: F401


def _exit_code(error: BaseException) -> int:
    """Print how a command ended, and return its exit code."""
    import traceback

    import click

    from compactlab.cli.output import complain, say
    from compactlab.sim.core.errors import CompactlabError

    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        case click.exceptions.Exit():
            return error.exit_code
        case BrokenPipeError():
            return UNREAD
        case KeyboardInterrupt():
            say("stopped", err=True)
            return STOPPED
        case click.ClickException():
            error.show()
        case CompactlabError() | OSError():  # OSError: e.g. standard output on a full disk
            complain(error)
        case _:
            lacking = _lacks_memory(error)
            told = "".join(traceback.format_exception(error)) + _TOLD
            say(_NO_MEMORY if lacking else told, err=True)
            return _AT_ONCE if lacking else FAULT
    return 2


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether memory is lacking, by the messages of libraries."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
            return True
        if any(words in str(error) for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _flushed(stream: TextIO, code: int) -> int:
    """Flush a stream, and return the exit code."""
    try:
        stream.flush()
    except BrokenPipeError:
        code = UNREAD
    except OSError as error:
        if code in (0, 1):
            with suppress(OSError):
                print(f"{_PROGRAM}: {error}", file=sys.stderr)
        code = max(code, 2)
    else:
        return code
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
    return code


if __name__ == "__main__":
    main()
