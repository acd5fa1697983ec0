"""GitHub Copilot CLI: at 80 % of the window, a summary is prepared in the background."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.replay.strategy import Agent, Strategy
from compactlab.strategies.background_compaction import FULL, START, BackgroundCompaction
from compactlab.strategies.mechanisms.trigger import Trigger


@dataclass(frozen=True)
class CopilotCli(Agent):
    """GitHub Copilot CLI: request a summary at 80 % of the window, and wait for it at 95 %.

    After public sources: the infinite sessions of its SDK (``@github/copilot-sdk`` 1.0.14,
    ``InfiniteSessionConfig``: ``backgroundCompactionThreshold``, ``bufferExhaustionThreshold``),
    and the page on its context (docs.github.com, "Managing context in Copilot CLI", 2026: about 80
    %). The program is closed, so this is a reconstruction. As in the open Copilot of VS Code,
    everything is summarised, and messages since the request follow the summary. Version 0.0.374
    compacted only at 95 % (github/copilot-cli issue 1245): ``trigger=0.95``. Users see other
    triggers under some models (issues 4571 and 4643: 50 % and 20 % under GPT-5.6).

    Left out: outputs above 51,200 bytes, which move to a file (their reference is not documented);
    files of a session's workspace (plan, checkpoints); compaction when memory is short or the model
    changes.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which a summary is requested.
    blocking
        Tokens, or a share, at which the agent waits for it.
    """

    trigger: Trigger = START
    blocking: Trigger = FULL

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy, which treats the first call of a turn like any other."""
        return (BackgroundCompaction(self.trigger, self.trigger, self.blocking),)
