"""The command line: ``compactlab`` or ``python -m compactlab``.

However a command ends, its exit code is given here. Code 1 is a word of a command's own, a verdict
of a gate: nothing that goes wrong ends with it.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
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
    except BaseException:  # something is missing from the installation, say, or there is no memory
        with suppress(BaseException):
            import traceback

            print(traceback.format_exc() + _TOLD, file=sys.stderr)
        return FAULT


def _called() -> int:
    # Here, as an installation from which something is missing is no verdict either.
    from compactlab.cli.group import cli

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


def _exit_code(error: BaseException) -> int:
    """Say how a command has ended, and give the exit code of that."""
    import traceback

    import click

    from compactlab.cli.disclosing import complain, say
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
            say("".join(traceback.format_exception(error)) + _TOLD, err=True)
            return FAULT
    return 2


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
