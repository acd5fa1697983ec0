"""Summarise the older part of the history, and have the summary checked: Gemini CLI."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part, frame
from compactlab.sim.messages import Messages
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.history_split import (
    estimate_content,
    split_point,
    within_budget,
)
from compactlab.strategies.mechanisms.parting import parted
from compactlab.strategies.mechanisms.usage import is_stale

# Our own words; only their length matters.
SYSTEM = (
    "You keep the record of an agent's work. You are given what was said so far and answer with a "
    "snapshot of its state: goal, facts that must not be lost, files and what was done to them, "
    "what was tried, and the plan with what is done of it. An older snapshot is carried on."
)
VERIFY = (
    "Look at your snapshot again. If a path, a name, a number, a result or a wish of the user is "
    "missing or could be said more exactly, answer with a better one; else with the same."
)
ACKNOWLEDGED = "Understood, I go on from there."
_MAX_TOKENS = 8192  # the original sets no limit
# What its tool for reading files returns at once; set in its fileUtils.
_READ_LINES, _READ_CHARS = 2_000, 2_000


@dataclass(frozen=True)
class FractionSplit(Strategy):
    """Summarise the older 70 % of the history by characters, in two calls.

    After Gemini CLI's chat compression (``@google/gemini-cli-core`` 0.61.0), before every call,
    on the history without what is about to be sent. The point of the cut and the cutting of tool
    outputs before it are exact. The summary is made by a request of its own with the history in
    it, and checked by a second one that goes on from the first. It stands in front, with an
    answer of the model that acknowledges it. A history that would be larger than before is
    refused, and from then on only tool outputs are cut; an empty summary is refused, and asked
    for again at the next call.

    Simplified: several results that one message carries there are messages of their own here; what
    the client says about the environment is not put in front again; what is larger by count and
    not by Gemini's estimate is refused, too.

    Parameters
    ----------
    threshold
        Share of the window at which it is time, 0 to 1.
    preserve
        Share of the characters that stay at least, above 0 and below 1.
    output_budget
        Tokens of tool outputs that stay whole; of older ones, those above 40,000 characters lose
        their middle.
    verify
        Whether the second request is made.
    """

    threshold: float = 0.5
    preserve: float = 0.3
    output_budget: int = 50_000
    verify: bool = True

    breaks = MappingProxyType(
        {"last user message": "all of a finished turn may be summarised; gemini-cli-core 0.61.0"}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be between 0 and 1, not {self.threshold}")
        if not 0 < self.preserve < 1:
            raise ValueError(f"preserve must be above 0 and below 1, not {self.preserve}")
        if self.output_budget < 0:
            raise ValueError(f"output_budget must be at least 0, not {self.output_budget}")

    def fetch(self, handle: str, host: Host) -> str | None:
        """What was cut out of a tool's output, as Gemini CLI's ``read_file`` returns it.

        That is 2,000 lines of 2,000 characters; its users can go on from there, ours do not.
        """
        text = host.files.get(handle)
        if text is None:
            return None
        lines = text.splitlines()[:_READ_LINES]
        return "\n".join(line[:_READ_CHARS] for line in lines)

    def compact(self, view: View, host: Host) -> View:
        """Replace the older part, if it is time."""
        before = _prompt_tokens(view, host)
        end = _history(view.messages)
        if before < self.threshold * host.window or not end:
            return view
        history, pending = view.messages[:end], view.messages[end:]
        short = within_budget(history, host, self.output_budget)
        if host.notes.get("inflated"):
            smaller = short.total(estimate_content) < before
            return view.with_messages([*short, *pending]) if smaller else view
        cut = split_point(short, 1 - self.preserve)
        if not cut:
            return view
        snapshot = self._snapshot(view, host, history[:cut], short[:cut])
        if not snapshot:
            return view
        first = summary_message(host, snapshot, lead="")
        model = Message(
            f"{first.id}/answer", "assistant", (frame(ACKNOWLEDGED),), host.now, meta=True
        )
        _, rest = parted(short.append(*pending), cut)
        after = Messages([first, model, *rest])
        size = after.total(estimate_content) - pending.total(estimate_content)
        if size > before or host.count(after) > host.count(view.messages):
            host.notes["inflated"] = True
            return view
        return view.with_messages(after)

    def _snapshot(
        self, view: View, host: Host, whole: Messages, short: Messages
    ) -> tuple[Part, ...]:
        """The summary of the older part: of what it was before outputs were cut, if that fits."""
        old = whole if whole.total(estimate_content) < host.window else short
        previous, told = split_previous(old)
        live = View((Part("text", SYSTEM, "synthetic", ()),), old)
        most = host.model.max_output or _MAX_TOKENS
        request = SummaryRequest(tuple(told), most, previous, INSTRUCTIONS, rides="live")
        summary = host.summarize(live, request)
        if not self.verify:
            return summary
        if summary:
            live = live.append(Message("snapshot", "assistant", summary, host.now, meta=True))
        again = SummaryRequest(tuple(told), most, summary or previous, VERIFY, rides="live")
        return host.summarize(live, again) or summary


def _prompt_tokens(view: View, host: Host) -> int:
    """Tokens of the last prompt; after a compaction, of the history as it is estimated."""
    if host.reported is not None and not is_stale(host):
        return host.reported.prompt
    if host.reported is None:
        return 0
    return view.messages[: _history(view.messages)].total(estimate_content)


def _history(messages: Messages) -> int:
    """Index at which what is about to be sent begins: after the last answer."""
    index = len(messages)
    while index and messages[index - 1].role != "assistant":
        index -= 1
    return index
