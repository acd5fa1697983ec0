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
  a result may stand without its call. ``sliding_window`` leaves such a result out, and so may send
  a message less; its figures are told beside.
- *Bars.* Both definitions rise strictly with the messages. Their levels depend on the definition,
  so they are told beside the reference, and not judged: 0.386, 0.596, 0.801, 0.934 under one that
  has 3,104 uses of arguments, and from 0.28 to 0.46 for two messages under others.

The reference: section 4 of the project's notes on metrics, recomputed there from the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from verdict import Verdict

from compactlab import CompactlabError, Conversation, Message, Part, find_strategy, read
from compactlab.sim.errors import InputError
from compactlab.sim.identifiers import used, words
from compactlab.sim.metrics import Reading, figures
from compactlab.sim.model import Catalogue
from compactlab.sim.needs import forward_needs
from compactlab.sim.replay import record
from compactlab.sim.trace import Trace

FOLDER = "../shared/recorded"
FILE = "tau-bench/gpt-4o-airline.json"
REFERENCE = {2: 0.386, 4: 0.596, 8: 0.801, 16: 0.934}
LEAST, MOST = 0.28, 0.46  # for the fewest messages, under other definitions
LAST, SAFE = "trim_messages(max_tokens={}, token_counter='len')", "sliding_window(keep={})"
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


def replayed(conversation: Conversation, spec: str) -> Trace:
    """A conversation under a strategy."""
    return record(conversation, find_strategy(spec), "any", catalogue=MODELS)


def by_metric(conversation: Conversation, trace: Trace) -> Share:
    """What the metric says, with what it is a share of, so that shares can be pooled."""
    covered = figures(Reading(trace, conversation), ["forward_need_1"])["forward_need_1"]
    total = sum(uses.bit_count() for uses in forward_needs(conversation).wanted[1].values())
    return Share(round((covered or 0.0) * total), total)


def by_hand(
    conversation: Conversation, trace: Trace, use: Callable[[Message], frozenset[str]]
) -> Share:
    """The same, counted call by call, for any notion of what an action uses."""
    answers = {message.id: message for message in conversation.calls}
    held: dict[str, frozenset[str]] = {}

    def known(messages: Iterable[Message], system: tuple[Part, ...]) -> set[str]:
        found: set[str] = set()
        for part in system:
            found |= words(part.text)
        for message in messages:
            if message.id not in held:
                held[message.id] = frozenset().union(*(words(p.text) for p in message.parts))
            found |= held[message.id]
        return found

    share = NONE
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        needed = use(answers[step.answer]) & known(step.log, conversation.system)
        share += Share(len(needed & known(prompt, step.system)), len(needed))
    return share


def arguments(action: Message) -> frozenset[str]:
    """What the calls of an action use, without what it says."""
    calls = tuple(part for part in action.parts if part.type == "tool_call")
    return used(msgspec.structs.replace(action, parts=calls))


class Row(NamedTuple):
    """What was measured of so many last messages."""

    keep: int
    all: Share
    arguments: Share
    safe: Share


def rows(conversations: Sequence[Conversation], keeps: Iterable[int] = REFERENCE) -> list[Row]:
    """Measure all windows, over all trajectories."""
    found = {keep: Row(keep, NONE, NONE, NONE) for keep in keeps}
    for conversation in conversations:
        for keep, row in found.items():
            last, safe = (replayed(conversation, spec.format(keep)) for spec in (LAST, SAFE))
            found[keep] = Row(
                keep,
                row.all + by_metric(conversation, last),
                row.arguments + by_hand(conversation, last, arguments),
                row.safe + by_metric(conversation, safe),
            )
    return list(found.values())


def judge(found: Sequence[Row], verdict: Verdict) -> None:
    """Tell the figures beside the reference, and judge that they rise."""
    first = found[0]
    verdict.aside(f"uses: {first.all.used:,}, of arguments alone {first.arguments.used:,}")
    for row in found:
        level = REFERENCE.get(row.keep)
        told = "" if level is None else f", reference {level:.3f}"
        verdict.aside(
            f"last {row.keep} messages: FNC@1 {row.all.value:.3f}, "
            f"of arguments alone {row.arguments.value:.3f}{told}; "
            f"{row.safe.value:.3f} without results whose call is gone"
        )
    for name, shares in (
        ("FNC@1", [row.all for row in found]),
        ("FNC@1 of arguments alone", [row.arguments for row in found]),
    ):
        inside = LEAST <= shares[0].value <= MOST
        verdict.aside(
            f"{name} of the fewest messages is {'inside' if inside else 'OUTSIDE'} "
            f"{LEAST} to {MOST}, the range of other definitions"
        )
        levels = [share.value for share in shares]
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
    judge(rows(conversations), verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
