"""Tell old tool uses in a line each, by rule, and if need be whole stretches: Hermes and Cline."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import after_results
from compactlab.strategies.mechanisms.description import described, hermes_trigger
from compactlab.strategies.mechanisms.notice import told_by_rule


@dataclass(frozen=True)
class DescribedResults(Strategy):
    """Shorten what tools said by rule; where that is not enough, tell the gap in a notice.

    The rules are those of Hermes' passes before its summary (hermes-agent 0.19.0): of results
    repeated word for word (200 characters and more) only the newest stays; old results of more
    than 200 characters become one line; in arguments of more than 500 characters, texts are cut to
    200, and the arguments stay valid JSON. The trigger and the protected tail (20 % of the trigger,
    20 messages at least) are Hermes', too.

    Hermes would then have a model summarise. Here the second step is that of Cline's ``basic``
    compaction, which its recovery from an overflow uses because recovery must not need another
    successful call: what people typed and the last three answers stay, each gap gives way to a
    notice that lists files and commands. It is taken if the first step does not bring the prompt
    down to ``target``, or if the prompt does not fit at all.

    Simplified: the line has one form for all tools (name, two arguments, size), not one for each;
    the trigger is held against tokens as they are counted, not as they were last reported; the
    notice's words and the rules by which calls are told apart (names of arguments and tools) are
    our own; older attachments stay; the two systems are not combined like this in real life.

    Parameters
    ----------
    threshold
        Share of the window at which it acts, 0 to 1; raised to 0.75 in windows below 512,000
        tokens, and to 64,000 tokens.
    tail_ratio
        Share of the trigger that the newest messages may take, which stay as they are.
    protect_last_n
        How many of the newest messages stay as they are at least.
    answers
        How many of the newest answers keep their words in the second step.
    target
        Share of the trigger; above it the second step is taken.
    """

    threshold: float = 0.5
    tail_ratio: float = 0.2
    protect_last_n: int = 20
    answers: int = 3
    target: float = 0.7
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    def __post_init__(self) -> None:
        for name in ("threshold", "tail_ratio", "target"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, not {getattr(self, name)}")
        for name in ("protect_last_n", "answers"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")

    def compact(self, view: View, host: Host) -> View:
        """Describe, and leave out if that is not enough."""
        trigger = hermes_trigger(host.window, self.threshold)
        overflow = host.phase is Phase.ON_OVERFLOW
        if not overflow and host.count(view) < trigger:
            return view
        messages = view.messages
        start = min(
            messages.tail_from(host.weight, int(trigger * self.tail_ratio)),
            len(messages) - self.protect_last_n,
        )
        shorter = view.with_messages(described(messages, start))
        if not overflow and host.count(shorter) <= self.target * trigger:
            return shorter
        boundary = after_results(messages, max(start, 0))
        told = told_by_rule(shorter.messages, boundary, self.answers)
        fewer = view.with_messages(told)
        return fewer if host.count(fewer) < host.count(shorter) else shorter
