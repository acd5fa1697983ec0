"""Hold inferred needs against what recorded agents had in their prompts.

``python examples/validate_needs.py FOLDER``, where FOLDER holds sessions by repository; those of
the folder ``recorded-more`` beside it are taken, too. The exit code is 1 if a bar is missed, and 2
if a file cannot be used.

Where a recorded agent compacted its context and left a summary that can be read, its prompts are
known. Two questions are asked there.

- *Used all the same.* Of the needs whose fact was last stated 20,000 tokens of the log or more
  before the call, and whose statements the recorded compaction had removed: how many were used
  though the summary does not state them either? What an agent uses without having it is composed,
  guessed, or stands in what the client adds and no log holds; it is no need. Beside it stands the
  share under the old rule, by which every use of a word that had been said before was a need.
- *Kept for a reason.* If needs are needs, summaries hold more of them than of like words that were
  never used again: told, taken up by the agent or said by a person, and neither known everywhere
  nor said again. If needs were chance, the two shares were equal.

The rule was made on ``cipher-box``, ``pi-mono`` and every second session of ``entireio-cli`` (the
first, third ... by name). The rest is left out: the other sessions of ``entireio-cli``, and
``oh-my-posh``, of which no word was looked at. But the tools of clients were added after the totals
by tool of what is left out had been seen. ``agentv`` has summaries that cannot be read.

Bars, on what is left out: the share used all the same is less than half of that of the old rule;
summaries keep at least twice as many needed words as like words. The aim was a share under 25 %;
it is told, and not judged.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from verdict import Verdict

from compactlab import CompactlabError, Conversation, Message, find_strategy, read
from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Compaction, Fact, Need
from compactlab.sim.core.message import Source
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from compactlab.sim.facts import Ledger, Tracker, inferred, numbers
from compactlab.sim.facts.inference import Labels, name_of
from compactlab.sim.facts.needs import identifiers, runs, used, words
from compactlab.sim.metrics.fact_timeline import ages
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.replay import Options, record

FOLDER = "../shared/recorded"
REPOSITORIES = ("cipher-box", "pi-mono", "entireio-cli", "oh-my-posh", "agentv")
LIMITS = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000)
LONG = LIMITS.index(20_000) + 1
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
MADE_ON, LEFT_OUT, UNREADABLE = "made on", "left out", "not readable"


def every_use(conversation: Conversation) -> Labels:
    """The old rule: what an action uses and had been said before is a need."""
    uses = {answer.id: used(answer) for answer in conversation.calls}
    wanted = frozenset().union(*uses.values())
    always = frozenset().union(*(words(part.text) for part in conversation.system))
    stated: dict[str, list[Source]] = defaultdict(list)
    needs: list[Need] = []
    for message in conversation.messages:
        for word in sorted(uses.get(message.id, frozenset()) & stated.keys()):
            needs.append(Need(word, message.id))
        for index, part in enumerate(message.parts):
            if part.type != "thinking":
                for word in words(part.text) & wanted - always:
                    stated[word].append(Source(message.id, index))
    facts = sorted({need.fact for need in needs})
    return tuple(Fact(word, "entity", "", word, tuple(stated[word])) for word in facts), tuple(
        needs
    )


@dataclass(frozen=True)
class Session:
    """What was counted in a recording."""

    repository: str
    half: str
    before: Counter[str]  # needs under the old rule
    now: Counter[str]  # needs
    kept: Counter[tuple[str, bool]]  # words that a summary could keep: needed or like, kept or not


def needs_in(conversation: Conversation, labels: Labels) -> Counter[str]:
    """Needs by lag; of long ones, those whose statements were compacted, and those used anyway."""
    facts, needs = labels
    number = {fact.id: index for index, fact in enumerate(facts)}
    masks: dict[str, int] = defaultdict(int)
    for need in needs:
        masks[need.at] |= 1 << number[need.fact]
    ledger = Ledger(conversation, facts, dict(masks), declared=False)
    known = ages(ledger, LIMITS, blocks_of(Tokenizer()).weight)
    trace = record(conversation, find_strategy("as_recorded"), Options("any", catalogue=MODELS))
    tracker = Tracker(ledger)
    counts: Counter[str] = Counter()
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        states = tracker.move(View(step.system, prompt))
        recent = known[step.answer].recent
        for fact in numbers(ledger.moments[step.answer].needed):
            lag = next((index for index, young in enumerate(recent) if young >> fact & 1), LONG + 2)
            counts[f"lag {lag}"] += 1
            if lag >= LONG and states.of(fact) != "verbatim":
                counts["compacted"] += 1
                counts["used anyway"] += states.of(fact) != "intact"
    return counts


def kept_words(conversation: Conversation, labels: Labels) -> Counter[tuple[str, bool]]:
    """Words that recorded summaries could keep: needed until the next one, or like those."""
    events = [e for e in conversation.events if isinstance(e, Message | Compaction)]
    places = {event.id: index for index, event in enumerate(events) if isinstance(event, Message)}
    cuts = [index for index, event in enumerate(events) if isinstance(event, Compaction)]
    counts: Counter[tuple[str, bool]] = Counter()
    for cut, end in pairwise([*cuts, len(events)]):
        summary = said(events[cut].inserted)
        before = [event for event in events[:cut] if isinstance(event, Message)]
        after = said([event for event in events[cut:end] if isinstance(event, Message)])
        first: dict[str, int] = {}
        for need in labels[1]:
            if cut < places[need.at] < end:
                first.setdefault(need.fact, places[need.at])
        stated = {fact.id: [places[source.id] for source in fact.origin] for fact in labels[0]}
        needed = {
            word
            for word, index in first.items()
            if any(each < cut for each in stated[word])
            and not any(cut < each < index for each in stated[word])
        }
        told = said([message for message in before if message.role != "assistant"])
        in_hand = said([message for message in before if message.role == "assistant"])
        like = {word for word in told & in_hand - after if name_of(word).parts}
        for name, group in (("needed", needed), ("like", like)):
            counts.update((name, word in summary) for word in group if summary)
    return counts


def said(messages: Iterable[Message]) -> frozenset[str]:
    """The names that stand in messages."""
    texts = (part.text for message in messages for part in message.parts if part.type != "thinking")
    return frozenset().union(*(identifiers(" ".join(runs(text))) for text in texts))


def half_of(repository: str, place: int) -> str:
    """Whether the rule was made on a session, by its place among those of its repository."""
    if repository == "agentv":
        return UNREADABLE
    made = repository in ("cipher-box", "pi-mono") or (
        repository == "entireio-cli" and place % 2 == 0
    )
    return MADE_ON if made else LEFT_OUT


def sessions(folder: Path) -> Iterator[Session]:
    """Count in all recordings."""
    for repository in REPOSITORIES:
        paths = [
            path
            for name in (folder.name, "recorded-more")
            for path in (folder.parent / name / repository).glob("*.jsonl")
        ]
        for index, path in enumerate(sorted(paths, key=lambda path: path.name)):
            for conversation in read(path):
                labels = inferred(conversation)
                yield Session(
                    repository,
                    half_of(repository, index),
                    needs_in(conversation, every_use(conversation)),
                    needs_in(conversation, labels),
                    kept_words(conversation, labels),
                )


def share(counts: Iterable[Counter[str]]) -> float:
    """How many of the needs that were compacted were used anyway."""
    total = sum(counts, Counter())
    return total["used anyway"] / total["compacted"] if total["compacted"] else 0.0


def interval(counts: Sequence[Counter[str]]) -> str:
    """The share with the 95 % interval of a bootstrap over sessions."""
    counts = [count for count in counts if count["compacted"]]
    if not counts:
        return "none"
    total = sum(counts, Counter())
    drawn = random.Random(0)
    shares = sorted(share(drawn.choices(counts, k=len(counts))) for _ in range(1000))
    low, high = shares[25], shares[974]
    return (
        f"{total['used anyway']} of {total['compacted']}, {share(counts):.0%} "
        f"[{low:.0%}, {high:.0%}]"
    )


def kept(found: Sequence[Session], name: str) -> float:
    """Which share of a group of words the summaries kept."""
    total = sum((session.kept for session in found), Counter())
    count = total[name, True] + total[name, False]
    return total[name, True] / count if count else 0.0


def judge(found: Sequence[Session], verdict: Verdict) -> None:
    """Tell the figures by repository, and judge those of what is left out."""
    for repository, half in dict.fromkeys((each.repository, each.half) for each in found):
        group = [each for each in found if (each.repository, each.half) == (repository, half)]
        print(f"{repository}, {half}: {len(group)} sessions")
        for name, counts in (
            ("old rule", [each.before for each in group]),
            ("new rule", [each.now for each in group]),
        ):
            total = sum(counts, Counter())
            lags = [total[f"lag {lag}"] for lag in range(LONG + 3)]
            verdict.aside(f"{name}: used anyway {interval(counts)}; needs by lag {lags}")
    for half in (MADE_ON, LEFT_OUT):
        group = [each for each in found if each.half == half and each.now["compacted"]]
        if not group:
            continue
        before, now = [each.before for each in group], [each.now for each in group]
        print(f"{half}, {len(group)} sessions that compacted and have such needs")
        verdict.aside(f"used anyway: {interval(before)}; now {interval(now)} (aim: under 25%)")
        needed, like = kept(group, "needed"), kept(group, "like")
        words = f"summaries keep {needed:.0%} of needed words, {like:.0%} of like words"
        if half == LEFT_OUT:
            verdict.bar(
                "used anyway: less than half of the old share", 2 * share(now) < share(before)
            )
            verdict.bar(words, needed >= 2 * like)
        else:
            verdict.aside(words)


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    folder = parser.parse_args(arguments).folder
    if not any((folder / repository).is_dir() for repository in REPOSITORIES):
        print(f"skipped: there are no recorded sessions in {folder}; name their folder")
        return 0
    try:
        found = list(sessions(folder))
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    verdict = Verdict()
    verdict.basis(
        "cipher-box, pi-mono and every second session of entireio-cli",
        "the other sessions of entireio-cli, and oh-my-posh",
    )
    judge(found, verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
