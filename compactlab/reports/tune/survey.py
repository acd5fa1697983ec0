"""A survey of conversations before any replay, and the selection of informative ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from compactlab.reports.tune.search import Search, span, tokens_of
from compactlab.reports.tune.tuned import TRIGGER
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.errors import CompactlabError, ModelError, NoCallsError
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.recording import exchanges

# The highest trigger, as a share of the largest prompt: above it nothing is compacted.
_BELOW = 0.97


@dataclass(frozen=True)
class Surveyed:
    """A source of conversations, and the sizes of its recorded prompts."""

    source: Source
    window: int = 0  # the smallest window of the called models, in tokens
    models: Counter[str] = field(default_factory=Counter)  # calls by model
    tokens: int = 0  # of all prompts; 0 if not recorded
    peak: int = 0  # of the largest prompt
    first: int = 0  # of the first prompt, median over conversations
    compacted: bool = False  # whether the recorded agent compacted
    newest: float = 0.0  # time of the last call

    @property
    def recorded(self) -> bool:
        """Whether the sizes of prompts are known."""
        return self.peak > 0

    def reaches(self, trigger: float) -> bool:
        """Whether a prompt may reach a size; True if sizes are unknown."""
        return not self.recorded or self.compacted or self.peak >= trigger


def surveyed(
    source: Source,
    conversations: Iterable[Conversation],
    catalogue: Catalogue,
    model: str = "",
    narrowed: int | None = None,
) -> Surveyed:
    """Read the sizes of prompts in a source's log."""
    called: Counter[str] = Counter()
    prompts: list[list[int]] = []
    newest, compacted = 0.0, False
    for conversation in conversations:
        calls = [message.call for message in conversation.messages if message.call is not None]
        own = Counter(call.model for call in calls) if conversation.recorded else Counter()
        called.update(Counter({model: len(calls)}) if model else own or {DEFAULT_MODEL: len(calls)})
        known = list(exchanges(conversation))
        if known:
            prompts.append([each.usage.prompt for each in known])
            newest = max(newest, *(each.time for each in known))
        compacted |= any(isinstance(event, Compaction) for event in conversation.events)
    windows = [_window(name, catalogue, narrowed) for name in called]
    return Surveyed(
        source,
        min((window for window in windows if window), default=0),
        called,
        sum(map(sum, prompts)),
        max(map(max, prompts), default=0),
        round(median(each[0] for each in prompts)) if prompts else 0,
        compacted,
        newest,
    )


def _window(name: str, catalogue: Catalogue, narrowed: int | None) -> int:
    """Tokens of a model's window; 0 if unknown."""
    try:
        return catalogue.find(name).narrowed(narrowed).window
    except ModelError:
        return narrowed or 0


@dataclass(frozen=True)
class Selection:
    """The sources that are replayed under one window, and the numbers of others, by reason."""

    window: int
    chosen: tuple[Surveyed, ...]
    quiet: int = 0  # number of sources whose prompts never reach the smallest trigger
    shorter: int = 0  # number of shorter sources beyond the requested maximum
    share: float = 1.0  # the share of prompt tokens of the selected among those that reach it

    @property
    def peak(self) -> int:
        """The largest recorded prompt."""
        return max((each.peak for each in self.chosen), default=0)

    @property
    def first(self) -> int:
        """The median of first prompts; 0 if not recorded."""
        known = [each.first for each in self.chosen if each.recorded]
        return round(median(known)) if known else 0

    @property
    def models(self) -> Counter[str]:
        return sum((each.models for each in self.chosen), Counter[str]())


def triggers(selection: Selection) -> tuple[float, float]:
    """The range of triggers."""
    return span(selection.first, min(selection.window, selection.peak or math.inf) * _BELOW)


def select(window: int, every: Sequence[Surveyed], least: float, most: int) -> Selection:
    """Select the longest sources that may reach the smallest trigger, in the given order."""
    loud = [each for each in every if each.reaches(least)]
    longest = sorted(loud, key=lambda each: -each.tokens)[:most]
    names = {each.source.key for each in longest}
    chosen = tuple(each for each in loud if each.source.key in names)
    tokens = sum(each.tokens for each in loud)
    return Selection(
        window,
        chosen,
        len(every) - len(loud),
        len(loud) - len(chosen),
        sum(each.tokens for each in chosen) / tokens if tokens else 1.0,
    )


def survey(
    planned: Experiment, search: Search, narrowed: int | None, step: Callable[[int], object]
) -> tuple[list[Surveyed], list[str]]:
    """Read all sources once; unreadable ones are reported and skipped."""
    found, failures = [], []
    model = planned.models[0] if planned.models and planned.models[0] != "recorded" else ""
    for number, source in enumerate(planned.sources, 1):
        try:
            conversations = [c for c in source.conversations() if _asked_for(c.project, search)]
            each = surveyed(source, conversations, planned.setting.catalogue, model, narrowed)
            if conversations and each.models and (not each.newest or each.newest >= search.since):
                found.append(each)
        except NoCallsError:
            pass
        except CompactlabError as fault:
            failures.append(str(fault))
        step(number)
    return found, failures


def _asked_for(project: str, search: Search) -> bool:
    """Whether a conversation belongs to the requested project."""
    wanted, own = search.project.rstrip("/\\"), project.rstrip("/\\").replace("\\", "/")
    return not wanted or own == wanted or own.endswith(f"/{wanted}")


def selections(every: Sequence[Surveyed], search: Search) -> list[Selection]:
    """The selections by window; the largest window comes last."""
    named = [axis.values for axis in search.over if axis.field == TRIGGER and axis.values]
    by_window: dict[int, list[Surveyed]] = {}
    for each in every:
        by_window.setdefault(each.window, []).append(each)
    found = []
    for window, those in sorted(by_window.items()):
        least = triggers(select(window, those, 0, len(those)))[0]
        if named:
            least = min(tokens_of(value, window) for values in named for value in values)
        found.append(select(window, those, least, search.sessions))
    return [each for each in found if each.chosen and each.window]


def unfit(every: Sequence[Surveyed]) -> str:
    """Why no source is replayed."""
    peaks = [each.peak for each in every if each.window]
    if not peaks:
        return "no session has calls of a model whose window is known"
    return (
        "no session grows beyond the smallest trigger: "
        f"the largest prompt has {max(peaks):,} tokens"
    )
