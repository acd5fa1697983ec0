"""Summarise the old part of the history when the window fills: pi's compaction."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.pi.compaction import PHASES, Rules, occasion
from compactlab.strategies.mechanisms.pi.file_lists import file_section
from compactlab.strategies.mechanisms.pi.summary import Scribe, pi_summary


@dataclass(frozen=True)
class AutoCompact(Strategy):
    """Summarise what is older than the tail once the context has grown into the reserve.

    pi's compaction (``@mariozechner/pi-coding-agent``), with the floor that OpenClaw puts under
    its reserve. Exact: token estimates, trigger, cut point, what is summarised and what is kept,
    the two summaries of a turn that is cut in two, the previous summary, file lists, limits of
    length, and the text that a summary is asked for with, but for the wording of the instructions.

    pi looks at the window after a run of the agent and before the next prompt, by the usage of the
    last answer, that answer included and the new prompt not. Between the calls of a turn it does
    not look: in a long turn it compacts only when the provider refuses a request, once, and sends
    that request again. The refusal stays in the session as an empty answer, so that even a turn
    that ends in results larger than the tail can be cut then: nothing but the summary is left.
    Without a refusal, such results at the end keep everything (see ``find_cut_point``), and a
    summary of nothing is asked for and put in front.

    Simplified: a refusal comes when the prompt is larger than the window, by the model's own
    count; requests have no system prompt (some 80 tokens in the original) and no thinking; an
    interrupted answer that nothing was billed for is not looked at.

    Parameters
    ----------
    reserve_tokens
        Tokens of the window that the context may not grow into.
    reserve_tokens_floor
        OpenClaw raises the reserve to so many tokens; 0 for pi alone.
    keep_recent_tokens
        Estimated tokens of the tail that stays as it is.
    version
        Of pi. ``0.49.3`` (what OpenClaw had in January 2026): what one compaction had kept, the
        next neither summarises nor keeps, so that it is silently lost; tool results are summarised
        in full. ``0.58.0`` (March 2026): the same, but results are cut to 2,000 characters and a
        usage that is older than the last compaction counts no more. ``0.73.1``: what was kept is
        summarised.
    file_lists
        Whether the files that were read and changed are listed under the summary.
    rides
        ``fresh``, as pi does: a request for a summary has a prompt of its own. ``live``: it rides
        on the live prompt and reads the cache.
    """

    reserve_tokens: int = 16_384
    reserve_tokens_floor: int = 20_000
    keep_recent_tokens: int = 20_000
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.73.1"
    file_lists: bool = True
    rides: Literal["live", "fresh"] = "fresh"
    phases = PHASES

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where nothing can be cut off, a summary comes on top of everything (all)",
        }
    )

    def __post_init__(self) -> None:
        for name in ("reserve_tokens", "reserve_tokens_floor", "keep_recent_tokens"):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} must be a number of tokens, 0 or more, not {value}")

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part by a summary, if it is time."""
        rules = Rules.of(self)
        now = occasion(view, host, rules)
        if now is None:
            return view
        scribe = Scribe(now.view, host, rules.reserve, self.version, self.rides)
        summary = pi_summary(scribe, now.prepared)
        files = now.prepared.files.carried()
        listed = file_section(files) if self.file_lists else []
        return now.replaced(host, [*summary, *listed], files if self.file_lists else None)
