"""The command line: ``compactlab`` or ``python -m compactlab``.

However a command ends, its exit code is given here. Code 1 is a word of a command's own, a verdict
of a gate: nothing that goes wrong ends with it.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, chdir, suppress
from typing import TextIO

from compactlab.cli import STOPPED

FAULT = 70
"""The exit code of a fault of compactlab itself: EX_SOFTWARE of sysexits.h."""
UNREAD = 141
"""The exit code where nobody reads the output to its end: what a shell says of a SIGPIPE."""
_PROGRAM = "compactlab"
_COMPLETION = "_COMPACTLAB_COMPLETE"
_TOLD = f"""\
{_PROGRAM}: this is a fault of {_PROGRAM} itself, and no result. Please report it, with the lines
above, the command and what {_PROGRAM} --version says."""

_AT_ONCE = 3  # an exit code that becomes 2, and nothing else is done before
_NO_MEMORY = f"{_PROGRAM}: there is too little memory for this"
# Of a library that cannot be loaded, and of threads.
_MEMORY_WORDS = ("failed to map segment", "annot allocate memory", "can't start new thread")


def main() -> None:
    """Run the command line, and exit: with 2 for errors that are the user's to mend."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
    for stream in streams:
        # What a transcript holds must not end a command because a terminal cannot show it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    code = _ended()
    # At its exit, the interpreter would make 120 of what it cannot write any more.
    for stream in streams:
        code = _flushed(stream, code)
    if code == _AT_ONCE:
        os._exit(2)  # a library that tidies up without memory may end it in another way
    sys.exit(code)


def _ended() -> int:
    """Run the command line, and give its exit code."""
    try:
        return _called()
    except BrokenPipeError:
        return UNREAD
    except KeyboardInterrupt:  # while the commands are loaded
        with suppress(BaseException):
            print("stopped", file=sys.stderr)
        return STOPPED
    except OSError as error:  # an error that cannot be told: standard error is full, say
        with suppress(OSError):
            print(f"{_PROGRAM}: {error}", file=sys.stderr)
        return 2
    except BaseException as error:  # something is missing from the installation, say
        if _lacks_memory(error):
            with suppress(BaseException):
                print(_NO_MEMORY, file=sys.stderr)
            return _AT_ONCE
        with suppress(BaseException):
            import traceback

            print(traceback.format_exc() + _TOLD, file=sys.stderr)
        return FAULT


def _called() -> int:
    # Here, as an installation from which something is missing is no verdict either.
    from compactlab.cli.group import cli

    _settle_matplotlib()

    with ExitStack() as opened:
        try:
            if _COMPLETION in os.environ:
                cli.main(prog_name=_PROGRAM)
            context = opened.enter_context(cli.make_context(_PROGRAM, sys.argv[1:]))
            cli.invoke(context)
        except BaseException as error:
            # While the context is there, which knows what is to be hidden.
            return _exit_code(error)
    return 0


def _settle_matplotlib() -> None:
    """Keep from it what a notebook, a user or a checkout wants drawn: none of it need be there."""
    os.environ.update(MPLBACKEND="agg", MATPLOTLIBRC=os.devnull)
    if os.path.lexists("matplotlibrc"):  # which it would take before all others
        with chdir(os.path.dirname(os.path.abspath(__file__))):
            import matplotlib  # noqa: F401


def _exit_code(error: BaseException) -> int:
    """Say how a command has ended, and give the exit code of that."""
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
        case CompactlabError() | OSError():  # OSError: say standard output, on a full disk
            complain(error)
        case _:
            lacking = _lacks_memory(error)
            told = "".join(traceback.format_exception(error)) + _TOLD
            say(_NO_MEMORY if lacking else told, err=True)
            return _AT_ONCE if lacking else FAULT
    return 2


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether memory is lacking; what we use has words of its own for that."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
            return True
        if any(words in str(error) for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _flushed(stream: TextIO, code: int) -> int:
    """Write what is left in a stream, and give the exit code of that."""
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
