"""Compare the size and the pauses of synthetic coding sessions with those of 2,614 real ones.

``python examples/validate_tracelab.py [FOLDER]``: recordings in FOLDER are told beside it. The exit
code is 1 if a bar is missed.

- *Source.* TraceLab (github.com/uw-syfi/TraceLab, Apache 2.0; data CC BY 4.0), ``summary.json`` at
  b889eb71, 2026-06: sums over Claude Code's sessions of 35 people, 141,207 calls. The sessions
  themselves are release assets and not at hand, so nothing is compared session by session.
- *Ours.* ``coding_agent(tokens=300000)``, ten seeds. Its profile is fitted to eight other sessions.
- *Growth*: by how many tokens a prompt is larger than the one before in its session, at least 0.
  Theirs are counted by the models that served them (72 % of the calls by Opus 4.7 and 4.8), so our
  o200k tokens are multiplied by the mean of the catalogue's factors, weighted by their calls.
- *Pause*: from the agent's last message to the person's next one.
- *Bars*, fixed before ours were computed: medians and calls a turn within a factor of 2, the 90th
  percentiles within 3.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median, quantiles

from verdict import Verdict

from compactlab.scenarios.catalogue import Seeded, sources
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message
from compactlab.sim.core.tokens import Tokenizer

THEIRS = {
    "growth after a person, median": (663.0, 2.0),
    "growth after a person, 90 %": (3023.0, 3.0),
    "growth after a tool, median": (795.0, 2.0),
    "growth after a tool, 90 %": (3834.0, 3.0),
    "pause before a person, seconds, median": (124.1, 2.0),
    "pause before a person, seconds, 90 %": (1355.1, 3.0),
    "calls a turn": (141_207 / 20_316, 2.0),
}
FACTOR = (1.6 * 100_980 + 1.12 * 40_227) / 141_207
COUNT = Tokenizer()


def figures(conversations: Iterable[Conversation]) -> dict[str, float]:
    """The figures of THEIRS, of other conversations."""
    growth: dict[bool, list[float]] = {True: [], False: []}
    pauses: list[float] = []
    for conversation in conversations:
        for by_person, grown, pause in calls(conversation):
            growth[by_person].append(grown)
            pauses += [pause] if by_person and pause > 0 else []
    found = []
    for values in (growth[True], growth[False], pauses):
        found += [median(values), quantiles(values, n=10)[-1]]
    return dict(
        zip(THEIRS, (*found, sum(map(len, growth.values())) / len(growth[True])), strict=True)
    )


def calls(conversation: Conversation) -> Iterator[tuple[bool, float, float]]:
    """Of each call but the first: whether a person began it, its growth, and the pause before."""
    last = previous = None
    grown, pause, by_person = 0.0, 0.0, False
    for message in conversation.events:
        if not isinstance(message, Message):
            continue
        if message.role == "assistant" and message.call is not None:
            usage = message.call.usage
            size = usage.prompt if usage else None
            if last is not None:
                known = size is not None and last >= 0
                yield by_person, max(0.0, size - last if known else grown * FACTOR), pause
            last = -1 if size is None else size
            grown, pause, by_person = 0.0, 0.0, False
        elif message.starts_turn:
            by_person, pause = True, message.time - previous.time if previous else 0.0
        grown += COUNT.message(message)
        previous = message


def main(arguments: list[str]) -> int:
    """Print both, and judge the synthetic ones."""
    verdict = Verdict()
    verdict.basis("eight other sessions (the profile `coding`)", "sums over 2,614 sessions")
    ours = figures(
        c for s in sources([Seeded("coding_agent(tokens=300000)", range(10))])[0] for c in s.load()
    )
    folders = [Path(each) for each in arguments if Path(each).is_dir()]
    folders += [more for each in folders if (more := each.with_name(f"{each.name}-more")).is_dir()]
    patterns = [f"{each}/*/*.jsonl" for each in folders]
    recorded = figures(c for s in sources(patterns)[0] for c in s.load()) if patterns else {}
    for name, (theirs, most) in THEIRS.items():
        beside = f", recorded {recorded[name]:,.1f}" if recorded else ""
        off = max(ours[name] / theirs, theirs / ours[name])
        verdict.bar(
            f"{name}: {ours[name]:,.1f}, theirs {theirs:,.1f}, off by a factor of {off:.1f} (at "
            f"most {most:g}){beside}",
            off <= most,
        )
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
