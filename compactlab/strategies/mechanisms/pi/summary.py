"""The summary that stands for the old part of a history, and the requests for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.pi.instructions import FIRST, PREFIX, UPDATE
from compactlab.strategies.mechanisms.pi.preparation import Preparation, at_least
from compactlab.strategies.mechanisms.pi.serialise import RESULT_CHARS, RESULTS_ARE_CUT, serialise

# Literals of pi (0.49.3 to 0.73.1).
NO_HISTORY = "No prior history."
SPLIT_TURN = "\n\n---\n\n**Turn Context (split turn):**\n\n"


def plain(text: str) -> Part:
    """Text of the client's own, which stands for nothing that was said."""
    return Part("text", text, "synthetic", ())


def text_of(parts: Iterable[Part]) -> str:
    """What parts say when they are written one after the other."""
    return "".join(part.text for part in parts)


def lines(parts: Iterable[Part]) -> list[Part]:
    """Parts, each on a line of its own."""
    apart: list[Part] = []
    for part in parts:
        apart += [plain("\n"), part] if apart else [part]
    return apart


def result_chars(version: str) -> int | None:
    """Characters of a tool's result that a version of pi writes into a request; None for all."""
    return RESULT_CHARS if at_least(version, RESULTS_ARE_CUT) else None


@dataclass(frozen=True, slots=True)
class Scribe:
    """Asks for summaries as pi does.

    Parameters
    ----------
    view
        The live prompt.
    host
        Bills the requests.
    reserve
        Tokens of the window that are held back; they limit how long a summary may be.
    version
        Of pi.
    rides
        How a request is built, see :class:`compactlab.sim.summarize.SummaryRequest`.
    """

    view: View
    host: Host
    reserve: float
    version: str
    rides: Literal["live", "fresh"] = "fresh"

    def history(
        self, messages: Sequence[Message], previous: Sequence[Part] = (), focus: str = ""
    ) -> list[Part]:
        """Ask for a summary of messages that carries a previous one on: ``generateSummary``.

        Parameters
        ----------
        messages
            What is to be summarised; there may be none.
        previous
            The summary before.
        focus
            What the summary should look to in particular.
        """
        instructions = UPDATE if text_of(previous) else FIRST
        if focus:
            instructions += f"\n\nAdditional focus: {focus}"
        return self._ask(messages, previous, instructions, 0.8)

    def prefix(self, messages: Sequence[Message]) -> list[Part]:
        """Ask for a summary of the first part of a turn: ``generateTurnPrefixSummary``."""
        return self._ask(messages, (), PREFIX, 0.5)

    def _ask(
        self, messages: Sequence[Message], previous: Sequence[Part], instructions: str, share: float
    ) -> list[Part]:
        transcript = ""
        if self.rides == "fresh":
            said = serialise(messages, result_chars(self.version))
            transcript = f"<conversation>\n{said}\n</conversation>"
            if before := text_of(previous):
                transcript += f"\n\n<previous-summary>\n{before}\n</previous-summary>"
        request = SummaryRequest(
            tuple(messages),
            math.floor(share * self.reserve),
            tuple(part for part in previous if part.sources),
            instructions,
            transcript,
            self.rides,
        )
        return lines(self.host.summarize(self.view, request))


def pi_summary(scribe: Scribe, prepared: Preparation, focus: str = "") -> list[Part]:
    """Have a history summarised, and apart from it the first part of a turn that is cut in two.

    As pi's ``compact`` (0.49.3 to 0.73.1), file lists left out. Where only a turn is cut in two and
    nothing stands before it, the previous summary is thrown away; where it is not and there is
    nothing to summarise, a summary is asked for all the same.
    """
    if not (prepared.split and prepared.prefix):
        return scribe.history(prepared.history, prepared.previous, focus)
    before = [plain(NO_HISTORY)]
    if prepared.history:
        before = scribe.history(prepared.history, prepared.previous, focus)
    return [*before, plain(SPLIT_TURN), *scribe.prefix(prepared.prefix)]
