"""How pi hands to the model what no person typed: summaries, and commands that the user ran.

Readers and strategies both write them, so that a summary made here is the one that pi would send.
The literals are those of pi 0.49.3 to 0.73.1.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.message import Part, frame

COMPACTED = "The conversation history before this point was compacted into the following summary:"
BRANCHED = "The following is a summary of a branch that this conversation came back from:"


def compacted(told: Iterable[Part]) -> list[Part]:
    """The summary of a compaction as the model is given it."""
    return [frame(f"{COMPACTED}\n\n<summary>\n"), *told, frame("\n</summary>")]


def branched(told: Iterable[Part]) -> list[Part]:
    """The summary of a branch that was left, as the model is given it."""
    return [frame(f"{BRANCHED}\n\n<summary>\n"), *told, frame("</summary>")]


def shell(
    command: Part,
    output: Part,
    *,
    exit_code: int | None = None,
    cancelled: bool = False,
    full_output: str = "",
) -> list[Part]:
    """A command that the user ran, and what it printed, as the model is told.

    Parameters
    ----------
    command, output
        The words of both.
    exit_code
        What the command ended with, if that is known.
    cancelled
        Whether the user stopped it.
    full_output
        Where all of the output is to be found, if only a piece of it was kept.
    """
    end = ""
    if cancelled:
        end += "\n\n(command cancelled)"
    elif exit_code:
        end += f"\n\nCommand exited with code {exit_code}"
    if full_output:
        end += f"\n\n[Output truncated. Full output: {full_output}]"
    if output.text:
        return [frame("Ran `"), command, frame("`\n```\n"), output, frame(f"\n```{end}")]
    return [frame("Ran `"), command, frame(f"`\n(no output){end}")]
