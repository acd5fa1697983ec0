"""Near the limit, the whole conversation gives way to a summary: as Claude Code compacts."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.erase import older_outputs, with_erased
from compactlab.strategies.mechanisms.files import attached
from compactlab.strategies.mechanisms.fitting import fitting
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.usage import at_most, known_tokens

# After so many attempts in a row that did not help it gives up for the rest of the session.
ATTEMPTS = 3


@dataclass(frozen=True)
class FullSummary(Strategy):
    """Summarise everything when the window is nearly full, and attach files anew.

    After Claude Code's auto-compaction, as its documentation and the community describe it (2026;
    the program is closed): it is time at the effective window, which is the window less what a
    summary may take, less a buffer. The request rides on the live prompt. What follows the system
    prompt then is the summary, as a message of the user, and the files that were modified last:
    what the log knows of them stands in for reading them from the disk. Not even the last words
    of the user stay as they are.

    Simplified: rules, memory, plan and skills, which are read again too, are not in a log; in a
    narrowed window what is reserved is a quarter of it at most; what would not be smaller than
    before is not kept.

    Parameters
    ----------
    buffer_tokens
        Tokens of the effective window that stay free.
    summary_tokens
        Tokens that a summary may have, and that are kept free for it; a model that writes less
        has less.
    files
        How many files are attached, at most.
    file_tokens
        Tokens of a file, above which its path alone is told.
    clear_first
        Whether old tool outputs are cleared before anything is summarised, which may be enough.
    keep_outputs
        How many of the newest tool outputs such a clearing leaves.
    """

    buffer_tokens: int = 13_000
    summary_tokens: int = 20_000
    files: int = 5
    file_tokens: int = 5000
    clear_first: bool = False
    keep_outputs: int = 5
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "everything is summarised, what was just said too; Claude Code 2.1"}
    )

    def __post_init__(self) -> None:
        for name in ("buffer_tokens", "files", "file_tokens", "keep_outputs"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        if self.summary_tokens < 1:
            raise ValueError(f"summary_tokens must be at least 1, not {self.summary_tokens}")

    def compact(self, view: View, host: Host) -> View:
        """Replace everything, if it is time."""
        overflow = host.phase is Phase.ON_OVERFLOW
        if not overflow and known_tokens(view, host) < self.limit(host):
            return view
        if self.clear_first:
            old = older_outputs(view.messages, self.keep_outputs)
            cleared = view.with_messages(with_erased(view.messages, old))
            # The stubs of tiny outputs are larger than these.
            if (tokens := host.count(cleared)) < host.count(view):
                view = cleared
                if tokens < self.limit(host):
                    return view
        if host.notes.get("failed", 0) >= ATTEMPTS or not view.messages:
            return view
        after = self._summarised(view, host)
        helped = after is not None and host.count(after) < host.count(view)
        host.notes["failed"] = 0 if helped else host.notes.get("failed", 0) + 1
        return after if after is not None and helped else view

    def limit(self, host: Host) -> int:
        """Tokens at which it is time."""
        reserve = at_most(self._output(host), host) + at_most(self.buffer_tokens, host)
        return host.window - reserve

    def _output(self, host: Host) -> int:
        return min(self.summary_tokens, host.model.max_output or self.summary_tokens)

    def _summarised(self, view: View, host: Host) -> View | None:
        """What takes the place of everything; None if the summariser says nothing."""
        asked = fitting(view, host, INSTRUCTIONS)
        previous, told = split_previous(asked.messages)
        summary = host.summarize(
            asked,
            SummaryRequest(tuple(told), self._output(host), previous, INSTRUCTIONS, rides="live"),
        )
        if not summary:
            return None
        first = summary_message(host, summary)
        return view.with_messages([first, *self._attachments(first, host)])

    def _attachments(self, first: Message, host: Host) -> list[Message]:
        parts: list[Part] = attached(host.log, host.count, self.files, self.file_tokens)
        if not parts:
            return []
        return [Message(f"{first.id}/files", "user", tuple(parts), host.now, meta=True)]
