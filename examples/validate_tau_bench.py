"""Hold forward-need coverage against what is known of tau-bench: FNC@1 of the last messages.

``python examples/validate_tau_bench.py FOLDER``, where FOLDER holds
``tau-bench/gpt-4o-airline.json``. The exit code is 1 if a bar is missed, and 2 if the file cannot
be used.

What was decided before any figure was seen:

- *The figure* is the product's ``forward_need_1``: of the words that the next recorded action uses
  and that had appeared before, the share in context. What counts as such a word is told by
  docs/metrics.md: identifiers in what the agent says and in longer arguments, and every argument
  that is one word. An action uses a word once, however often it says it. The system prompt, which
  holds the airline's rules, has appeared and is in context. Summed over all uses of all
  trajectories, so that a long one counts more.
- *Arguments alone* is the other definition: words and context as before, but of an action only
  the calls count, not what it says. It is counted here, call by call, and not by the metric.
- *The last messages* are what ``trim_messages`` sends when it counts messages. It guards no pairs:
  a result may stand without its call.
- *Bars.* Both definitions rise strictly with the messages. Their levels depend on the definition,
  so they are told beside the reference, and not judged: 0.386, 0.596, 0.801, 0.934 under one that
  has 3,104 uses of arguments, and from 0.28 to 0.46 for two messages under others.

What was seen: arguments alone come to 3,148 uses, and within about 0.01 of those levels; with what
the agent says there are more uses and more of them in context, for two messages 0.466. Pairs do not
matter here: the agent has every second message, so that an even number of them begins with the
agent's, and ``sliding_window``, which guards pairs, gave the same figures.

The reference: section 4 of the project's notes on metrics, recomputed there from the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from verdict import Verdict

from compactlab import CompactlabError, Conversation, Message, Part, find_strategy, read
from compactlab.sim.core.errors import InputError
from compactlab.sim.facts.needs import forward_needs, used, words
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import Trace

FOLDER = "../shared/recorded"
FILE = "tau-bench/gpt-4o-airline.json"
REFERENCE = {2: 0.386, 4: 0.596, 8: 0.801, 16: 0.934}
LEAST, MOST = 0.28, 0.46  # for the fewest messages, under other definitions
# Nothing about it matters but that it counts fast: what it costs is not looked at.
MODELS = Catalogue.of(
    {
        "models": {
            "any": {
                "window": 10_000_000,
                "encoding": "chars4",
                "cache": "none",
                "prices": {"input": 1.0, "output": 1.0},
            }
        }
    }
)


@dataclass(frozen=True)
class Share:
    """How many words actions used, and how many of them were in context."""

    met: int
    used: int

    def __add__(self, other: Share) -> Share:
        return Share(self.met + other.met, self.used + other.used)

    @property
    def value(self) -> float:
        """The one over the other."""
        return self.met / self.used if self.used else 0.0


NONE = Share(0, 0)
found_in = lru_cache(maxsize=1024)(words)


def last(conversation: Conversation, keep: int) -> Trace:
    """A conversation of which only the last messages are sent."""
    strategy = find_strategy(f"trim_messages(max_tokens={keep}, token_counter='len')")
    return record(conversation, strategy, Options("any", catalogue=MODELS))


def by_metric(conversation: Conversation, trace: Trace) -> Share:
    """What the metric says, with what it is a share of, so that shares can be pooled."""
    covered = figures(RunData(trace, conversation), ["forward_need_1"])["forward_need_1"]
    needs = forward_needs(conversation)
    total = sum(len(needs.wanted(answer, 1)) for answer in needs.answers)
    return Share(round((covered or 0.0) * total), total)


def by_hand(
    conversation: Conversation, trace: Trace, use: Callable[[Message], frozenset[str]]
) -> Share:
    """The same, counted call by call, for any notion of what an action uses."""
    answers = {message.id: message for message in conversation.calls}

    def held(messages: Iterable[Message], system: tuple[Part, ...]) -> set[str]:
        texts = (part.text for message in messages for part in message.parts)
        return set().union(*map(found_in, (*texts, *(part.text for part in system))))

    share = NONE
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        needed = use(answers[step.answer]) & held(step.log, conversation.system)
        share += Share(len(needed & held(prompt, step.system)), len(needed))
    return share


def arguments(action: Message) -> frozenset[str]:
    """What the calls of an action use, without what it says."""
    calls = tuple(part for part in action.parts if part.type == "tool_call")
    return used(msgspec.structs.replace(action, parts=calls))


class Row(NamedTuple):
    """What was measured of so many last messages, under both definitions."""

    keep: int
    all: Share
    arguments: Share


def rows(conversations: Sequence[Conversation], keeps: Iterable[int] = REFERENCE) -> list[Row]:
    """Measure all windows, over all trajectories."""
    found = {keep: Row(keep, NONE, NONE) for keep in keeps}
    for conversation in conversations:
        for keep, row in found.items():
            trace = last(conversation, keep)
            found[keep] = Row(
                keep,
                row.all + by_metric(conversation, trace),
                row.arguments + by_hand(conversation, trace, arguments),
            )
    return list(found.values())


def judge(found: Sequence[Row], verdict: Verdict) -> None:
    """Tell the figures beside the reference, and judge that they rise."""
    for row in found:
        verdict.aside(
            f"last {row.keep} messages: FNC@1 {row.all.value:.3f}, "
            f"of arguments alone {row.arguments.value:.3f}, reference {REFERENCE[row.keep]:.3f}"
        )
    for name, shares in (
        ("FNC@1", [row.all for row in found]),
        ("FNC@1 of arguments alone", [row.arguments for row in found]),
    ):
        levels = [share.value for share in shares]
        where = "inside" if LEAST <= levels[0] <= MOST else "OUTSIDE"
        verdict.aside(
            f"{name}, {shares[0].used:,} uses: for {found[0].keep} messages {where} the range of "
            f"other definitions, {LEAST} to {MOST}"
        )
        text = f"{name} rises strictly: {', '.join(f'{level:.3f}' for level in levels)}"
        verdict.bar(text, all(less < more for less, more in pairwise(levels)))


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    path = parser.parse_args(arguments).folder / FILE
    if not path.is_file():
        print(f"skipped: there is no {path}; name the folder of recordings")
        return 0
    try:
        conversations = list(read(path))
        if not all(c.format == "tau-bench" for c in conversations):
            raise InputError("these are no trajectories of tau-bench", str(path))
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"tau-bench: {len(conversations)} trajectories")
    verdict = Verdict()
    verdict.basis(
        "nothing; what counts as a used word was settled before",
        "all trajectories of the file: that the share rises; its level is told, not judged",
    )
    judge(rows(conversations), verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
